"""What Pocket asks of its stages, whichever runtime they were built for. Names and shapes only; nothing runs here."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from engine.models.pocket.hearing import Heard
from engine.models.pocket.speech import Speech
from engine.models.pocket.timelines import LONGEST_HEARD_S
from engine.models.pocket.vad import VoiceActivity
from engine.models.pocket.windows import SAMPLE_RATE_HZ


class Hears(Protocol):
    """Speech to text, a piece of at most 28 s at a time."""

    def listen(self, piece: NDArray[np.float32]) -> int:
        """Take in a piece, float32 [samples] at 16 kHz; returns ticks of the encoder's output."""
        ...

    def write(self) -> Heard:
        """The words of the piece listened to last."""
        ...


class Writes(Protocol):
    """The words of an answer, a few at a time."""

    finished: bool

    def prepare(self) -> None:
        """Take in what every turn begins with."""
        ...

    def question(self, text: str) -> Sequence[int]:
        """The tokens of what the user said, as a turn's prompt."""
        ...

    def start_turn(self, tokens: Sequence[int]) -> None:
        """Forget the turn before and take in this one's prompt."""
        ...

    def decode(self) -> Sequence[int]:
        """The next tokens, as many as a unit has time for; then `finished` tells whether there will be more."""
        ...

    def text_of(self, tokens: Sequence[int]) -> str:
        """Tokens as text."""
        ...

    def reset_turn(self) -> None:
        """Forget the turn."""
        ...


class Speaks(Protocol):
    """Text to speech, a clause at a time.

    Attributes:
        whole: An answer is spoken in one piece, once all of it is written.
        pace: How fast; 1 is the voice's own.
    """

    whole: bool
    pace: float

    def say(self, clause: str) -> NDArray[np.float32]:
        """A clause as float32 [samples] at 24 kHz, its silences trimmed."""
        ...

    def speech(self) -> Speech:
        """A fresh queue for one answer."""
        ...


@dataclass(frozen=True)
class Stages:
    """Pocket's stages, of one runtime."""

    activity: VoiceActivity
    hearing: Hears
    words: Writes
    voice: Speaks

    def prepare(self) -> None:
        """Run each once, so that no unit meets a first time; a voice has spoken as it came to be."""
        self.words.prepare()
        for seconds in (1, LONGEST_HEARD_S):
            self.hearing.listen(np.zeros(seconds * SAMPLE_RATE_HZ, np.float32))
            self.hearing.write()
