"""The agent's voice, from the model's samples to the speaker's: what `Session` takes for its playout.

Pushed samples are resampled to the device's own rate, so that the callback only copies; the ratio follows the device's
clock and holds what waits to sound at its level. When the speaker is exchanged the voice goes on with the new one, and
what the old one left unplayed counts as flushed. All counts are in the model's samples. Entered by [engine]; `flush`
and `sounding` by any thread. What a flush meets on its way through the resampler does not sound: the engine finds out
before it hands that on, and nobody waits for a resampler.
"""

from threading import Lock

import numpy as np

from app.audio.opening import BLOCK_S
from app.audio.resampler import Resampler, hold_ns
from app.audio.speaker import Speaker
from app.audio.steady import MAKE_UP_S, MOST_MAKE_UP
from engine.clock import NS, Clock
from engine.playout import PlayoutCounts
from engine.ring import Samples

AWAY_S = 0.2  # the lead while there is no speaker
JOIN_NS = 10_000_000
TAIL_AHEAD_NS = 50_000_000  # how much earlier than it must the last of an utterance is let go: two rounds of the pump
PAUSE_NS = NS  # a shorter one is a unit that came late: what follows is of the same utterance


class Voice:
    """What the agent says, on its way.

    Args:
        rate_hz: The model's output rate.
        clock: The session's.

    Attributes:
        lead_ns: How long before it sounds a sample must be pushed: the speaker's latency, and what its callbacks need.
            It stays what it is until an utterance is over: units that follow each other then join, whatever a driver
            tells meanwhile.
    """

    def __init__(self, rate_hz: int, clock: Clock) -> None:
        self.rate_hz, self._clock = rate_hz, clock
        self.lead_ns = self._reach_ns(None)
        self._speaker: Speaker | None = None
        self._resampler: Resampler | None = None
        self._not_finite = 0
        self._underflows, self._gap_ms = 0, 0.0  # of speakers that have been exchanged
        self._ends_ns = 0  # when all that was pushed will have sounded, by the plan
        self._cuts_seen = 0
        # Held by whoever flushes, and by the engine to hand on and to count: for a copy of what waits, never longer.
        self._lock = Lock()
        self._pushed = self._flushed = self._dropped = 0
        self._held = 0  # samples on their way to the playout: in the resampler, or in the engine's hands
        self._cuts = 0  # how often it has been flushed

    @property
    def unplayed_samples(self) -> int:
        """Samples that wait to sound."""
        with self._lock:
            return self._unplayed()

    @property
    def counts(self) -> PlayoutCounts:
        """What became of the voice."""
        with self._lock:
            now = self._speaker.playout.counts if self._speaker else None
            return PlayoutCounts(
                pushed=self._pushed,
                played=self._pushed - self._flushed - self._unplayed(),
                flushed=self._flushed,
                dropped=self._dropped,
                not_finite=self._not_finite,
                underflows=self._underflows + (now.underflows if now else 0),
                gap_ms=self._gap_ms + (now.gap_ms if now else 0.0),
            )

    def sounding(self, start_ns: int, end_ns: int) -> bool:
        """Whether anything sounded, or will have sounded, between two times [any]."""
        speaker = self._speaker
        return speaker is not None and speaker.playout.sounding(start_ns, end_ns)

    def adopt(self, speaker: Speaker | None) -> None:
        """Sound from here on through another speaker, or none."""
        if speaker is self._speaker:
            return
        with self._lock:
            if self._speaker is not None:
                old = self._speaker.playout.counts
                self._underflows, self._gap_ms = self._underflows + old.underflows, self._gap_ms + old.gap_ms
            self._flushed += self._unplayed()
            self._held = 0
            self._speaker, self._ends_ns = speaker, 0
            self._resampler = Resampler(self.rate_hz, speaker.rate_hz) if speaker else None
        self.lead_ns = self._reach_ns(speaker)

    def push(self, samples: Samples, due_ns: int) -> None:
        """Let samples sound from `due_ns` by the session's clock, at the ear, or as soon after as can be.

        A unit that is pushed by its deadline sounds without a gap where `due_ns` is the deadline and `lead_ns`.
        """
        if not len(samples):
            return
        speaker, resampler = self._speaker, self._resampler
        if speaker is None or resampler is None:
            with self._lock:
                self._dropped += len(samples)
            return
        clean: Samples = np.array(samples, np.float32)
        finite = np.isfinite(clean)
        self._not_finite += len(clean) - int(np.count_nonzero(finite))
        clean[~finite] = 0.0
        with self._lock:
            cuts = self._obey_cuts(resampler)
            self._pushed += len(clean)
            self._held += len(clean)
        goes_on = resampler.owed and due_ns <= self._ends_ns + NS // speaker.rate_hz
        if not goes_on:
            self._let_go_of_tail(speaker, resampler, cuts, held=len(clean))
        correction = self._correction(speaker, resampler) if goes_on else speaker.tape.line.drift
        # What goes on joins: corrected for drift, it may be shorter by a hair than by the playout's reckoning.
        start_ns = self._ends_ns - _owed_ns(resampler) - JOIN_NS if goes_on else due_ns
        self._ends_ns = (self._ends_ns if goes_on else due_ns) + len(clean) * NS // self.rate_hz
        out = resampler.process(clean, correction)
        self._hand_on(speaker, out, start_ns, cuts, held=self._in_model_samples(resampler.owed, speaker))

    def flush(self, now_ns: int) -> int:
        """Fall silent within a block, with a fade [any]; returns how many samples were left unplayed."""
        with self._lock:
            if self._speaker is None:
                return 0
            unplayed = self._unplayed()
            self._speaker.playout.flush(now_ns)
            self._flushed += unplayed
            self._held = 0
            self._cuts += 1
            return unplayed

    def pump(self, now_ns: int) -> None:
        """Let go of what the resampler holds back, where an utterance has come to its end."""
        speaker, resampler = self._speaker, self._resampler
        if speaker is not None and resampler is not None:
            with self._lock:
                cuts = self._obey_cuts(resampler)
            if resampler.owed and now_ns >= self._ends_ns - self.lead_ns - TAIL_AHEAD_NS:
                self._let_go_of_tail(speaker, resampler, cuts, held=0)
        if now_ns >= self._ends_ns + PAUSE_NS:
            self.lead_ns = self._reach_ns(speaker)

    def _reach_ns(self, speaker: Speaker | None) -> int:
        if speaker is None:
            return round((AWAY_S + BLOCK_S) * NS)
        return speaker.latency_ns + round(BLOCK_S * NS) + hold_ns(self.rate_hz, speaker.rate_hz)

    def _unplayed(self) -> int:
        """With the lock held."""
        if self._speaker is None:
            return 0
        return self._in_model_samples(self._speaker.playout.unplayed_samples, self._speaker) + self._held

    def _obey_cuts(self, resampler: Resampler) -> int:
        """Forget what was flushed on its way; returns how many flushes there have been. With the lock held."""
        if self._cuts != self._cuts_seen:
            self._cuts_seen, self._ends_ns = self._cuts, 0
            resampler.reset()
        return self._cuts

    def _let_go_of_tail(self, speaker: Speaker, resampler: Resampler, cuts: int, *, held: int) -> None:
        if resampler.owed:
            due_ns = self._ends_ns - _owed_ns(resampler) - JOIN_NS
            self._hand_on(speaker, resampler.drain(), due_ns, cuts, held=held)

    def _hand_on(self, speaker: Speaker, out: Samples, due_ns: int, cuts: int, *, held: int) -> None:
        """To the playout, at the device's rate; unless it was flushed since there were `cuts` flushes."""
        with self._lock:
            if self._cuts != cuts:
                return
            dropped = speaker.playout.counts.dropped
            speaker.playout.push(out, due_ns)
            # The playout was full: what it did not take counts as never pushed.
            dropped = self._in_model_samples(speaker.playout.counts.dropped - dropped, speaker)
            self._dropped += dropped
            self._pushed -= dropped
            self._held = held

    def _correction(self, speaker: Speaker, resampler: Resampler) -> float:
        """How much longer than nominal the next samples are to last at the device, where they join what waits."""
        line, playout = speaker.tape.line, speaker.playout
        asked = speaker.tape.written_frames  # up to here it has been asked what sounds
        until_ns = round(line.time_ns(asked))
        if not line.settled or not playout.sounding(until_ns - round(BLOCK_S * NS), until_ns):
            return line.drift
        ends_ns = line.time_ns(asked + playout.unplayed_samples)
        late = (ends_ns - (self._ends_ns - _owed_ns(resampler))) / NS
        return (1 + line.drift) * (1 - max(-MOST_MAKE_UP, min(late / MAKE_UP_S, MOST_MAKE_UP))) - 1

    def _in_model_samples(self, device_samples: float, speaker: Speaker) -> int:
        return round(device_samples * self.rate_hz / speaker.rate_hz)


def _owed_ns(resampler: Resampler) -> int:
    return round(resampler.owed * NS / resampler.out_rate_hz)
