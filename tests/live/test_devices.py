"""Devices that come, go, refuse and hang under a conversation, and settings that change: said, logged, gone on from."""

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.audio.devices import DeviceChoice
from app.audio.state import EchoMode, SoundSettings
from app.live.snapshot import Phase
from app.live.worker import ThreadWorker
from engine.clock import NS
from engine.errors import CadenceError
from engine.step import Event
from engine.timing import Device, Fault
from tests.audio.fake_backend import MIC, SPEAKER, FakeBackend
from tests.fakes import Told, tone
from tests.live.bench import Bench


def test_a_lost_microphone_pauses_the_session_and_a_rescan_goes_on(tmp_path: Path) -> None:
    bench = Bench(tmp_path, [Told(), Told(Event.SPEAK, np.concatenate([tone(1.0)] * 1))])
    polled = bench.watch(until_s=20)
    bench.clock.at(5, lambda: bench.backend.unplug(MIC))
    bench.clock.at(8, bench.conversation.rescan)  # in vain
    bench.clock.at(11, lambda: bench.backend.present.append(MIC))
    bench.clock.at(12, bench.conversation.rescan)
    bench.talk(17)
    lost_s = next(at for at, snapshot in polled if snapshot.phase is Phase.PAUSED)
    assert 5 < lost_s < 6
    paused = [snapshot for at, snapshot in polled if lost_s <= at < 8]
    assert all(snapshot.phase is Phase.PAUSED for snapshot in paused)
    assert MIC.name in paused[0].message
    in_vain = next(snapshot for at, snapshot in polled if at > 8.2)
    assert in_vain.phase is Phase.PAUSED
    assert "there is no microphone" in in_vain.message
    back = [snapshot for at, snapshot in polled if 13 < at < 16.9]
    assert all(snapshot.phase is Phase.TALKING for snapshot in back)
    assert back[0].message == ""
    lines = [record for record in bench.records() if isinstance(record, Device)]
    assert any("is gone" in line.message for line in lines)
    assert any("is back" in line.message for line in lines)
    assert sum("is gone" in line.message for line in lines) == 1  # said once
    records = bench.units()
    assert [unit.arrival_ns for unit in records] == [unit.index * NS for unit in records]  # on the same grid
    jumps = np.diff([unit.index for unit in records])
    assert sorted(jumps)[-1] > 4
    assert sorted(jumps)[-2] == 1
    assert sum(unit.audio.dropped_ms for unit in records) == 0
    assert bench.end().reason == "stopped"


@pytest.mark.parametrize("at_s", [5.6, 6.0, 6.3])
def test_a_rescan_makes_no_unit_late(tmp_path: Path, at_s: float) -> None:
    bench = Bench(tmp_path, [Told(takes_s=0.6)] * 20)
    bench.clock.at(at_s, bench.conversation.rescan)
    bench.talk(12)
    records = bench.units()
    assert len(records) >= 9
    assert max(unit.start_ns - unit.arrival_ns for unit in records) < NS // 50
    assert not any(unit.overrun for unit in records)


def test_a_lost_speaker_cuts_what_was_being_said(tmp_path: Path) -> None:
    bench = Bench(tmp_path, [Told(), Told(Event.SPEAK, tone(1.0)), Told(Event.SPEAK, tone(1.0))])
    bench.clock.at(4.3, lambda: bench.backend.unplug(SPEAKER))
    bench.clock.at(8, lambda: bench.backend.present.append(SPEAKER))
    bench.clock.at(8.1, bench.conversation.rescan)
    bench.talk(12)
    assert sum(so_far.interrupted for so_far in bench.model.so_far) == 1
    assert any(isinstance(record, Device) and SPEAKER.name in record.message for record in bench.records())


