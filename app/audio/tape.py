"""What a callback took in or gave out, with its times, until the engine comes for it.

The callback writes and counts [audio]; the engine reads block by block, cleaned, with the clock's line through their
times [engine]. Neither waits. Ten seconds fit; past that the oldest is let go, and counted.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from app.audio.clock_line import ClockLine
from engine.ring import SampleRing, Samples

KEPT_S = 10
NOTES_KEPT = 4096  # far more blocks than ten seconds hold


@dataclass(frozen=True)
class Block:
    """Samples that were taken in or given out.

    Args:
        samples: float32 mono [frames], its own memory; all finite.
        position: Of its first frame, since the stream's start.
        step_ns: Where positive, how much is missing before it, by the clock; where negative, how much is too much.
    """

    samples: Samples
    position: int
    step_ns: int = 0


class Tape:
    """A stream's newest samples and their times.

    Args:
        rate_hz: The device's frames a second.
    """

    def __init__(self, rate_hz: int) -> None:
        self.rate_hz = rate_hz
        self.line = ClockLine(rate_hz)  # [engine]
        self.not_finite = 0  # [engine] samples silenced
        self.silent_frames = 0  # [engine] exact zeros on end, up to the newest that was read
        self._ring = SampleRing(KEPT_S * rate_hz)
        self._notes: deque[tuple[int, int, bool]] = deque(maxlen=NOTES_KEPT)  # [audio] appends, [engine] takes away

    @property
    def written_frames(self) -> int:
        """Frames that callbacks have counted."""
        return self._ring.written

    @property
    def unread_frames(self) -> int:
        """Of these, let go unread."""
        return self._ring.lost_samples

    def write(self, mono: Samples, end_ns: int, flagged: bool = False) -> None:
        """A callback's block, whose end passes at `end_ns`; `flagged` where frames were lost before it [audio]."""
        self._ring.write(mono)
        self._notes.append((self._ring.written, end_ns, flagged))

    def forget_clock(self) -> None:
        """Callbacks have stopped: what their times were says nothing of when they will come again."""
        if self.line.settled:
            self.line = ClockLine(self.rate_hz)

    def blocks(self) -> Iterator[Block]:
        """What has been written since the last time [engine]."""
        while self._notes:
            end, end_ns, flagged = self._notes.popleft()
            step_ns = self.line.observe(end, end_ns, flagged)
            samples = np.empty(max(0, end - self._ring.position), np.float32)
            samples = samples[: self._ring.read_into(samples)]
            if not len(samples):
                continue
            finite = np.isfinite(samples)
            if not finite.all():
                self.not_finite += len(samples) - int(np.count_nonzero(finite))
                samples[~finite] = 0.0
            self.silent_frames = 0 if samples.any() else self.silent_frames + len(samples)
            yield Block(samples, self._ring.position - len(samples), step_ns)
