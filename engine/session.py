"""A conversation, one cadence at a time: a chunk in, a decision, perhaps speech out, and a line in the log.

The session knows no model by name, no sound card and no window. It is handed a clock, so the same conversation runs at
real time, as fast as it goes, or by a test's hand. Entered by the engine thread.
"""

import hashlib
import threading
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from statistics import median
from typing import TYPE_CHECKING, Protocol

from engine.chunk import Chunk
from engine.clock import NS, Clock
from engine.playout import PlayoutCounts
from engine.ring import Samples
from engine.runtime import Runtime
from engine.stage import Lifetime, Quota
from engine.step import Event, Model, Outcome, SoFar
from engine.timing import AudioRecord, Fault, LogWriter, MemoryRecord, Reset, StageRecord, Transcript, UnitRecord
from engine.waiting import Waiting

if TYPE_CHECKING:  # a window is there before torch is
    from engine.arena import Arena

REMEMBERED_UNITS = 600  # whose slack a model may speak of


class Voice(Protocol):
    """Holds the agent's voice until it sounds; `engine.playout.Playout` is one."""

    @property
    def lead_ns(self) -> int:
        """How long before it sounds a sample must be pushed: a unit's audio is due so long after its deadline."""
        ...

    @property
    def unplayed_samples(self) -> int:
        """Samples that wait to sound."""
        ...

    @property
    def counts(self) -> PlayoutCounts:
        """What became of the voice."""
        ...

    def push(self, samples: Samples, due_ns: int) -> None:
        """Let samples sound from `due_ns`, or as soon after as can be."""
        ...

    def flush(self, now_ns: int) -> int:
        """Fall silent, with a fade [any, beside a push too]; returns how many samples were left unplayed."""
        ...


class Speaker(Protocol):
    """Whoever plays what the playout holds; a sound card does so by itself."""

    def advance(self, now_ns: int) -> None:
        """Play everything that sounds before `now_ns`."""
        ...


@dataclass(frozen=True)
class Unit:
    """A unit that has been run: its record, what it came to, and what went wrong."""

    record: UnitRecord
    outcome: Outcome
    faults: tuple[Fault, ...] = ()


