"""Words as transformers runs by default, to be compared with: float32, `generate` over the whole prompt, every turn.

An answer comes as a whole with the first `decode`, however many tokens it has. Entered by the engine thread.
"""

from collections.abc import Sequence
from pathlib import Path

import torch

from engine.models.pocket.chat import Chat
from engine.models.pocket.language import load_model
from engine.models.pocket.words_timelines import MAX_ANSWER_TOKENS, TOKENS_A_UNIT


class StockWords:
    """See `engine.models.pocket.words.Words`, whose interface this has."""

    def __init__(self, folder: Path, chat: Chat) -> None:
        self._model, self._chat = load_model(folder), chat
        self._prompt: list[int] = []
        self.finished = True

    def prepare(self) -> None:
        """Run one turn, so that the first is like any other."""
        self.start_turn(self.question("Hello."))
        self._generate(1)
        self.reset_turn()

    def question(self, text: str) -> list[int]:
        """The tokens that ask `text`."""
        return self._chat.question(text)

    def start_turn(self, tokens: Sequence[int]) -> None:
        """Forget the turn before, and take a question's tokens, which `decode` reads."""
        self._prompt = [*self._chat.kept, *tokens]
        self.finished = False

    def decode(self, max_tokens: int = TOKENS_A_UNIT) -> list[int]:
        """The whole answer at once, whatever `max_tokens` says: `generate` hands nothing out before."""
        if self.finished:
            return []
        answer = self._generate(MAX_ANSWER_TOKENS)
        self.finished = True
        return [token for token in answer if token not in self._chat.ends]

    def text_of(self, tokens: Sequence[int]) -> str:
        """An answer's tokens as text."""
        return self._chat.text(tokens)

    def reset_turn(self) -> None:
        """Forget the turn."""
        self._prompt, self.finished = [], True

    def _generate(self, max_tokens: int) -> list[int]:
        prompt = torch.tensor([self._prompt])
        with torch.inference_mode():
            everything = self._model.generate(
                prompt,
                attention_mask=torch.ones_like(prompt),
                max_new_tokens=max_tokens,
                eos_token_id=sorted(self._chat.ends),
            )
        answer: list[int] = everything[0, len(self._prompt) :].tolist()
        return answer
