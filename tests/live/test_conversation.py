"""Commands and what comes of them: phases, logs, devices, the voice; time, devices and threads are moved by hand."""

import gc
import sys
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import soundfile

from app import wiring
from app.audio.state import NO_STREAM
from app.audio.voice import Voice
from app.live.snapshot import Listening, Phase
from engine.clock import NS
from engine.errors import MissingWeights
from engine.models.registry import Built
from engine.step import Event, Said
from engine.timing import MemoryRecord
from tests.audio.fake_backend import MIC, SPEAKER
from tests.fakes import Told, tone
from tests.live.bench import Bench


def phases(polled: list[tuple[float, object]]) -> list[Phase]:
    found: list[Phase] = []
    for _, snapshot in polled:
        if not found or found[-1] is not snapshot.phase:  # type: ignore[attr-defined]
            found.append(snapshot.phase)  # type: ignore[attr-defined]
    return found


# --- from start to stop ----------------------------------------------------------------------------------------------


def test_it_loads_opens_talks_and_stops_with_everything_closed(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.loader.load_s = 1.0
    polled = bench.watch()
    talked = bench.talk(8)
    assert [phase for phase in phases(polled) if phase is not Phase.IDLE] == [Phase.LOADING, Phase.TALKING]
    assert talked.phase is Phase.TALKING
    assert talked.header is not None
    assert talked.header.model == "told"
    assert [unit.index for unit in talked.units] == list(range(len(talked.units)))
    assert len(talked.units) in (5, 6)
    assert talked.figures is not None
    assert talked.figures.units == len(talked.units)
    assert talked.paths == {"eager": len(talked.units)}
    assert (talked.microphone.device, talked.speaker.device) == (MIC.name, SPEAKER.name)
    assert talked.hearing
    assert talked.log == bench.logs[0]
    after = bench.snapshot
    assert (after.phase, after.message, after.microphone, after.speaker) == (Phase.IDLE, "", NO_STREAM, NO_STREAM)
    assert after.units == talked.units  # what was stays to be looked at
    assert not bench.backend.open_streams
    assert (bench.end().reason, bench.end().units) == ("stopped", len(talked.units))


def test_units_arrive_on_the_microphones_grid_a_second_apart(tmp_path: Path) -> None:
    bench = Bench(tmp_path, [Told(takes_s=0.3), Told(takes_s=1.4), Told(takes_s=0.2)])
    bench.talk(8)
    records = bench.units()
    assert [unit.arrival_ns for unit in records] == [unit.index * NS for unit in records]
    assert all(unit.start_ns >= unit.arrival_ns for unit in records)
    assert [unit.overrun for unit in records[:4]] == [False, True, False, False]
    assert all(unit.start_ns - unit.arrival_ns < NS // 50 for unit in records[3:])
    assert [index for index, _ in bench.model.heard] == [unit.index for unit in records]


def test_what_the_model_says_sounds_when_it_is_due_at_the_ear(tmp_path: Path) -> None:
    said = [Told(), Told(Event.SPEAK, tone(1.0), takes_s=0.4, last_voiced_sample=24_000), Told(Event.SPEAK, tone(0.5))]
    bench = Bench(tmp_path, said)
    bench.talk(8)
    header, spoke = bench.records()[0], bench.units()[1]
    loud = np.flatnonzero(np.abs(bench.sounded) > 0.05)
    assert np.diff(loud).max() < 480  # no gap in the voice
    length_s = (loud[-1] - loud[0]) / SPEAKER.rate_hz
    assert length_s == pytest.approx(1.5, abs=0.02)
    assert spoke.audio.gap_ms == 0
    lead_ms = header.settings["speaker_lead_ms"]  # type: ignore[union-attr]
    # The voice ended half a second before its second did; the answer sounds a second and the lead after that.
    assert spoke.response_delay_ms == pytest.approx(500 + 1000 + lead_ms, abs=30)


def test_a_running_unit_is_seen_stage_by_stage_and_the_next_is_waited_for(tmp_path: Path) -> None:
    bench = Bench(tmp_path, [Told(takes_s=0.4)])
    polled = bench.watch()
    bench.talk(4)
    running = [(at, snapshot.running) for at, snapshot in polled if snapshot.running is not None]
    working = [unit for _, unit in running if unit.index == 0 and unit.start_ns is not None]
    assert working
    assert {unit.stage for unit in working} == {"ears"}
    waiting = [unit for _, unit in running if unit.index == 1 and unit.start_ns is None]
    assert waiting
    assert {unit.arrival_ns for unit in waiting} == {NS}
    assert {unit.deadline_ns for unit in waiting} == {2 * NS}


def test_a_transcript_is_shown_and_logged_only_where_it_was_asked_for(tmp_path: Path) -> None:
    for asked in (False, True):
        bench = Bench(tmp_path / str(asked))
        bench.settings.change(log_transcript=asked)
        inner = bench.model.unit

        def unit(chunk, so_far, inner=inner):  # type: ignore[no-untyped-def]
            outcome = yield from inner(chunk, so_far)
            return replace(outcome, transcript=(Said("user", f"second {chunk.index}", "heard"),))

        bench.model.unit = unit  # type: ignore[method-assign]
        talked = bench.talk(5)
        assert [(line.number, line.unit, line.text) for line in talked.lines[:2]] == [
            (0, 0, "second 0"),
            (1, 1, "second 1"),
        ]
        assert bool(bench.lines("transcript")) is asked


# --- stopping --------------------------------------------------------------------------------------------------------


def test_a_stop_in_the_middle_of_a_unit_ends_it_at_the_next_stage(tmp_path: Path) -> None:
    bench = Bench(tmp_path, [Told(), Told(Event.SPEAK, tone(1.0), takes_s=0.5, words=3)])
    stopped: list[float] = []
    bench.model.at = lambda index: (
        bench.clock.later(0.1, lambda: (stopped.append(bench.clock.seconds), bench.conversation.stop()))
        if index == 1
        else None
    )
    bench.conversation.start()
    bench.engine.run()
    assert bench.snapshot.phase is Phase.IDLE
    assert bench.clock.seconds - stopped[0] < 2
    assert len(bench.units()) == 1  # the second was not finished
    assert bench.end().reason == "stopped"
    assert np.abs(bench.sounded).max() < 0.01


def test_a_stop_that_a_stage_holds_up_is_done_within_two_seconds_all_the_same(tmp_path: Path) -> None:
    bench = Bench(tmp_path, [Told(), Told(Event.SPEAK, tone(1.0), takes_s=9.0)])
    polled = bench.watch(until_s=30)
    stopped: list[float] = []
    bench.model.at = lambda index: (
        bench.clock.later(0.1, lambda: (stopped.append(bench.clock.seconds), bench.conversation.stop()))
        if index == 1
        else None
    )
    ended_with: list[str] = []
    bench.clock.at(7, lambda: ended_with.append(bench.end().reason))
    bench.conversation.start()
    bench.engine.run()
    (stop_s,) = stopped
    idle_s = next(at for at, snapshot in polled if at > stop_s and snapshot.phase is Phase.IDLE)
    assert idle_s - stop_s < 2
    assert ended_with == ["stopped"]  # the log was closed long before the stage came back
    assert bench.clock.seconds > 9
    assert len(bench.units()) == 1  # and what it brought is in no log
    assert not bench.backend.open_streams
    bench.model.at = lambda index: None
    bench.clock.at(bench.clock.seconds + 4, bench.conversation.stop)
    bench.conversation.start()
    bench.engine.run()
    assert len(bench.logs) == 2
    assert bench.units()


def test_a_stop_while_the_model_loads_is_done_and_the_load_is_not_lost(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.loader.load_s = 5.0
    polled = bench.watch(until_s=20)
    bench.clock.at(1, bench.conversation.stop)
    bench.conversation.start()
    bench.engine.run()
    idle_s = next(at for at, snapshot in polled if at > 1.01 and snapshot.phase is Phase.IDLE)
    assert idle_s < 3
    assert "will be there when you start again" in next(s for at, s in polled if at >= idle_s).message
    assert bench.snapshot.phase is Phase.IDLE
    assert bench.logs == []
    assert bench.loader.loads == 1


def test_a_driver_that_hangs_at_closing_does_not_hold_up_a_stop(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.clock.at(4, lambda: setattr(bench.control, "at_once", False))  # nothing that it is asked for comes to an end
    bench.clock.at(4.1, bench.conversation.stop)
    bench.conversation.start()
    bench.engine.run()
    assert bench.snapshot.phase is Phase.IDLE
    assert bench.clock.seconds < 4.1 + 2
    assert bench.end().reason == "stopped"


def test_a_start_right_after_a_stop_talks_again(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.clock.at(3, lambda: (bench.conversation.stop(), bench.conversation.start()))
    bench.clock.at(7, bench.conversation.stop)
    bench.conversation.start()
    bench.engine.run()
    assert [bench.end(log).reason for log in range(2)] == ["stopped", "stopped"]
    assert bench.snapshot.phase is Phase.IDLE
    assert bench.loader.loads == 2  # asked for, not loaded: the loader keeps it


def test_a_restart_forgets_the_conversation_and_keeps_the_model(tmp_path: Path) -> None:
    bench = Bench(tmp_path, [Told(Event.SPEAK, tone(1.0)) for _ in range(4)])
    bench.clock.at(3.2, bench.conversation.restart)
    talked = bench.talk(8)
    assert len(bench.logs) == 2
    assert bench.end(0).reason == "stopped"
    assert bench.model.begun == 2
    assert talked.units[0].index == 0
    assert talked.log == bench.logs[1]
    assert bench.units()[0].arrival_ns == 0


def test_commands_that_mean_nothing_now_do_nothing(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    for command in (bench.conversation.stop, bench.conversation.stop_speaking, bench.conversation.play_test):
        command()
    bench.conversation.mute(True)
    bench.conversation.hold(True)
    bench.conversation.apply()
    assert bench.snapshot.phase is Phase.IDLE
    assert bench.engine.jobs == []
    bench.conversation.mute(False)
    bench.clock.at(2, bench.conversation.start)  # it talks already
    bench.talk(4)
    assert len(bench.logs) == 1


def test_after_close_nothing_begins_and_the_interpreter_is_as_it_was(tmp_path: Path) -> None:
    switch_s = sys.getswitchinterval()
    bench = Bench(tmp_path)
    inside: list[tuple[float, bool, int]] = []
    bench.clock.at(3, lambda: inside.append((sys.getswitchinterval(), gc.isenabled(), gc.get_freeze_count())))
    bench.clock.at(4, bench.conversation.close)
    bench.conversation.start()
    bench.engine.run()
    assert inside[0][0] < switch_s
    assert inside[0][1] is False
    assert inside[0][2] > 0
    assert bench.end().reason == "stopped"
    bench.conversation.start()
    assert bench.engine.jobs == []
    assert (sys.getswitchinterval(), gc.isenabled(), gc.get_freeze_count()) == (switch_s, True, 0)


# --- what goes wrong -------------------------------------------------------------------------------------------------


def test_what_the_user_can_mend_is_said_in_a_line_and_the_next_start_tries_again(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.loader.error = MissingWeights("the weights are not here", "a network", "connect and start again")
    bench.conversation.start()
    bench.engine.run()
    assert bench.snapshot.phase is Phase.FAILED
    assert bench.snapshot.message == "the weights are not here; needed: a network; connect and start again"
    bench.loader.error = None
    assert bench.talk(bench.clock.seconds + 3).message == ""


def test_without_a_microphone_it_says_so(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.backend.unplug(MIC)
    bench.backend.listed.remove(MIC)
    bench.conversation.start()
    bench.engine.run()
    assert bench.snapshot.phase is Phase.FAILED
    assert "there is no microphone" in bench.snapshot.message
    assert not bench.backend.open_streams
    assert bench.logs == []
    assert not bench.folder.exists() or list(bench.folder.iterdir()) == []


def test_an_error_of_ours_ends_the_session_with_its_log_closed_and_is_handed_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench, real, left = Bench(tmp_path), wiring.memory_of, iter(range(2))

    def memory_of(built: Built) -> MemoryRecord:
        if next(left, None) is None:
            raise ValueError("a thing\nthat nobody foresaw")
        return real(built)

    monkeypatch.setattr(wiring, "memory_of", memory_of)
    bench.engine.raising = True
    bench.conversation.start()
    bench.engine.run()
    assert [type(error) for error in bench.engine.raised] == [ValueError]
    after = bench.snapshot
    assert after.phase is Phase.FAILED
    assert after.message == "an error in the program ended it (ValueError: a thing that nobody foresaw)"
    assert bench.end().reason.startswith("failed: ValueError")
    assert not bench.backend.open_streams
    assert after.units  # what was stays to be looked at
    monkeypatch.setattr(wiring, "memory_of", real)
    bench.engine.raised.clear()
    bench.talk(bench.clock.seconds + 3)
    assert len(bench.logs) == 2


def test_a_stage_that_raises_costs_the_turn_alone(tmp_path: Path) -> None:
    bench = Bench(tmp_path, [Told(), Told(raises=RuntimeError("unwell")), Told()])
    talked = bench.talk(6)
    assert talked.phase is Phase.TALKING
    assert [fault.stage for fault in talked.faults] == ["ears"]
    assert bench.end().faults == 1


def test_an_engine_that_falls_far_behind_drops_the_oldest_and_counts_it(tmp_path: Path) -> None:
    bench = Bench(tmp_path, [Told(), Told(takes_s=14.0)])
    bench.talk(24)
    dropped_ms = sum(unit.audio.dropped_ms for unit in bench.units())
    assert dropped_ms > 1000
    heard = sum(len(samples) for _, samples in bench.model.heard)
    last = bench.units()[-1].index
    assert heard / 16 + dropped_ms == pytest.approx(1000 * (last + 1))  # every sample was heard or is counted
    assert bench.units()[-1].slack_ms > 900  # and it has caught up


# --- the microphone and the voice ------------------------------------------------------------------------------------


def loud(seconds: np.ndarray) -> np.ndarray:
    return np.full(len(seconds), 0.3)


def heard_share(bench: Bench) -> list[float]:
    """How much of each second the model heard."""
    return [round(float((np.abs(samples) > 0.1).mean()), 1) for _, samples in bench.model.heard]


def test_what_is_said_while_muted_is_not_heard(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.backend.of(MIC).wave = loud
    polled = bench.watch(until_s=10)
    bench.clock.at(4, lambda: bench.conversation.mute(True))
    bench.clock.at(6.2, lambda: bench.conversation.mute(False))
    bench.talk(10)
    closed_s = sum(1 - share for share in heard_share(bench)[1:])
    assert closed_s == pytest.approx(2.2, abs=0.2)
    assert all(s.muted and not s.hearing for at, s in polled if 4.05 < at < 6.15)
    assert all(s.hearing and not s.muted for at, s in polled if 6.3 < at < 9.5)


@pytest.mark.parametrize("listening", [Listening.HOLD, Listening.TOGGLE])
def test_the_talk_key_opens_the_microphone(tmp_path: Path, listening: Listening) -> None:
    bench = Bench(tmp_path)
    bench.settings.change(listening=listening)
    bench.backend.of(MIC).wave = loud
    bench.clock.at(4, lambda: bench.conversation.hold(True))
    bench.clock.at(4.5, lambda: bench.conversation.hold(True))  # a key that repeats
    bench.clock.at(6, lambda: bench.conversation.hold(False))
    bench.clock.at(7, lambda: bench.conversation.hold(True))
    bench.clock.at(7.1, lambda: bench.conversation.hold(False))
    talked = bench.talk(10)
    assert talked.listening is listening
    open_s = sum(heard_share(bench))
    assert open_s == pytest.approx(2.1 if listening is Listening.HOLD else 3.0, abs=0.3)


def test_stop_speaking_is_silent_within_a_block_and_the_turn_ends(tmp_path: Path) -> None:
    bench = Bench(tmp_path, [Told(), *[Told(Event.SPEAK, tone(1.0), takes_s=0.3) for _ in range(3)]])
    cut: list[float] = []

    def stop_speaking() -> None:
        cut.append(bench.clock.seconds)
        bench.conversation.stop_speaking()

    # In the middle of the third unit: its own second is still to come, and must not sound.
    bench.model.at = lambda index: bench.clock.later(0.15, stop_speaking) if index == 2 else None
    bench.talk(9)
    loud_frames = np.flatnonzero(np.abs(bench.sounded) > 0.001)
    times = bench.sounded_at(loud_frames)
    (cut_s,) = cut
    latency_s = 0.2  # what the driver holds already sounds on
    until = times[times < cut_s + 1.0]
    assert len(until)
    assert until[-1] < cut_s + latency_s + 0.05
    told = bench.model.so_far
    assert [so_far.interrupted for so_far in told[:5]] == [False, False, False, True, False]
    assert told[3].unplayed_samples > 24_000  # the second that was cut, and the one that came in that unit
    assert bench.units()[2].response_delay_ms is None


def test_to_stop_speaking_waits_for_nothing_that_the_engine_does_between_units(tmp_path: Path) -> None:
    """A disk that does not take what is recorded holds the engine up, and no key."""
    bench = Bench(tmp_path, [Told(), *[Told(Event.SPEAK, tone(1.0)) for _ in range(9)]])
    cut: list[float] = []

    def write(user: np.ndarray, agent: np.ndarray) -> None:
        if bench.clock.seconds < 5 or cut:
            return
        key = threading.Thread(target=bench.conversation.stop_speaking)
        key.start()
        key.join(5)
        assert not key.is_alive(), "it waited"
        cut.append(bench.clock.seconds)

    bench.clock.at(4, lambda: setattr(bench.sound, "tap", write))
    bench.talk(8)
    times = bench.sounded_at(np.flatnonzero(np.abs(bench.sounded) > 0.001))
    until = times[times < cut[0] + 0.8]  # then comes what the next unit says
    assert cut[0] < until[-1] < cut[0] + 0.25
    assert sum(so_far.interrupted for so_far in bench.model.so_far) == 1


def test_to_stop_speaking_while_a_units_voice_is_pushed_leaves_that_unsaid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = [Told(), *[Told(Event.SPEAK, tone(1.0), takes_s=0.5) for _ in range(2)]]
    bench, real, cut = Bench(tmp_path, said), Voice.push, [0.0]

    def push(voice: Voice, samples: np.ndarray, due_ns: int) -> None:
        if len(bench.model.so_far) == 3 and not cut[0]:
            cut[0] = bench.clock.seconds
            key = threading.Thread(target=bench.conversation.stop_speaking)
            key.start()
            key.join(5)
            assert not key.is_alive(), "it waited"
        real(voice, samples, due_ns)

    monkeypatch.setattr(Voice, "push", push)
    bench.talk(8)
    times = bench.sounded_at(np.flatnonzero(np.abs(bench.sounded) > 0.001))
    assert times[-1] < cut[0] + 0.25
    told = bench.model.so_far
    assert [so_far.interrupted for so_far in told[:5]] == [False, False, False, True, False]
    assert told[3].unplayed_samples > 24_000  # the rest of the second that sounded, and all of this one


def test_both_sides_are_recorded_where_the_user_asked_for_it(tmp_path: Path) -> None:
    bench = Bench(tmp_path, [Told(), Told(Event.SPEAK, tone(1.0)), Told(Event.SPEAK, tone(1.0))])
    bench.backend.of(MIC).wave = lambda seconds: np.where(seconds % 2 < 1, 0.3, 1e-6)
    bench.settings.change(record=True)
    talked = bench.talk(9)
    assert talked.recording is not None
    sound, rate_hz = soundfile.read(talked.recording)
    assert rate_hz == 16_000
    assert sound.shape[1] == 2
    assert len(sound) / 16_000 == pytest.approx(bench.units()[-1].index + 1.5, abs=1)
    user, agent = sound.T
    assert (np.abs(user) > 0.2).mean() == pytest.approx(0.5, abs=0.1)
    assert (np.abs(agent) > 0.01).sum() / 16_000 == pytest.approx(2.0, abs=0.1)
    assert Bench(tmp_path / "other").talk(3).recording is None


def test_nobody_waits_in_a_session_where_nobody_spoke_and_dead_air_is_seen_where_somebody_did(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    polled = bench.watch(until_s=8)

    def at(index: int) -> None:
        bench.model.awaited_since = 24_000 if 1 <= index < 4 else None

    bench.model.at = at
    bench.talk(8)
    dead_ms = [snapshot.dead_air_ms for _, snapshot in polled]
    assert dead_ms[0] == 0
    assert max(dead_ms) > 2500
    assert dead_ms[-1] == 0
