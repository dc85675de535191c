"""The agent's voice on its way out: samples that are due at a time, and rather late than never.

Audio sounds from its due time, never earlier, and after what was pushed before it. Audio that comes late leaves a gap,
faded on both sides and counted; what follows moves back with it, until a pause takes the delay up again. One thread
pushes, one reads, and neither waits for the other: a flush is a mark that the reader finds. Knows nothing of models or
devices, nor what time it is. `read` and `read_into` are entered by [audio] alone (by [engine] in a headless run); all
else by [engine] alone.
"""

from collections import deque
from dataclasses import dataclass

import numpy as np

from engine.clock import NS
from engine.ring import Samples

SPANS_KEPT = 64  # runs of sound that `sounding` can look back on: far more than a few seconds hold


@dataclass(frozen=True)
class PlayoutCounts:
    """What has become of the voice so far.

    Args:
        pushed: Samples taken in; always played + flushed + those that are unplayed.
        played: Samples that sounded.
        flushed: Samples left unplayed by a flush; the few that sound while it fades are among them.
        dropped: Samples not taken in, because too many waited.
        not_finite: Samples that were NaN or infinite; silence was taken in for them.
        underflows: Gaps.
        gap_ms: Time in which audio was due and none sounded.
    """

    pushed: int
    played: int
    flushed: int
    dropped: int
    not_finite: int
    underflows: int
    gap_ms: float


@dataclass(frozen=True)
class _Segment:
    """One push. `joins`: by what was due when, nothing lies between it and the segment before."""

    start: int  # position, counted in samples over all segments
    samples: Samples
    due_ns: int
    joins: bool

    @property
    def end(self) -> int:
        return self.start + len(self.samples)


