"""What is put to a language model: instructions and examples that every turn keeps, then the question; and text again.

Follows the chat template that comes with the model; one that has none is asked in plain text. Never runs code from a
model's folder. Knows tokens and text, no layers. Entered by the engine thread.
"""

from collections.abc import Sequence
from pathlib import Path

from jinja2 import TemplateError

from engine.models.pocket.template import Template, read_tokenizer
from engine.models.pocket.words_timelines import MAX_QUESTION_TOKENS, one_line, read_config

INSTRUCTIONS = "You are a helpful voice assistant. Answer in one short sentence."
# They show how long an answer is and what it sounds like; a small model takes more from them than from instructions.
EXAMPLES = (
    ("What is the capital of Norway?", "The capital of Norway is Oslo."),
    ("What color is a carrot?", "A carrot is orange."),
    ("How many wheels does a car have?", "A car has four wheels."),
    ("Tell me about bread.", "Bread is a food made from flour and water, and it is baked in an oven."),
    ("Who are you?", "I am Pocket, a small voice assistant."),
)
_HERE = "\N{WHITE SQUARE}"  # stands for the question while a template is rendered
_ANCHOR = "a"


class Chat:
    """A model's tokenizer and template, with Pocket's instructions.

    Args:
        folder: A folder that transformers saved.
        instructions: What the model is told to be.
        examples: Questions with answers, as if they had been asked before.

    Raises:
        AskedWrongly: The folder's tokenizer or template cannot be used.
    """

    def __init__(
        self,
        folder: Path,
        instructions: str = INSTRUCTIONS,
        examples: Sequence[tuple[str, str]] = EXAMPLES,
    ) -> None:
        self._tokenizer, self._template = read_tokenizer(folder), Template(folder)
        parts = self._rendered(instructions, examples).split(_HERE)
        if len(parts) != 2:
            raise self._template.refused("drops the question" if len(parts) == 1 else "repeats the question")
        before, self._after = parts
        kept = before.rstrip(" ")  # a space belongs to the word after it
        self._space = before[len(kept) :]
        self.kept: tuple[int, ...] = tuple(self._encode(kept))
        self.ends = self._end_tokens(folder)
        self._anchor = self._encode(_ANCHOR)

    def question(self, text: str) -> list[int]:
        """What follows `kept` to ask `text`, at most `MAX_QUESTION_TOKENS`: of a long speech, its end."""
        after = self._encode(self._after)
        words = self._encode(self._space + text.strip(), spoken=True)
        return [*words[-(MAX_QUESTION_TOKENS - len(after)) :], *after]

    def text(self, tokens: Sequence[int]) -> str:
        """Tokens from within an answer as text, the space before them included."""
        anchored: str = self._tokenizer.decode([*self._anchor, *tokens], skip_special_tokens=True)
        return anchored.removeprefix(_ANCHOR)

    def _rendered(self, instructions: str, examples: Sequence[tuple[str, str]]) -> str:
        turns = [*examples, (_HERE, "")]
        if not self._template.exists:
            asked = "\n\n".join(f"Question: {question}\nAnswer: {answer}" for question, answer in turns)
            return f"{instructions}\n\n{asked}".rstrip()
        said = [
            {"role": role, "content": content}
            for turn in turns
            for role, content in zip(("user", "assistant"), turn, strict=True)
        ][:-1]
        try:
            return self._template.render([{"role": "system", "content": instructions}, *said])
        except TemplateError:  # some templates know no system
            said[0]["content"] = f"{instructions}\n\n{said[0]['content']}"
        try:
            return self._template.render(said)
        except TemplateError as error:
            raise self._template.refused(f"refuses a conversation ({one_line(error)})") from error

    def _encode(self, text: str, *, spoken: bool = False) -> list[int]:
        self._tokenizer.encode_special_tokens = spoken  # as plain text: nobody can speak a control token
        tokens: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        return tokens

    def _end_tokens(self, folder: Path) -> frozenset[int]:
        """Every token that the tokenizer, the model or its generation settings end with."""
        ends = [self._tokenizer.token_to_id(self._template.special.get("eos_token", ""))]
        for file in ("config.json", "generation_config.json"):
            if file == "config.json" or (folder / file).exists():
                found = read_config(folder, file).get("eos_token_id")
                ends += found if isinstance(found, list) else [found]
        return frozenset(token for token in ends if isinstance(token, int))
