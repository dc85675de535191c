"""The rules by which Whisper's logits become words: what may be said, when to stop, what was no speech at all.

Arithmetic over tokens and logits; nothing of layers, state or audio. Entered by the engine thread.
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

TOKENS_PER_SECOND = 8  # of a window; the fastest talkers need six
MAX_TOKENS = 224  # half of Whisper's text context, its own bound
_LOOPS = ((1, 5), (2, 4), (24, 3))  # a run of at most so many tokens, said so often in a row, is a loop
_NO_SPEECH, _UNSURE = 0.6, -1.0  # Whisper's own bounds for dropping a window
_ASIDE = re.compile(r"[\[(*♪][^\])*♪]*[\])*♪]?")  # "[BLANK_AUDIO]", "(music)", "*sighs*", "♪ ... ♪"


@dataclass(frozen=True)
class Rules:
    """Which tokens steer, and which are never said, as a Whisper's `generation_config.json` has them.

    Args:
        prompt: What every transcription starts with.
        end: The token that closes it.
        no_speech: The token whose probability after the first of the prompt says that nobody speaks.
        said: Tokens below this are text, or the end; those above steer, and are never said.
        never: Tokens that are text and still never said (brackets, notes).
        never_first: Tokens that may not come first.
    """

    prompt: tuple[int, ...]
    end: int
    no_speech: int
    said: int
    never: tuple[int, ...]
    never_first: tuple[int, ...]

    @classmethod
    def read(cls, file: Path) -> "Rules":
        """Read `generation_config.json`."""
        rules = json.loads(file.read_text())
        start, no_timestamps = rules["decoder_start_token_id"], rules["no_timestamps_token_id"]
        return cls(
            prompt=(start, no_timestamps),
            end=rules["eos_token_id"],
            no_speech=no_timestamps - 1,
            said=start,
            never=tuple(token for token in rules["suppress_tokens"] if token < start),
            never_first=tuple(rules["begin_suppress_tokens"]),
        )


class Picker:
    """Picks the likeliest token that may be said, and keeps count of how likely it was."""

    def __init__(self, rules: Rules) -> None:
        self._never, self._never_first = torch.tensor(rules.never), torch.tensor(rules.never_first)
        self._log_probability, self._picked = 0.0, 0

    def start(self) -> None:
        """Begin another transcription."""
        self._log_probability, self._picked = 0.0, 0

    def pick(self, logits: Tensor) -> int:
        """The next token, of `logits` float32 `[said]`, which are written over."""
        logits.index_fill_(0, self._never, -torch.inf)
        if not self._picked:
            logits.index_fill_(0, self._never_first, -torch.inf)
        token = int(logits.argmax())
        self._log_probability += float(logits[token] - logits.logsumexp(0))
        self._picked += 1
        return token

    @property
    def confidence(self) -> float:
        """The mean log-probability of the tokens picked."""
        return self._log_probability / max(1, self._picked)


def max_tokens(window_s: int) -> int:
    """How many tokens a window may hold, its end included: the decoder's clock."""
    return min(MAX_TOKENS, TOKENS_PER_SECOND * window_s)


def cut_loop(tokens: list[int]) -> int | None:
    """Where a transcription that has begun to repeat itself is to be cut, if it has.

    Looks at the end alone, so call it after every token. A run counts as a loop once it stands there several times in a
    row: five times for one token, four for two, three for longer runs. Its first occurrence is kept.

    Returns:
        How many tokens to keep, or None.
    """
    for run in range(1, min(_LOOPS[-1][0], len(tokens) // 3) + 1):
        times = next(times for longest, times in _LOOPS if run <= longest)
        if len(tokens) >= run * times and tokens[-run * times :] == tokens[-run:] * times:
            return len(tokens) - run * (times - 1)
    return None


def is_speech(no_speech: float, confidence: float) -> bool:
    """Whether a transcription is one: Whisper's own rule, both bounds at once."""
    return no_speech <= _NO_SPEECH or confidence >= _UNSURE


def clean(text: str) -> str:
    """The words of a transcription; empty where it only describes a sound."""
    words = " ".join(_ASIDE.sub(" ", text).split())
    return words if any(letter.isalnum() for letter in words) else ""
