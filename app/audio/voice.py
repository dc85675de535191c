"""The agent's voice, from the model's samples to the speaker's: what `Session` takes for its playout.

Pushed samples are resampled to the device's own rate, so that the callback only copies; the ratio follows the device's
clock and holds what waits to sound at its level. When the speaker is exchanged the voice goes on with the new one, and
what the old one left unplayed counts as flushed. All counts are in the model's samples. Entered by [engine].
"""

import numpy as np

from app.audio.opening import BLOCK_S
from app.audio.resampler import Resampler
from app.audio.speaker import Speaker
from app.audio.steady import MAKE_UP_S, MOST_MAKE_UP
from engine.clock import NS, Clock
from engine.playout import Playout, PlayoutCounts
from engine.ring import Samples

AWAY_S = 0.2  # the lead while there is no speaker
JOIN_NS = 10_000_000
TAIL_AHEAD_NS = 50_000_000  # how much earlier than it must the last of an utterance is let go: two rounds of the pump


class Voice:
    """What the agent says, on its way.

    Args:
        rate_hz: The model's output rate.
        clock: The session's.
    """

    def __init__(self, rate_hz: int, clock: Clock) -> None:
        self.rate_hz, self._clock = rate_hz, clock
        self._speaker: Speaker | None = None
        self._resampler: Resampler | None = None
        self._pushed = self._flushed = self._dropped = self._not_finite = 0
        self._underflows, self._gap_ms = 0, 0.0  # of speakers that have been exchanged
        self._ends_ns = 0  # when all that was pushed will have sounded, by the plan

    @property
    def lead_ns(self) -> int:
        """How long before it sounds a sample must be pushed: the speaker's latency, and what its callbacks need."""
        latency_ns = self._speaker.latency_ns if self._speaker else round(AWAY_S * NS)
        return latency_ns + round(BLOCK_S * NS) + (self._resampler.hold_ns if self._resampler else 0)

    @property
    def unplayed_samples(self) -> int:
        """Samples that wait to sound."""
        if self._speaker is None:
            return 0
        return self._in_model_samples(self._speaker.playout.unplayed_samples) + self._tail

    @property
    def counts(self) -> PlayoutCounts:
        """What became of the voice."""
        now = self._speaker.playout.counts if self._speaker else None
        return PlayoutCounts(
            pushed=self._pushed,
            played=self._pushed - self._flushed - self.unplayed_samples,
            flushed=self._flushed,
            dropped=self._dropped,
            not_finite=self._not_finite,
            underflows=self._underflows + (now.underflows if now else 0),
            gap_ms=self._gap_ms + (now.gap_ms if now else 0.0),
        )

    def sounding(self, start_ns: int, end_ns: int) -> bool:
        """Whether anything sounded, or will have sounded, between two times."""
        return self._speaker is not None and self._speaker.playout.sounding(start_ns, end_ns)

    def adopt(self, speaker: Speaker | None) -> None:
        """Sound from here on through another speaker, or none."""
        if speaker is self._speaker:
            return
        if self._speaker is not None:
            old = self._speaker.playout.counts
            self._underflows, self._gap_ms = self._underflows + old.underflows, self._gap_ms + old.gap_ms
        self._flushed += self.unplayed_samples
        self._speaker, self._ends_ns = speaker, 0
        self._resampler = Resampler(self.rate_hz, speaker.rate_hz) if speaker else None

    def push(self, samples: Samples, due_ns: int) -> None:
        """Let samples sound from `due_ns` by the session's clock, at the ear, or as soon after as can be.

        A unit that is pushed by its deadline sounds without a gap where `due_ns` is the deadline and `lead_ns`.
        """
        if not len(samples):
            return
        if self._speaker is None or self._resampler is None:
            self._dropped += len(samples)
            return
        clean: Samples = np.array(samples, np.float32)
        finite = np.isfinite(clean)
        self._not_finite += len(clean) - int(np.count_nonzero(finite))
        clean[~finite] = 0.0
        playout = self._speaker.playout
        goes_on = self._resampler.owed and due_ns <= self._ends_ns + NS // self._speaker.rate_hz
        if not goes_on:
            self._let_go_of_tail(playout)
        correction = self._correction(playout, self._speaker) if goes_on else self._speaker.tape.line.drift
        # What goes on joins: corrected for drift, it may be shorter by a hair than by the playout's reckoning.
        start_ns = self._ends_ns - self._tail_ns - JOIN_NS if goes_on else due_ns
        self._ends_ns = (self._ends_ns if goes_on else due_ns) + len(clean) * NS // self.rate_hz
        dropped = playout.counts.dropped
        self._pushed += len(clean)
        playout.push(self._resampler.process(clean, correction), start_ns)
        self._drop(playout.counts.dropped - dropped)

    def flush(self, now_ns: int) -> int:
        """Fall silent within a block, with a fade; returns how many samples were left unplayed."""
        if self._speaker is None or self._resampler is None:
            return 0
        tail = self._tail
        self._resampler.reset()
        unplayed = self._in_model_samples(self._speaker.playout.flush(now_ns)) + tail
        self._flushed += unplayed
        self._ends_ns = 0
        return unplayed

    def pump(self, now_ns: int) -> None:
        """Let go of what the resampler holds back, where an utterance has come to its end."""
        if self._tail and self._speaker and now_ns >= self._ends_ns - self.lead_ns - TAIL_AHEAD_NS:
            self._let_go_of_tail(self._speaker.playout)

    @property
    def _tail(self) -> int:
        """Samples that the resampler holds back."""
        return self._in_model_samples(self._resampler.owed) if self._resampler else 0

    @property
    def _tail_ns(self) -> int:
        return round(self._resampler.owed * NS / self._resampler.out_rate_hz) if self._resampler else 0

    def _let_go_of_tail(self, playout: Playout) -> None:
        if self._resampler and self._resampler.owed:
            due_ns = self._ends_ns - self._tail_ns - JOIN_NS
            playout.push(self._resampler.drain(), due_ns)

    def _correction(self, playout: Playout, speaker: Speaker) -> float:
        """How much longer than nominal the next samples are to last at the device, where they join what waits."""
        line = speaker.tape.line
        asked = speaker.tape.written_frames  # up to here it has been asked what sounds
        until_ns = round(line.time_ns(asked))
        if not line.settled or not playout.sounding(until_ns - round(BLOCK_S * NS), until_ns):
            return line.drift
        ends_ns = line.time_ns(asked + playout.unplayed_samples)
        late = (ends_ns - (self._ends_ns - self._tail_ns)) / NS
        return (1 + line.drift) * (1 - max(-MOST_MAKE_UP, min(late / MAKE_UP_S, MOST_MAKE_UP))) - 1

    def _drop(self, device_samples: int) -> None:
        """The playout was full: what it did not take counts as never pushed."""
        dropped = self._in_model_samples(device_samples)
        self._dropped += dropped
        self._pushed -= dropped

    def _in_model_samples(self, device_samples: float) -> int:
        return round(device_samples * self.rate_hz / self._speaker.rate_hz) if self._speaker else 0