def test_a_driver_that_does_not_open_is_said_and_what_it_opens_too_late_is_closed(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.control.at_once = False
    polled = bench.watch(until_s=30, every_s=0.5)
    bench.conversation.start()
    bench.engine.run()
    assert bench.snapshot.phase is Phase.FAILED
    assert "has not opened its devices within 10 s" in bench.snapshot.message
    assert 9 < polled[-1][0] < 12.5
    bench.conversation.start()
    bench.engine.run()
    assert bench.snapshot.phase is Phase.FAILED
    bench.control.run()
    assert not bench.backend.streams  # neither of the two was wanted any more
    bench.control.at_once = True
    assert bench.talk(bench.clock.seconds + 4).phase is Phase.TALKING


def test_what_a_driver_opens_too_late_is_closed(tmp_path: Path) -> None:
    control, is_at_it, lets = ThreadWorker("control"), threading.Event(), threading.Event()
    bench, real = Bench(tmp_path, control=control), FakeBackend.open

    def open_late(*arguments: Any) -> Any:
        is_at_it.set()
        assert lets.wait(10)
        return real(bench.backend, *arguments)

    bench.backend.open = open_late  # type: ignore[method-assign]
    bench.clock.at(1, lambda: is_at_it.wait(10))
    bench.conversation.start()
    bench.engine.run()
    assert bench.snapshot.phase is Phase.FAILED
    lets.set()
    assert control.close(10)
    assert len(bench.backend.streams) == 2
    assert not bench.backend.open_streams


def test_a_driver_that_hangs_as_devices_are_exchanged_pauses_the_session_until_it_has_done_so(tmp_path: Path) -> None:
    control, is_at_it, lets = ThreadWorker("control"), threading.Event(), threading.Event()
    bench, real = Bench(tmp_path, control=control), FakeBackend.open

    def open_late(*arguments: Any) -> Any:
        is_at_it.set()
        assert lets.wait(10)
        return real(bench.backend, *arguments)

    def rescan() -> None:
        bench.backend.open = open_late  # type: ignore[method-assign]
        bench.conversation.rescan()
        assert is_at_it.wait(10)

    bench.clock.at(1, lambda: control.call(lambda: None).result(10))  # opened
    bench.clock.at(4, rescan)
    bench.clock.at(20, lambda: (lets.set(), control.call(lambda: None).result(10)))
    polled = bench.watch(until_s=25, every_s=0.5)
    bench.talk(25)
    assert {snapshot.phase for at, snapshot in polled if 3 < at < 13.5} == {Phase.TALKING}
    paused = [snapshot for at, snapshot in polled if 15 < at < 19.5]
    assert {snapshot.phase for snapshot in paused} == {Phase.PAUSED}
    assert "has not opened its devices within 10 s" in paused[0].message
    assert {snapshot.phase for at, snapshot in polled if 21 < at < 24.5} == {Phase.TALKING}
    assert control.close(10)


def test_a_device_that_does_not_start_is_said_and_left_closed(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    for device in (MIC, SPEAKER):
        bench.backend.of(device).starts = False
        bench.conversation.start()
        bench.engine.run()
        assert bench.snapshot.phase is Phase.FAILED
        assert f"'{device.name}' does not start" in bench.snapshot.message
        assert not bench.backend.open_streams
        bench.conversation.rescan()
        bench.backend.of(device).starts = True
    bench.talk(bench.clock.seconds + 3)


def test_a_driver_that_hangs_at_the_end_of_a_session_is_said_and_never_started_over_beneath(tmp_path: Path) -> None:
    bench, release = Bench(tmp_path), threading.Event()
    bench.backend.of(MIC).hangs = release
    bench.close_s = 0.05
    bench.clock.at(3, lambda: setattr(bench.control, "at_once", False))  # it takes longer than the engine waits for
    bench.talk(3)
    assert bench.snapshot.phase is Phase.IDLE
    bench.control.run()
    bench.control.at_once = True
    closing = [stream.closed_by for stream in bench.backend.streams]
    assert "did not let go" in bench.snapshot.message
    assert [stream.request.device for stream in bench.backend.open_streams] == [MIC]
    bench.conversation.rescan()
    assert bench.backend.starts_over == 0
    assert "the driver hangs" in bench.snapshot.message
    release.set()
    for thread in closing:
        assert thread is not None
        thread.join(5)
    bench.conversation.rescan()
    assert bench.backend.starts_over == 1
    assert not bench.backend.open_streams


def test_devices_are_listed_from_the_beginning_and_looked_for_again_without_a_session(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    assert {device.name for device in bench.conversation.devices().all} == {MIC.name, SPEAKER.name}
    bench.backend.unplug(MIC)
    bench.conversation.rescan()
    assert {device.name for device in bench.conversation.devices().all} == {SPEAKER.name}


def test_settings_that_change_while_it_talks_are_heard_without_ending_it(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.clock.at(3, lambda: change(bench, echo=EchoMode.HALF_DUPLEX, volume=0.25))
    bench.clock.at(4, lambda: change(bench, output_latency_s=0.3))
    bench.clock.at(5, lambda: change(bench, microphone=DeviceChoice("None such", "ALSA")))
    polled = bench.watch(until_s=8)
    bench.clock.at(6, lambda: change(bench))
    bench.talk(8)
    at = {second: next(snapshot for when, snapshot in polled if when > second + 0.5) for second in (3, 4, 5, 6)}
    assert at[3].echo is EchoMode.HALF_DUPLEX
    assert at[3].phase is Phase.TALKING
    assert at[4].speaker.latency_ms == 300
    assert at[5].phase is Phase.PAUSED
    assert "None such" in at[5].message
    assert at[6].phase is Phase.TALKING
    assert at[6].echo is EchoMode.HEADPHONES
    assert len(bench.logs) == 1


def test_a_rescan_keeps_what_the_settings_have_become(tmp_path: Path) -> None:
    bench = Bench(tmp_path, [Told(), *[Told(Event.SPEAK, tone(1.0)) for _ in range(9)]])
    bench.clock.at(3, lambda: change(bench, echo=EchoMode.HALF_DUPLEX, volume=0.25))
    bench.clock.at(5, bench.conversation.rescan)
    polled = bench.watch(until_s=10)
    bench.talk(10)
    assert {snapshot.echo for at, snapshot in polled if 3.1 < at < 9.9} == {EchoMode.HALF_DUPLEX}
    assert np.percentile(np.abs(bench.sounded[SPEAKER.rate_hz :]), 99) == pytest.approx(0.25 * 0.5, abs=0.01)


def change(bench: Bench, **sound: object) -> None:
    bench.settings.change(sound=SoundSettings(**sound))  # type: ignore[arg-type]
    bench.conversation.apply()


def test_what_is_wrong_with_the_sound_is_said_for_as_long_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(rate_hz: int) -> None:
        raise CadenceError("there is no echo canceller")

    monkeypatch.setattr("app.audio.hearing.Canceller", missing)
    bench = Bench(tmp_path)
    bench.backend.of(MIC).wave = lambda seconds: np.where(seconds - bench.clock.begin_ns / NS < 6, 0.0, 0.2)
    bench.settings.change(sound=SoundSettings(echo=EchoMode.CANCELLER))
    polled = bench.watch(until_s=12)
    bench.clock.at(9, lambda: change(bench, echo=EchoMode.HEADPHONES))
    bench.talk(11)
    at = {second: next(snapshot.message for when, snapshot in polled if when >= second) for second in (2, 5, 7, 10)}
    assert ["no echo canceller" in message for message in at.values()] == [True, True, True, False]
    assert ["nothing but zeros" in message for message in at.values()] == [False, True, False, False]
    assert at[10] == bench.snapshot.message == ""
    logged = [record.message for record in bench.records() if isinstance(record, Device)]
    assert sum("nothing but zeros" in line for line in logged) == 1
    assert sum("no echo canceller" in line for line in logged) == 1


def test_a_look_for_devices_that_failed_is_said_until_one_succeeds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise CadenceError("the sound library cannot be started")

    bench = Bench(tmp_path)
    real = bench.backend.start_over
    monkeypatch.setattr(bench.backend, "start_over", fail)
    bench.conversation.rescan()
    assert bench.snapshot.message == "the sound library cannot be started"
    monkeypatch.setattr(bench.backend, "start_over", real)
    bench.conversation.rescan()
    assert bench.snapshot.message == ""


def test_faults_of_the_sound_are_told_and_logged_and_come_in_no_storm(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.backend.of(SPEAKER).flags = True
    talked = bench.talk(7)
    assert talked.faults
    assert len(talked.faults) <= 8
    logged = [record for record in bench.records() if isinstance(record, Fault)]
    assert len(logged) == len(talked.faults)
    assert "speaker: the driver ran dry" in talked.faults[-1].message
    assert "times)" in talked.faults[-1].message
