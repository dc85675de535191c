"""The session: deadlines on a grid, gaps counted, faults survived, memory committed ahead."""

import hashlib
from pathlib import Path

import numpy as np
import pytest

from app.headless import FileSpeaker
from engine.chunk import Chunk
from engine.clock import NS, Rate
from engine.playout import Playout
from engine.runtime import EagerRuntime
from engine.session import Session, Unit
from engine.step import Event
from engine.timing import AudioSetup, LogWriter, MemoryRecord, PlanSummary, SessionHeader
from engine.timing.reader import read_log
from tests.fakes import ManualClock, NotingArena, Told, ToldModel, tone

MEMORY = MemoryRecord(arena_reserved=0, arena_committed=0, rss=None)


class Heard:
    """Collects what sounds."""

    def __init__(self) -> None:
        self.samples: list[np.ndarray] = []

    def write(self, samples: np.ndarray) -> None:
        self.samples.append(samples)


class Bench:
    """A session with everything around it in a test's hands."""

    def __init__(
        self,
        told: list[Told],
        log: LogWriter | None = None,
        cadence: Rate = Rate(1),  # noqa: B008
        lead_ns: int = 0,
        fingerprints: bool = False,
    ) -> None:
        self.clock, self.arena, self.heard = ManualClock(), NotingArena(), Heard()
        self.model = ToldModel(self.clock, told, cadence)
        self.playout = Playout(24_000)
        self.playout.lead_ns = lead_ns
        self.speaker = FileSpeaker(self.playout, self.heard)  # type: ignore[arg-type]
        self.session = Session(
            self.model,
            EagerRuntime("cadence", self.clock),
            self.arena,
            self.playout,
            self.clock,
            log=log,
            speaker=self.speaker,
            memory=lambda: MEMORY,
            fingerprints=fingerprints,
        )
        self.chunk_samples = int(16_000 / cadence)
        self.session.begin(self.clock.now_ns())
        self.speaker.begin(self.clock.now_ns())

    def run(self, units: int, first: int = 0) -> list[Unit]:
        done = []
        for index in range(first, first + units):
            self.clock.sleep_until_ns(self.session.arrival_ns(index))
            samples = np.zeros(self.chunk_samples, np.float32)
            done.append(self.session.run_unit(Chunk(index, index * self.chunk_samples, samples)))
        return done

    def sound(self, until_unit: int) -> np.ndarray:
        self.clock.sleep_until_ns(self.session.arrival_ns(until_unit))
        self.speaker.advance(self.clock.now_ns())
        return np.concatenate(self.heard.samples)


def test_deadlines_keep_to_the_grid_however_late_a_unit_is() -> None:
    bench = Bench([Told(takes_s=0.2), Told(takes_s=1.7), Told(takes_s=0.1), Told(takes_s=0.1)])
    records = [unit.record for unit in bench.run(4)]
    assert [record.deadline_ns for record in records] == [NS, 2 * NS, 3 * NS, 4 * NS]
    assert [record.arrival_ns for record in records] == [0, NS, 2 * NS, 3 * NS]
    assert [record.overrun for record in records] == [False, True, False, False]
    assert records[2].start_ns == pytest.approx(2.7e9)  # it began late, and caught up
    assert [round(record.slack_ms) for record in records] == [800, -700, 200, 900]


def test_a_cadence_of_mimi_frames_has_exact_deadlines() -> None:
    bench = Bench([], cadence=Rate(25, 2))
    records = [unit.record for unit in bench.run(40)]
    assert [record.deadline_ns for record in records] == [(index + 1) * 80_000_000 for index in range(40)]


def test_a_units_audio_sounds_from_its_deadline() -> None:
    bench = Bench([Told(), Told(Event.SPEAK, tone(1.0), takes_s=0.3), Told(Event.SPEAK, tone(0.5), takes_s=0.9)])
    bench.run(3)
    heard = np.abs(bench.sound(5))
    loud = np.flatnonzero(heard > 0.001)
    assert loud[0] / 24_000 == pytest.approx(2.0, abs=0.001)
    assert (loud[-1] + 1) / 24_000 == pytest.approx(3.5, abs=0.001)


def test_a_late_unit_leaves_a_counted_gap_and_loses_nothing() -> None:
    bench = Bench([Told(Event.SPEAK, tone(1.0), takes_s=0.5), Told(Event.SPEAK, tone(1.0), takes_s=1.4)])
    records = [unit.record for unit in bench.run(4)]
    assert sum(record.audio.underflows for record in records) == 1
    assert sum(record.audio.gap_ms for record in records) == pytest.approx(400, abs=1)
    bench.sound(6)
    assert bench.playout.counts.played == 48_000


