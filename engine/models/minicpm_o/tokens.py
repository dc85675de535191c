"""MiniCPM-o's tokenizer from a released folder's `tokenizer.json`, with nothing of the folder run.

The released class (`tokenization_minicpmo_fast.py`) adds names to a Qwen2 tokenizer and changes no token, so the file
alone tells all. Entered by the engine thread.
"""

from collections.abc import Sequence
from pathlib import Path

from tokenizers import Tokenizer

from engine.errors import BadWeights
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
        if lacking := [name for name in NAMES.values() if name not in vocabulary]:
            raise BadWeights(f"{path.name} has no {', '.join(lacking)}", "MiniCPM-o's own tokens")
        self.marks = Marks(**{part: vocabulary[name] for part, name in NAMES.items()})
        self.count = max(vocabulary.values()) + 1  # ids are below it

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