class Session:
    """Runs a model's units against their deadlines.

    Args:
        model: Prepared; its state lies in `arena`.
        runtime: Executes the model's steps.
        arena: Committed one unit ahead, in the slack.
        playout: Holds the agent's voice until it sounds; pushed to and flushed by the session alone.
        clock: The only source of time.
        log: Takes a line a unit; None where no log was asked for.
        speaker: Advanced with the clock in a headless run; None where a sound card plays.
        memory: Reads the bytes that a unit's record states.
        fingerprints: Whether records hold a hash of the voice, by which sessions are compared to the bit. Not for a
            private conversation: a hash tells whoever guesses the words that he guessed right.
    """

    def __init__(
        self,
        model: Model,
        runtime: Runtime,
        arena: "Arena",
        playout: Voice,
        clock: Clock,
        *,
        log: LogWriter | None = None,
        speaker: Speaker | None = None,
        memory: Callable[[], MemoryRecord],
        fingerprints: bool = False,
    ) -> None:
        self.model, self.runtime, self.arena, self.playout, self.clock = model, runtime, arena, playout, clock
        self._log, self._speaker, self._memory, self._fingerprints = log, speaker, memory, fingerprints
        self._origin_ns = 0
        self._heard_samples = 0
        self.next_index = 0  # of the chunk that comes after the last one that was run
        self._position = model.plan.start
        self.waiting = Waiting(model.input_rate_hz, model.output_rate_hz)
        self._interruption_lock = threading.Lock()  # held for a flush and a few assignments
        self._interrupted, self._unheard_samples = False, 0
        self._units = self._overruns = 0
        self._slack_ms: deque[float] = deque(maxlen=REMEMBERED_UNITS)

    def begin(self, arrival_ns: int) -> None:
        """The session starts: its first chunk arrives at `arrival_ns`."""
        self._origin_ns = arrival_ns
        self.model.begin()
        self._commit_ahead()

    def arrival_ns(self, index: int) -> int:
        """When chunk `index` is whole, and so when unit `index - 1` is due."""
        return self._origin_ns + int(Fraction(index) / self.model.plan.cadence * NS)

    @property
    def idle(self) -> bool:
        """Whether nobody is speaking, nothing waits for an answer, and all that was said has sounded."""
        return self.model.idle and self.playout.unplayed_samples == 0

    def interrupt(self) -> None:
        """The user cuts the agent short [any]: it falls silent now, and with the next unit its turn ends."""
        with self._interruption_lock:
            self._interrupted = True
            self._unheard_samples += self.playout.flush(self.clock.now_ns())

    def resume(self, start_sample: int) -> None:
        """After a pause in which nothing could be heard: what lies before `start_sample` was not dropped."""
        self._heard_samples = max(self._heard_samples, start_sample)

    def run_unit(self, chunk: Chunk) -> Unit:
        """One cadence, from a chunk's arrival to its line in the log."""
        index, start_ns, origin_ns = chunk.index, self.clock.now_ns(), self._origin_ns
        arrival_ns, deadline_ns = self.arrival_ns(index), self.arrival_ns(index + 1)
        dropped_samples = chunk.start_sample - self._heard_samples
        self._heard_samples = chunk.start_sample + len(chunk.samples)
        before = self.playout.counts

        self._let_sound(start_ns)
        outcome, stages, faults = self._drive(chunk, self._so_far())
        voiced = self._give_voice(outcome, deadline_ns)
        finish_ns = self.clock.now_ns()

        counts = self.playout.counts
        if counts.not_finite > before.not_finite:
            faults.append(self._fault(index, None, "the model's audio was not finite; silence was played in its place"))
        if counts.dropped > before.dropped:
            faults.append(self._fault(index, None, "more speech waits than can be held; the newest was dropped"))
        record = UnitRecord(
            index=index,
            event=outcome.event.value,
            arrival_ns=arrival_ns - origin_ns,
            start_ns=start_ns - origin_ns,
            finish_ns=finish_ns - origin_ns,
            deadline_ns=deadline_ns - origin_ns,
            response_delay_ms=self.waiting.unit(
                outcome,
                awaited_since=self.model.awaited_since,
                heard_samples=self._heard_samples,
                heard_ns=arrival_ns,  # the last sample heard came with the chunk
                sounds_at_ns=max(deadline_ns, finish_ns) + self.playout.lead_ns if voiced else None,
            ),
            voice_sha256=_sha256(outcome.audio) if self._fingerprints and len(outcome.audio) else None,
            stages=tuple(self.runtime.settle(stages, origin_ns)),
            memory=self._memory(),
            audio=AudioRecord(
                overflows=int(dropped_samples > 0),
                underflows=counts.underflows - before.underflows,
                gap_ms=counts.gap_ms - before.gap_ms,
                dropped_ms=1e3 * dropped_samples / self.model.input_rate_hz,
                playout_ms=1e3 * self.playout.unplayed_samples / self.model.output_rate_hz,
            ),
        )
        if self._log is not None:
            for fault in faults:
                self._log.write(fault)
            self._log.write(record)
            for line in outcome.transcript:
                self._log.write(
                    Transcript(index=index, who=line.who, text=line.text, kind=line.kind, source=line.source)
                )
        self.next_index = index + 1
        self._units += 1
        self._overruns += record.overrun
        self._slack_ms.append(record.slack_ms)
        self._follow(outcome, stages, index)
        if outcome.event is Event.FLUSH:
            self._give_back(index)
        self._commit_ahead()
        if outcome.event is Event.LISTEN:
            self.runtime.use_slack(deadline_ns)
        return Unit(record, outcome, tuple(faults))

    def _follow(self, outcome: Outcome, stages: list[StageRecord], index: int) -> None:
        """Keep to where the plan says that the session stands."""
        plan, ran = self.model.plan, Counter[str]()
        for stage in stages:
            ran[stage.name] += stage.ticks
        quotas = {line.name: ran[line.name] for line in plan.timelines if isinstance(line.drive, Quota)}
        start = plan.end_turn(self._position) if outcome.forgets else self._position
        _, self._position = plan.advance(start, outcome.event.value, index=index, ran=quotas)

    def _give_back(self, index: int) -> None:
        """A turn is over: its memory goes back."""
        before = self.arena.committed_bytes
        self.arena.reset(Lifetime.TURN)
        freed_bytes = before - self.arena.committed_bytes
        if self._log is not None and freed_bytes:
            at_ns = self.clock.now_ns() - self._origin_ns
            self._log.write(Reset(index=index, at_ns=at_ns, lifetime="turn", freed_bytes=freed_bytes))

    def _commit_ahead(self) -> None:
        """Commit what the next unit may need, in this one's slack: never between a chunk's arrival and its speech."""
        self.arena.commit_needed(self.model.plan.ahead(self._position))

    def _drive(self, chunk: Chunk, so_far: SoFar) -> tuple[Outcome, list[StageRecord], list[Fault]]:
        """Let the runtime execute the model's steps; a stage that raises ends the turn, not the session."""
        steps, stages, result = self.model.unit(chunk, so_far), list[StageRecord](), None
        stage: str | None = None
        try:
            while True:
                step = steps.send(result)
                stage = step.stage
                result, record = self.runtime.execute(step, self._origin_ns)
                stages.append(record)
        except StopIteration as end:
            outcome: Outcome = end.value
            return outcome, stages, []
        except Exception as error:  # noqa: BLE001  a model's stage may raise anything; the conversation goes on
            self.model.end_turn()
            fault = self._fault(
                chunk.index, stage, f"{type(error).__name__}: {' '.join(str(error).split())}; the turn was ended"
            )
            return Outcome(Event.FLUSH, flush=True), stages, [fault]

    def _so_far(self) -> SoFar:
        with self._interruption_lock:
            unplayed_samples = self.playout.unplayed_samples + self._unheard_samples
            interrupted, self._interrupted, self._unheard_samples = self._interrupted, False, 0
        return SoFar(
            unplayed_samples=unplayed_samples,
            units=self._units,
            overruns=self._overruns,
            slack_ms=median(self._slack_ms) if self._slack_ms else 0.0,
            interrupted=interrupted,
        )

    def _give_voice(self, outcome: Outcome, deadline_ns: int) -> bool:
        """Flush and push as the unit came to; returns whether its audio will sound."""
        self._let_sound(self.clock.now_ns())
        if outcome.flush:
            self.playout.flush(self.clock.now_ns())
        if not len(outcome.audio):
            return False
        said = not self._interrupted  # while the unit ran: what it wanted to say is left unsaid too
        if said:
            self.playout.push(outcome.audio, due_ns=deadline_ns + self.playout.lead_ns)
        with self._interruption_lock:  # and so where it came while this was pushed: nobody waits for a push
            if self._interrupted:
                unheard = self.playout.flush(self.clock.now_ns()) if said else len(outcome.audio)
                self._unheard_samples += unheard
                said = False
        return said

    def _let_sound(self, now_ns: int) -> None:
        if self._speaker is not None:
            self._speaker.advance(now_ns)

    def _fault(self, index: int, stage: str | None, message: str) -> Fault:
        return Fault(index=index, at_ns=self.clock.now_ns() - self._origin_ns, stage=stage, message=message)


def _sha256(samples: Samples) -> str:
    """Of float32 [samples]; 0.06 ms for a second of them (two cores of a Zen 4)."""
    return hashlib.sha256(samples.astype("<f4").tobytes()).hexdigest()
