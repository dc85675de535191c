"""Greedy decoding: which of Whisper's tokens may be said, and which is likeliest.

Knows logits; nothing of layers, state or audio. Entered by the engine thread.
"""

import json
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor


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
