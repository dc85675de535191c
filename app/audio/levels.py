"""How loud a stream is: peak, root mean square, and a clip light that stays on for a second.

`note` is entered by [audio], and copies nothing; all else by any thread.
"""

from dataclasses import dataclass

import numpy as np

from engine.clock import NS
from engine.ring import Samples

CLIPPED_LEVEL = 0.999
HELD_NS = 150_000_000  # a peak is seen by everyone who looks ten times a second, however many look
CLIP_LIGHT_NS = NS
STALE_NS = NS // 2  # a level this old is of a stream that has stopped


@dataclass(frozen=True)
class Level:
    """How loud a stream is; 1 is full scale."""

    peak: float = 0.0
    rms: float = 0.0
    clipped: bool = False


class LevelMeter:
    """Levels block by block; a peak stands for a while, and looking changes nothing."""

    def __init__(self) -> None:
        self._block = (0.0, 0.0, -(10**18))  # the last block's peak, rms, and when
        self._held = (0.0, -(10**18))  # the peak that stands, and since when
        self._clipped_ns = -(10**18)

    def note(self, samples: Samples, now_ns: int) -> None:
        """A block of what is heard or sounds [audio]; float32 [samples]."""
        if not len(samples):
            return
        peak = max(float(samples.max()), -float(samples.min()))
        if not peak <= CLIPPED_LEVEL:  # also where it is not a number
            self._clipped_ns = now_ns
        held, since_ns = self._held
        if not peak < held or now_ns - since_ns > HELD_NS:
            self._held = (peak, now_ns)
        self._block = (peak, float(np.dot(samples, samples) / len(samples)) ** 0.5, now_ns)

    def level(self, now_ns: int) -> Level:
        """As it stands."""
        (peak, rms, at_ns), (held, since_ns) = self._block, self._held
        if now_ns - at_ns > STALE_NS:
            return Level(clipped=now_ns - self._clipped_ns < CLIP_LIGHT_NS)
        if now_ns - since_ns <= HELD_NS:
            peak = max(peak, held)
        return Level(min(peak, 1.0), min(rms, 1.0), now_ns - self._clipped_ns < CLIP_LIGHT_NS)
