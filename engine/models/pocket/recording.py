"""The last half minute of the user's side, addressed by session sample. Entered by the engine thread."""

import numpy as np
from numpy.typing import NDArray

RATE_HZ = 16_000


class Recording:
    """A ring of the newest samples.

    Args:
        capacity: Samples kept.
    """

    def __init__(self, capacity: int) -> None:
        self._samples = np.zeros(capacity, np.float32)
        self.end = 0  # session sample after the newest

    def append(self, chunk: NDArray[np.float32]) -> None:
        """Take in the next samples, in order."""
        kept = chunk[-len(self._samples) :]
        at = (np.arange(self.end + len(chunk) - len(kept), self.end + len(chunk))) % len(self._samples)
        self._samples[at] = kept
        self.end += len(chunk)

    def pass_over(self, samples: int) -> None:
        """Take in so much silence, however much it is."""
        kept = min(samples, len(self._samples))
        self.end += samples - kept
        self.append(np.zeros(kept, np.float32))

    def cut(self, start: int, end: int) -> NDArray[np.float32]:
        """Session samples from `start` to `end`, as far as they are still there."""
        oldest = max(0, self.end - len(self._samples))
        return self._samples[np.arange(max(start, oldest), min(end, self.end)) % len(self._samples)]

    def last_loud(self, end: int) -> int:
        """The last sample at or before `end` that is a twentieth as loud as the second before it.

        Voice activity is told by frames and lets go late: measured on clean speech, about a tenth of a second late.
        """
        second = np.abs(self.cut(end + 1 - RATE_HZ, end + 1))
        loud = np.flatnonzero(second >= second.max(initial=0) / 20)
        return end + 1 - len(second) + int(loud[-1]) if len(loud) else end
