"""Cuts the microphone's blocks, of any size, into chunks of one cadence.

The queue is bounded: past `max_queued` whole chunks the oldest go, whole, so that what is left keeps to the session's
grid (chunk n always holds the same samples of the session) and a late session hears one clean hole, not many nicks.
Knows nothing of time or of what a chunk is for. `write` is entered by [audio] alone; all else by [engine] alone.
"""

from dataclasses import dataclass

import numpy as np

from engine.ring import SampleRing, Samples


@dataclass(frozen=True)
class Chunk:
    """What a unit hears.

    Args:
        index: Which of the session's chunks it is; those that were dropped count.
        start_sample: Session sample of its first.
        samples: float32 mono [chunk_samples], its own memory.
    """

    index: int
    start_sample: int
    samples: Samples


class Chunker:
    """Exact chunks out of blocks as they come.

    Args:
        chunk_samples: Samples in a cadence.
        first_chunk_samples: Samples in the first chunk, where a model declares another (MiniCPM-o: 1035 ms).
        max_queued: Whole chunks that may wait; at a cadence of a second, seconds.
    """

    def __init__(self, chunk_samples: int, first_chunk_samples: int | None = None, max_queued: int = 8) -> None:
        self._chunk = chunk_samples
        self._first = chunk_samples if first_chunk_samples is None else first_chunk_samples
        if min(self._chunk, self._first, max_queued) < 1:
            raise ValueError(f"chunks of {self._first}, then {self._chunk} samples, {max_queued} queued; needed: >= 1")
        self._max_queued = max_queued
        # Beside the waiting chunks, the one that is filling and as much again: a stall must outlast a whole cadence
        # past the bound before the ring itself lets go of samples in the middle of a chunk that is being read.
        self._ring = SampleRing(max(self._first, self._chunk) + (max_queued + 1) * self._chunk)
        self._next = 0  # index of the chunk to be taken next
        self._taken_samples = 0

    @property
    def queued(self) -> int:
        """Whole chunks that wait to be taken."""
        return self._whole() - self._oldest()

    @property
    def dropped_samples(self) -> int:
        """Samples of the session that no chunk has held and none will."""
        return self._start(self._oldest()) - self._taken_samples

    def write(self, block: Samples) -> int:
        """Take in a block of any length [audio]; returns how many unread samples it took the place of."""
        return self._ring.write(block)

    def take(self) -> Chunk | None:
        """The oldest chunk, or None where no whole one waits."""
        while (index := self._oldest()) < self._whole():
            start, end = self._start(index), self._start(index + 1)
            samples = np.empty(end - start, np.float32)
            self._ring.skip_to(start)
            filled = self._ring.read_into(samples)
            self._next = index + 1
            if filled == len(samples) and self._ring.position == end:
                self._taken_samples += filled
                return Chunk(index, start, samples)
        return None

    def rest(self) -> Chunk:
        """What came after the last whole chunk, once nothing more will be written and `take` has returned None."""
        assert self.queued == 0, "whole chunks wait: take them first"
        samples = np.empty(len(self._ring), np.float32)
        self._ring.read_into(samples)
        return Chunk(self._next, self._start(self._next), samples)

    def _oldest(self) -> int:
        return max(self._next, self._whole() - self._max_queued)

    def _start(self, index: int) -> int:
        return self._first + (index - 1) * self._chunk if index else 0

    def _whole(self) -> int:
        """How many chunks have come whole since the start."""
        past_first = self._ring.written - self._first
        return 1 + past_first // self._chunk if past_first >= 0 else 0