def test_a_barge_in_is_silent_at_once() -> None:
    bench = Bench([Told(Event.SPEAK, tone(1.0)), Told(flush=True, takes_s=0.05), Told()])
    bench.run(3)
    heard = np.abs(bench.sound(3))
    assert (heard[24_000:25_000] > 0.3).any()  # the second that was playing had begun
    assert not (heard[int(1.05 * 24_000) + 480 :] > 0).any()  # and ends within a block of 20 ms
    assert bench.model.so_far[1].unplayed_samples == 24_000


def test_a_stage_that_raises_ends_the_turn_not_the_session(tmp_path: Path) -> None:
    audio = AudioSetup(input_rate_hz=16_000, output_rate_hz=24_000, source="a test", realtime=False)
    header = SessionHeader(
        model="told", runtime="cadence", device="cpu", wall_clock="2026-12-01T12:00:00+00:00", versions={}, audio=audio,
        plan=PlanSummary(shapes=(), cycle=1, bytes=0), settings={},
    )  # fmt: skip
    with LogWriter(tmp_path / "log.jsonl", header, on_lost=pytest.fail) as log:
        bench = Bench(
            [
                Told(Event.SPEAK, tone(1.0)),
                Told(raises=RuntimeError("the stage is\nunwell")),
                Told(Event.SPEAK, tone(1.0, level=np.nan)),
            ],
            log,
        )
        units = bench.run(3)
    assert bench.model.turns_ended == 1
    assert units[1].outcome.flush
    assert [len(unit.faults) for unit in units] == [0, 1, 1]
    assert units[1].record.event == "FLUSH"
    records = list(read_log(tmp_path / "log.jsonl").records())
    faults = [record for record in records if type(record).__name__ == "Fault"]
    assert [(fault.index, fault.stage) for fault in faults] == [(1, "ears"), (2, None)]
    assert "the stage is unwell" in faults[0].message
    assert "not finite" in faults[1].message
    assert np.isfinite(bench.sound(5)).all()


def test_the_response_delay_runs_from_the_last_voiced_sample_to_the_first_audible_one() -> None:
    quiet_then_loud = np.concatenate([np.zeros(2_400, np.float32), tone(0.5)])
    # The voice ended 0.6 s before the end of the second chunk (samples 16000 to 32000).
    told = [Told(), Told(Event.SPEAK, quiet_then_loud, takes_s=0.3, last_voiced_sample=32_000 - 9_600)]
    bench = Bench(told)
    record = bench.run(2)[1].record
    assert record.response_delay_ms == pytest.approx(600 + 1000 + 100, abs=1)


def test_a_late_answer_is_told_late() -> None:
    told = [Told(Event.SPEAK, tone(0.5), takes_s=1.5, last_voiced_sample=16_000)]
    assert Bench(told).run(1)[0].record.response_delay_ms == pytest.approx(1500, abs=1)


def test_a_silent_start_is_no_answer_yet() -> None:
    told = [Told(Event.SPEAK, np.zeros(24_000, np.float32), last_voiced_sample=16_000), Told(Event.SPEAK, tone(0.5))]
    first, second = Bench(told).run(2)
    assert first.record.response_delay_ms is None
    assert second.record.response_delay_ms == pytest.approx(2000, abs=1)


def test_memory_is_committed_ahead_of_the_unit_that_needs_it() -> None:
    bench = Bench([Told(Event.SPEAK, tone(0.1), words=3), Told(Event.SPEAK, tone(0.1), words=5)])
    plan = bench.model.plan
    assert bench.arena.committed == plan.ahead(plan.start)  # before the first chunk is worked on
    bench.run(1)
    # 3 words held, and at most 5 more in the next unit
    assert bench.arena.committed["mouth.words"] == 8
    assert bench.arena.committed["ears.frames"] == 20
    bench.run(1, first=1)
    assert bench.arena.committed["mouth.words"] == 13


def test_chunks_that_were_dropped_are_counted_and_the_grid_holds() -> None:
    bench = Bench([])
    bench.run(2)
    bench.model.tell(Told(Event.SPEAK, tone(0.5), last_voiced_sample=6 * 16_000 - 8_000))
    late = bench.run(1, first=5)[0].record
    assert late.response_delay_ms == pytest.approx(1500, abs=1)
    assert late.index == 5
    assert late.deadline_ns == 6 * NS
    assert late.audio.dropped_ms == 3000
    assert late.audio.overflows == 1


