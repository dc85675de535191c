"""A ring of samples between two threads: it keeps the newest and counts what it had to let go.

Behaves like `collections.deque(maxlen=capacity)`, in memory that is set aside once. One thread writes, one reads, and
neither waits: each count has one owner, and under the interpreter's lock a count is published whole. Knows nothing of
time, rates or devices. `write` is entered by [audio] alone; all else by [engine] alone.
"""

import numpy as np
from numpy.typing import NDArray

Samples = NDArray[np.float32]  # [samples], mono


class SampleRing:
    """The newest `capacity` samples that have not been read.

    Positions count samples since the start and never wrap, so a position names one sample for good, read or lost.

    Args:
        capacity: Samples that it holds; past that a write takes the place of the oldest.
    """

    def __init__(self, capacity: int) -> None:
        if capacity < 1:
            raise ValueError(f"a ring of {capacity} samples; needed: at least one")
        self.capacity = capacity
        self._samples: Samples = np.zeros(capacity, np.float32)
        self._claimed = 0  # [audio] the slots before this position, less the capacity, may be changing right now
        self._written = 0  # [audio] the samples before this position are whole
        self._position = 0  # [engine]
        self._lost = 0  # [engine]

    @property
    def written(self) -> int:
        """Position that the next sample written will have."""
        return self._written

    @property
    def position(self) -> int:
        """Position of the oldest sample that can still be read."""
        return max(self._position, self._claimed - self.capacity)

    @property
    def lost_samples(self) -> int:
        """Samples that nobody read: overwritten, or skipped."""
        return self._lost + self.position - self._position

    def __len__(self) -> int:
        return max(0, self._written - self.position)

    def write(self, block: Samples) -> int:
        """Take in a block of any length [audio].

        Returns:
            How many unread samples it took the place of, as the writer sees it (a reader at work at the same moment may
            have saved some: `lost_samples` is exact).
        """
        oldest, start = self.position, self._written
        end = start + len(block)
        self._claimed = end  # first, so that a reader at work on these slots notices
        kept = block[-self.capacity :]
        at = (end - len(kept)) % self.capacity
        head = min(len(kept), self.capacity - at)
        self._samples[at : at + head] = kept[:head]
        self._samples[: len(kept) - head] = kept[head:]
        self._written = end
        return max(0, end - self.capacity - oldest)

    def read_into(self, out: Samples) -> int:
        """Move the oldest samples into `out`, as many as there are or fit.

        Returns:
            How many samples of `out` were filled; the last of them lies just before the new `position`.
        """
        while True:
            start = self._skip(self.position)
            count = min(len(out), len(self))
            at = start % self.capacity
            head = min(count, self.capacity - at)
            out[:head] = self._samples[at : at + head]
            out[head:count] = self._samples[: count - head]
            if self.position == start:  # else the writer came round while this copied: what it copied may be torn
                self._position = start + count
                return count

    def skip_to(self, position: int) -> None:
        """Let go of what lies before `position`, or of all there is where that is less."""
        self._skip(max(self.position, min(position, self._written)))

    def _skip(self, position: int) -> int:
        self._lost += position - self._position
        self._position = position
        return position
