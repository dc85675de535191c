"""MiniCPM-o's tokenizer from a released folder's `tokenizer.json`, with nothing of the folder run.

The released class (`tokenization_minicpmo_fast.py`) adds names to a Qwen2 tokenizer and changes no token, so the file
alone tells all. Entered by the engine thread.
"""

import json
from collections.abc import Sequence
from pathlib import Path

from tokenizers import Tokenizer

from engine.errors import AskedWrongly, BadWeights
from engine.models.minicpm_o.protocol import Marks

NAMES = {
    "unit": "<unit>",
    "unit_end": "</unit>",
    "tts_bos": "<|tts_bos|>",
    "listen": "<|listen|>",
    "speak": "<|speak|>",
    "turn_eos": "<|turn_eos|>",
    "chunk_eos": "<|chunk_eos|>",
    "chunk_tts_eos": "<|chunk_tts_eos|>",
}
NEVER_DRAWN = "<|tts_pad|>"
SYSTEM = "<|im_start|>system\n", "\n<|audio_start|>", "<|audio_end|><|im_end|>"  # the words, then the voice, within


class Tokens:
    """Text to tokens and back.

    Args:
        path: A `tokenizer.json`.

    Raises:
        BadWeights: It cannot be read, or lacks a token of the unit protocol.
    """

    def __init__(self, path: Path) -> None:
        try:
            self._tokenizer = Tokenizer.from_file(str(path))
        except Exception as error:  # the library raises nothing more special
            reason = str(error).split("\n", 1)[0]
            raise BadWeights(f"{path.name} cannot be read: {reason}", "a tokenizer as released") from error
        vocabulary: dict[str, int] = self._tokenizer.get_vocab()
        self._own = [each.content for each in self._tokenizer.get_added_tokens_decoder().values()]
        if lacking := [name for name in NAMES.values() if name not in vocabulary]:
            raise BadWeights(f"{path.name} has no {', '.join(lacking)}", "MiniCPM-o's own tokens")
        self.marks = Marks(**{part: vocabulary[name] for part, name in NAMES.items()})
        self.count = max(vocabulary.values()) + 1  # ids are below it
        self.never_drawn = tuple(vocabulary[name] for name in (NEVER_DRAWN,) if name in vocabulary)

    def system(self, words: str) -> tuple[list[int], list[int]]:
        """The system prompt of some words, as tokens before a voice's reference and after it.

        Raises:
            AskedWrongly: There are no words, or they spell out a token of the model's own.
        """
        own = [name for name in self._own if name in words]
        if own or not words.strip():
            came = f"a system prompt with {own[0]} in it" if own else "a system prompt without words"
            raise AskedWrongly(came, "words alone: what marks them is put around them")
        opens, leads, closes = SYSTEM
        return self.encode(f"{opens}{words}{leads}"), self.encode(closes)

    def encode(self, text: str) -> list[int]:
        """Text as tokens, those that are spelt out in it among them."""
        encoded: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        return encoded

    def decode(self, tokens: Sequence[int]) -> str:
        """Tokens as text, special ones left out."""
        text: str = self._tokenizer.decode(list(tokens), skip_special_tokens=True)
        return text

    def characters(self, tokens: Sequence[int]) -> int:
        """How long tokens are as text; see `Protocol`."""
        return len(self.decode(tokens))


def bad_tokens(path: Path) -> tuple[int, ...]:
    """Tokens that a released `tokenizer_config.json` lists as never to be drawn.

    Raises:
        BadWeights: It cannot be read, or lists something else.
    """
    try:
        listed = json.loads(path.read_text(encoding="utf-8")).get("bad_token_ids", [])
    except (OSError, ValueError, AttributeError, RecursionError) as error:
        reason = str(error).split("\n", 1)[0]
        raise BadWeights(f"{path.name} cannot be read: {reason}", "the released one") from error
    if not isinstance(listed, list) or not all(type(each) is int and each >= 0 for each in listed):
        raise BadWeights(f"{path.name} lists bad_token_ids that are none", "the released one")
    return tuple(listed)