def test_a_turns_end_gives_its_memory_back_and_says_so() -> None:
    bench = Bench([Told(Event.SPEAK, tone(0.1), words=5), Told(Event.FLUSH, tone(0.1), words=5), Told()])
    bench.run(1)
    assert bench.arena.committed["mouth.words"] == 10
    bench.run(1, first=1)
    assert bench.arena.committed["mouth.words"] == 5  # what the next unit may need, from the start again
    assert bench.arena.committed["ears.frames"] == 30  # the session's own state stays


def test_where_the_speaker_has_a_latency_audio_is_due_so_much_later() -> None:
    told = [Told(), Told(Event.SPEAK, tone(1.0), takes_s=0.3, last_voiced_sample=32_000 - 9_600)]
    bench = Bench(told, lead_ns=NS // 4)
    record = bench.run(2)[1].record
    loud = np.flatnonzero(np.abs(bench.sound(4)) > 0.001)
    assert loud[0] / 24_000 == pytest.approx(2.25, abs=0.001)
    assert record.response_delay_ms == pytest.approx(600 + 1000 + 250, abs=1)
    assert record.deadline_ns == 2 * NS  # the engine's own deadline stays


def test_late_audio_is_heard_as_late_as_it_came_and_the_latency_on_top() -> None:
    told = [Told(Event.SPEAK, tone(0.5), takes_s=1.5, last_voiced_sample=16_000)]
    assert Bench(told, lead_ns=NS // 5).run(1)[0].record.response_delay_ms == pytest.approx(1700, abs=1)


def test_an_interruption_is_silent_at_once_and_the_model_is_told_what_was_left_unheard() -> None:
    bench = Bench([Told(Event.SPEAK, tone(1.0)), Told(Event.SPEAK, tone(1.0))])
    bench.run(2)
    bench.sound(2)
    bench.clock.advance_s(0.5)  # a unit is not under way
    bench.speaker.advance(bench.clock.now_ns())
    bench.session.interrupt()
    bench.run(1, first=2)
    heard = np.abs(bench.sound(4))
    assert (heard[int(2.4 * 24_000) : int(2.5 * 24_000)] > 0.3).any()
    assert not (heard[int(2.5 * 24_000) + 480 :] > 0).any()
    so_far = bench.model.so_far[2]
    assert so_far.interrupted
    assert so_far.unplayed_samples == 12_000
    assert bench.model.so_far[1].interrupted is False


def test_what_a_unit_brings_that_was_interrupted_in_its_middle_is_not_heard() -> None:
    bench = Bench([])
    told = Told(Event.SPEAK, tone(1.0), last_voiced_sample=8_000)
    bench.model.tell(told)
    interrupting = bench.model._work
    bench.model._work = lambda seconds, error: (interrupting(seconds, error), bench.session.interrupt())[0]  # type: ignore[method-assign]
    record = bench.run(1)[0].record
    bench.model._work = interrupting  # type: ignore[method-assign]
    assert record.response_delay_ms is None  # nobody heard an answer
    bench.run(2, first=1)
    assert bench.playout.counts.pushed == 0
    assert [(so_far.interrupted, so_far.unplayed_samples) for so_far in bench.model.so_far[1:]] == [
        (True, 24_000),
        (False, 0),
    ]


def test_what_could_not_be_heard_in_a_pause_was_not_dropped() -> None:
    bench = Bench([])
    bench.run(2)
    bench.session.resume(60 * 16_000)
    record = bench.run(1, first=60)[0].record
    assert (record.audio.overflows, record.audio.dropped_ms) == (0, 0)
    assert record.deadline_ns == 61 * NS
    assert bench.run(1, first=62)[0].record.audio.dropped_ms == 1000


def test_a_fingerprint_of_the_voice_is_kept_where_it_is_asked_for_and_nowhere_else() -> None:
    told = [Told(), Told(Event.SPEAK, tone(1.0)), Told(Event.SPEAK, tone(1.0)), Told(Event.SPEAK, tone(0.5))]
    private, compared = Bench(told), Bench(told, fingerprints=True)
    assert [unit.record.voice_sha256 for unit in private.run(4)] == [None] * 4
    none, one, same, other = (unit.record.voice_sha256 for unit in compared.run(4))
    assert none is None
    assert one == same == hashlib.sha256(tone(1.0).tobytes()).hexdigest()
    assert other is not None
    assert other != one
