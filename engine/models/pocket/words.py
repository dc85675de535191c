"""Words: a question in, a spoken answer out, a few tokens at a time.

What every turn begins with is read once, in `prepare`, and kept; a turn reads the question on top of it, writes, and is
forgotten. Always picks the likeliest token, so the same question gets the same answer, within what makes an answer fit
to be spoken: a sentence or two, and no going round in circles. Entered by the engine thread.
"""

import re
from collections.abc import Sequence

import torch
from torch import Tensor

from engine.models.pocket.chat import Chat
from engine.models.pocket.language import Language
from engine.models.pocket.words_timelines import MAX_ANSWER_TOKENS, TOKENS_A_UNIT

ENOUGH_TOKENS = 12  # after a sentence that ends there or later, nothing more is said
LOOP = 4  # so many tokens in a row are said once
CHARACTER_TOKENS = 4  # that one character may be cut into
_SENTENCE = re.compile(r"[.!?][\"')]*$")


class Words:
    """Writes answers with whatever language model it was given."""

    def __init__(self, language: Language, chat: Chat) -> None:
        self._language, self._chat = language, chat
        self._said: list[int] = []
        self._told = 0  # of what was said, how much has been handed out
        self._next: int | None = None
        self.finished = True

    def prepare(self) -> None:
        """Read what every turn begins with.

        Read once in pieces before, like a question and a token, so that a turn meets no shape of launch for the first
        time; nothing is read beyond what is kept.
        """
        kept = self._chat.kept
        for piece in filter(None, (kept[:8], kept[8:16], kept[16:17])):
            self._language.read(piece)
        self._language.forget()
        self._language.read(kept)
        self._language.keep()

    def question(self, text: str) -> list[int]:
        """The tokens that ask `text`."""
        return self._chat.question(text)

    def start_turn(self, tokens: Sequence[int]) -> None:
        """Forget the turn before, and read a question's tokens."""
        self.reset_turn()
        self.finished = False
        self._pick(self._language.read(tokens))

    def decode(self, max_tokens: int = TOKENS_A_UNIT) -> list[int]:
        """The answer's next tokens, at most `max_tokens`; `finished` tells whether that was all.

        They end with a whole character: tokens that begin one wait for the rest of it, and count in the next call.
        """
        start, end = self._told, max(self._told + max_tokens, len(self._said) + 1)
        while self._next is not None and len(self._said) < end:
            self._said.append(self._next)
            self._pick(self._language.read([self._next]))
        self._told = len(self._said) if self.finished else self._whole_characters(start)
        return self._said[start : self._told]

    def text_of(self, tokens: Sequence[int]) -> str:
        """An answer's tokens as text."""
        return self._chat.text(tokens)

    def reset_turn(self) -> None:
        """Forget the turn."""
        self._language.forget()
        self._said.clear()
        self._told = 0
        self._next, self.finished = None, True

    def _whole_characters(self, start: int) -> int:
        said = len(self._said)
        for end in range(said, max(start, said - CHARACTER_TOKENS), -1):
            if not self._chat.text(self._said[start:end]).endswith("\N{REPLACEMENT CHARACTER}"):
                return end
        return start if said - start < CHARACTER_TOKENS else said

    @torch.inference_mode()
    def _pick(self, logits: Tensor) -> None:
        """The likeliest token that may come next; none where the answer is over."""
        for token in repeating(self._said):
            logits[token] = -torch.inf
        token = int(logits.argmax())
        self.finished = self._is_end(token)
        self._next = None if self.finished else token

    def _is_end(self, token: int) -> bool:
        said = len(self._said)
        if token in self._chat.ends or said >= MAX_ANSWER_TOKENS:
            return True
        more = self._chat.text([token])
        return "\n" in more or (more[:1].isspace() and said >= ENOUGH_TOKENS and self._sentence_ended())

    def _sentence_ended(self) -> bool:
        return _SENTENCE.search(self._chat.text(self._said[-4:])) is not None


def repeating(said: Sequence[int], loop: int = LOOP) -> set[int]:
    """Tokens that would say a run of `loop` tokens for the second time."""
    run = tuple(said[len(said) - loop + 1 :])
    if len(said) < loop:
        return set()
    return {said[at + loop - 1] for at in range(len(said) - loop + 1) if tuple(said[at : at + loop - 1]) == run}