class Playout:
    """What sounds when.

    Args:
        rate_hz: Samples a second.
        fade_ms: Length of the fade into and out of a gap, and at a flush.
        max_queued_s: Audio that may wait; past that what is pushed is dropped, and counted.

    Attributes:
        lead_ns: How long before it sounds a sample must be pushed: nothing, where whoever reads it is told to.
    """

    lead_ns = 0

    def __init__(self, rate_hz: int, fade_ms: int = 10, max_queued_s: int = 60) -> None:
        self.rate_hz = rate_hz
        self._fade = rate_hz * fade_ms // 1000
        self._max_queued = rate_hz * max_queued_s
        self._queue: deque[_Segment] = deque()  # [engine] appends, [audio] takes away

        # [engine]
        self._pushed = 0
        self._flushed = 0
        self._dropped = 0
        self._not_finite = 0
        self._ends_ns = 0  # when the last segment ends if all goes by the plan
        self._flush = (0, 0)  # position before which all is flushed, and when

        # [audio]
        self._position = 0  # of the next sample to sound
        self._level = 0  # of the last sample that sounded, in steps of the fade: `self._fade` is full
        self._sounding = False
        self._awaiting = False  # the head of the queue is there ahead of its time
        self._silent_since_ns = 0
        self._flush_seen = 0
        self._cut_ns = 0  # where the flushed samples begin to fade
        self._gaps = 0
        self._gap_ns = 0
        self._spans: deque[tuple[int, int]] = deque(maxlen=SPANS_KEPT)  # when it sounded

    @property
    def unplayed_samples(self) -> int:
        """Samples that wait to sound."""
        return self._pushed - max(self._position, self._flush[0])

    @property
    def counts(self) -> PlayoutCounts:
        """All counts, as they stand."""
        return PlayoutCounts(
            pushed=self._pushed,
            played=self._pushed - self._flushed - self.unplayed_samples,
            flushed=self._flushed,
            dropped=self._dropped,
            not_finite=self._not_finite,
            underflows=self._gaps,
            gap_ms=self._gap_ns / 1e6,
        )

    def sounding(self, start_ns: int, end_ns: int) -> bool:
        """Whether anything sounded between two times, as far as has been read."""
        return any(began_ns < end_ns and start_ns < ended_ns for began_ns, ended_ns in tuple(self._spans))

    def push(self, samples: Samples, due_ns: int) -> None:
        """Let `samples` (float32 mono) sound from `due_ns`, or as soon after as can be."""
        room = self._max_queued - self.unplayed_samples
        taken: Samples = np.array(samples[:room], np.float32)
        self._dropped += len(samples) - len(taken)
        if not len(taken):
            return
        finite = np.isfinite(taken)
        self._not_finite += len(taken) - int(np.count_nonzero(finite))
        taken[~finite] = 0.0
        joins = self._samples_in(due_ns - self._ends_ns) <= 0
        self._ends_ns = (self._ends_ns if joins else due_ns) + len(taken) * NS // self.rate_hz
        segment = _Segment(self._pushed, taken, due_ns, joins)
        self._pushed += len(taken)  # before it can be read, so that no count is ever negative
        self._queue.append(segment)

    def flush(self, now_ns: int) -> int:
        """Fall silent from `now_ns`, or from the next sample read where that is later: a fade, then nothing.

        Returns:
            How many samples were left unplayed. A headless run reads up to `now_ns` first; beside a sound card it can
            be off by the block that is being read.
        """
        unplayed = self.unplayed_samples
        self._flushed += unplayed
        self._flush = (self._pushed, now_ns)
        return unplayed

    def read(self, start_ns: int, count: int) -> Samples:
        """What sounds in the `count` samples from `start_ns`."""
        out = np.empty(count, np.float32)
        self.read_into(out, start_ns)
        return out

    def read_into(self, out: Samples, start_ns: int) -> None:
        """Fill `out` with what sounds from `start_ns`: a read goes on where the last one ended [audio]."""
        out.fill(0.0)
        self._look_for_flush(start_ns)
        filled = 0
        while filled < len(out) and self._queue:
            now_ns = start_ns + filled * NS // self.rate_hz
            segment = self._queue[0]
            limit = self._limit(segment, now_ns)
            if self._position == segment.end:
                self._queue.popleft()
            elif limit <= 0:
                self._queue.popleft()
                self._position = segment.end
                self._awaiting = False
                self._fall_silent(now_ns)
            elif self._position == segment.start and (wait := self._wait(segment, now_ns, self._sounding)):
                self._fall_silent(now_ns)
                self._awaiting = True
                filled += min(wait, limit, len(out) - filled)
            else:
                if self._position == segment.start:
                    self._begin(segment, now_ns)
                filled += self._play(segment, out[filled:], limit, now_ns)
        if filled < len(out):
            self._fall_silent(start_ns + filled * NS // self.rate_hz)

    def _look_for_flush(self, now_ns: int) -> None:
        mark, flush_ns = self._flush
        if mark == self._flush_seen:
            return
        fading = self._queue and self._queue[0].start < self._flush_seen  # an earlier flush: its fade goes on
        self._flush_seen = mark
        if not fading:
            self._cut_ns = max(flush_ns, now_ns)

    def _limit(self, segment: _Segment, now_ns: int) -> int:
        """How many more samples of `segment` and its like may sound."""
        if segment.start >= self._flush_seen:
            return self._max_queued
        return self._samples_in(self._cut_ns - now_ns) + (self._fade if self._sounding else 0)

    def _wait(self, segment: _Segment, now_ns: int, sounding: bool) -> int:
        """How many samples until `segment` may begin, where at `now_ns` something has just sounded or not."""
        return 0 if sounding and segment.joins else max(0, self._samples_in(segment.due_ns - now_ns))

    def _begin(self, segment: _Segment, now_ns: int) -> None:
        if not self._sounding:
            late = not self._awaiting and self._samples_in(now_ns - segment.due_ns) > 0
            gap_ns = now_ns - max(segment.due_ns, self._silent_since_ns) if late else 0
            if self._samples_in(gap_ns) > 0:
                self._gaps += 1
                self._gap_ns += gap_ns
            self._level = 0 if late else self._fade
            self._spans.append((now_ns, now_ns))
        self._sounding = True
        self._awaiting = False

    def _play(self, segment: _Segment, out: Samples, limit: int, now_ns: int) -> int:
        """Copy what fits of `segment`, faded where silence ends or is coming; returns how many samples."""
        ahead = min(limit, self._ahead(now_ns, len(out) + self._fade))
        count = min(len(out), segment.end - self._position, ahead)
        at = self._position - segment.start
        out[:count] = segment.samples[at : at + count]
        if self._level < self._fade or ahead < count + self._fade:
            rising = np.arange(self._level + 1, self._level + 1 + count)
            falling = np.arange(ahead, ahead - count, -1)
            level = np.minimum(np.minimum(rising, falling), self._fade)
            out[:count] *= level.astype(np.float32) / np.float32(self._fade)
            self._level = int(level[-1])
        self._position += count
        self._spans[-1] = (self._spans[-1][0], now_ns + count * NS // self.rate_hz)
        return count

    def _ahead(self, now_ns: int, enough: int) -> int:
        """How many samples will sound without a break, as far as is known and up to `enough`."""
        ahead = self._queue[0].end - self._position
        for index in range(1, len(self._queue)):  # by index: the other thread may append
            segment = self._queue[index]
            if ahead >= enough or self._wait(segment, now_ns + ahead * NS // self.rate_hz, sounding=True):
                break
            ahead += len(segment.samples)
        return ahead

    def _fall_silent(self, now_ns: int) -> None:
        if self._sounding:
            self._sounding = False
            self._silent_since_ns = now_ns

    def _samples_in(self, span_ns: int) -> int:
        """The nearest whole number of samples."""
        return (span_ns * self.rate_hz + NS // 2) // NS
