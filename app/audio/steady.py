"""A device's samples on the session's clock: as many a second as time has, neither more nor fewer.

A device's quartz drifts: its samples are resampled at a ratio that follows. Small errors are made up for within
seconds, inaudibly; where samples are missing, silence takes their place at once, and what is too many is left out, so
that sample n of the session always belongs to the same moment. Everything is counted. Knows neither device nor clock:
it is told where each block belongs. Entered by [engine].
"""

import math

import numpy as np

from app.audio.resampler import Resampler
from engine.ring import Samples

MAKE_UP_S = 5.0  # in which an error is made up for
MOST_MAKE_UP = 2e-3  # as a fraction: no ear hears a pitch that is off by it
HOLE_S = 0.05  # more than this cannot be made up for in time


class Steady:
    """Blocks at a device's rate in, contiguous samples at the session's rate out.

    Args:
        in_rate_hz: The device's.
        out_rate_hz: The session's.
        position: Session sample that comes first.
    """

    def __init__(self, in_rate_hz: int, out_rate_hz: int, position: int = 0) -> None:
        self._resampler = Resampler(in_rate_hz, out_rate_hz)
        self._nominal = out_rate_hz / in_rate_hz
        self._most_make_up_error = MAKE_UP_S * out_rate_hz
        self._hole = HOLE_S * out_rate_hz
        self.position = position  # of the next session sample to come out
        self._fraction = 0.0  # how much later than that the next one belongs
        self._to_skip = 0
        self._joins = False  # whether what comes next joins what came before
        self.filled = 0  # session samples of silence in place of what did not come
        self.skipped = 0  # session samples' worth that time had no room for

    def place(self, samples: Samples, at: float, drift: float, *, afresh: bool = False) -> Samples:
        """Take in a block.

        Args:
            samples: float32 [frames] at the device's rate; all finite.
            at: Session position where its first frame belongs.
            drift: How much faster the device's clock runs than the session's.
            afresh: Whether it is known not to join the block before.

        Returns:
            What comes out: float32 [samples], the first of them at the `position` of before.
        """
        error = at - (self.position - self._to_skip + self._fraction + self._resampler.owed)
        before: Samples = np.zeros(0, np.float32)
        if afresh or not self._joins or abs(error) > self._hole:
            before, error = self._begin_at(at), 0.0
        make_up = max(-MOST_MAKE_UP, min(error / self._most_make_up_error, MOST_MAKE_UP))
        out = self._resampler.process(samples, (1 + make_up) / (1 + drift) - 1)
        if self._to_skip:
            left_out = min(self._to_skip, len(out))
            out = out[left_out:]
            self._to_skip -= left_out
            self.skipped += left_out
        self.position += len(out)
        return np.concatenate([before, out]) if len(before) else out

    def fill_to(self, position: int) -> Samples:
        """Silence up to a session position, where nothing comes that could be placed; what comes next begins afresh."""
        if position <= self.position:
            return np.zeros(0, np.float32)
        out, self._joins = self._begin_at(position), False
        return out

    def finish(self) -> Samples:
        """What came and has not come out; what comes next begins afresh."""
        tail = self._resampler.drain() if self._joins else np.zeros(0, np.float32)
        left_out = min(self._to_skip, len(tail))
        self.skipped += left_out
        self.position += len(tail) - left_out
        self._joins = False
        return tail[left_out:]

    def _begin_at(self, at: float) -> Samples:
        """Let what comes next belong at `at`: silence up to there, or a stretch of it left out."""
        tail = self.finish()
        self._joins = True
        first = math.floor(at)
        self._fraction = at - first
        silence = max(0, first - self.position)
        self._to_skip = max(0, self.position - first)
        self.filled += silence
        self.position += silence
        return np.concatenate([tail, np.zeros(silence, np.float32)])
