"""A recording is a whole WAV at any moment, holds both sides side by side, and a full disk costs it alone."""

import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile
from hypothesis import given, settings
from hypothesis import strategies as some

from app.live import recording as module
from app.live.recording import StereoRecording
from app.live.snapshot import Phase
from engine.errors import NoRoom
from engine.timing import Fault, LogWriter
from tests.audio.fake_backend import MIC
from tests.fakes import tone
from tests.live.bench import Bench

RATE_HZ = 16_000


def full(*_: object) -> None:
    raise OSError(28, "No space left on device")


def begun(path: Path) -> StereoRecording:
    return StereoRecording(path, RATE_HZ, pytest.fail)


@given(some.lists(some.integers(0, 20_000), max_size=6))
@settings(max_examples=20, deadline=None)
def test_every_sample_of_both_sides_is_there(tmp_path_factory: pytest.TempPathFactory, lengths: list[int]) -> None:
    path = tmp_path_factory.mktemp("r") / "r.wav"
    rng = np.random.default_rng(1)
    sides = [rng.uniform(-1, 1, (2, length)).astype(np.float32) for length in lengths]
    recording = begun(path)
    for user, agent in sides:
        recording.write(user, agent)
    recording.close()
    recording.close()
    found, rate_hz = soundfile.read(path, dtype="float32", always_2d=True)
    assert rate_hz == RATE_HZ
    expected = np.concatenate([np.zeros((0, 2)), *(pair.T for pair in sides)])
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_it_is_whole_while_it_is_written(tmp_path: Path) -> None:
    recording = begun(tmp_path / "r.wav")
    assert soundfile.info(tmp_path / "r.wav").frames == 0
    for second in range(1, 4):
        for block in np.split(tone(1.0, RATE_HZ), 50):
            recording.write(block, 0 * block)
        assert soundfile.info(tmp_path / "r.wav").frames == second * RATE_HZ  # as a crash would leave it
    recording.close()


def test_blocks_are_the_writers_to_use_again(tmp_path: Path) -> None:
    recording, block = begun(tmp_path / "r.wav"), np.full(100, 0.5, np.float32)
    recording.write(block, block)
    block.fill(0)
    recording.close()
    assert soundfile.read(tmp_path / "r.wav")[0].min() == pytest.approx(0.5, abs=1e-4)


def test_what_is_too_loud_is_clipped_and_does_not_wrap_round(tmp_path: Path) -> None:
    recording = begun(tmp_path / "r.wav")
    recording.write(np.full(10, 3, np.float32), np.full(10, -3, np.float32))
    recording.close()
    found, _ = soundfile.read(tmp_path / "r.wav")
    assert (found[:, 0] > 0.99).all()
    assert (found[:, 1] < -0.99).all()


def test_a_full_disk_costs_the_recording_and_is_said_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lost: list[NoRoom] = []
    recording = StereoRecording(tmp_path / "r.wav", RATE_HZ, lost.append)
    recording.write(tone(1, RATE_HZ), tone(1, RATE_HZ))
    monkeypatch.setattr(StereoRecording, "_put", full)
    for _ in range(3):
        recording.write(tone(1, RATE_HZ), tone(1, RATE_HZ))
    recording.close()
    assert [str(each) for each in lost] == [
        "the recording takes no more (No space left on device); needed: room on its disk; the conversation goes on "
        "without it"
    ]
    assert soundfile.info(tmp_path / "r.wav").frames == RATE_HZ


@pytest.mark.skipif(sys.platform == "win32", reason="Windows keeps a file that is open where it is")
def test_a_recording_that_goes_while_it_is_written_is_told_once(tmp_path: Path) -> None:
    lost: list[NoRoom] = []
    recording = StereoRecording(tmp_path / "r.wav", RATE_HZ, lost.append)
    recording.write(tone(1, RATE_HZ), tone(1, RATE_HZ))
    assert lost == []
    (tmp_path / "r.wav").unlink()
    for _ in range(3):
        recording.write(tone(1, RATE_HZ), tone(1, RATE_HZ))
    recording.close()
    assert ["not in its place any more" in str(each) for each in lost] == [True]


def test_it_ends_before_its_header_can_count_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_BYTES", 4 * RATE_HZ)
    lost: list[NoRoom] = []
    recording = StereoRecording(tmp_path / "r.wav", RATE_HZ, lost.append)
    for _ in range(3):
        recording.write(tone(1, RATE_HZ), tone(1, RATE_HZ))
    assert len(lost) == 1
    assert soundfile.info(tmp_path / "r.wav").frames == RATE_HZ


def test_what_is_there_is_not_written_over(tmp_path: Path) -> None:
    (tmp_path / "r.wav").write_text("another's")
    with pytest.raises(NoRoom):
        begun(tmp_path / "r.wav")
    assert (tmp_path / "r.wav").read_text() == "another's"


# --- in a session ----------------------------------------------------------------------------------------------------


def test_a_recording_that_is_lost_is_no_longer_said_to_go_on_and_why_outlasts_a_pause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = Bench(tmp_path)
    bench.settings.change(record=True)
    polled = bench.watch(until_s=11)
    bench.clock.at(4.5, lambda: monkeypatch.setattr(StereoRecording, "_put", full))
    bench.clock.at(6, lambda: bench.backend.unplug(MIC))
    bench.clock.at(7, lambda: bench.backend.present.append(MIC))
    bench.clock.at(7.1, bench.conversation.rescan)
    talked = bench.talk(10)
    at = {second: next(snapshot for when, snapshot in polled if when >= second) for second in (4, 6, 9)}
    assert at[4].recording == bench.logs[0].with_name("recording.wav")
    assert at[6].recording is at[9].recording is None
    assert at[9].phase is talked.phase is Phase.TALKING
    for snapshot in (at[6], at[9], bench.snapshot):
        assert sum("the recording takes no more" in fault.message for fault in snapshot.faults) == 1
    assert any(isinstance(record, Fault) and "recording" in record.message for record in bench.records())


def test_a_log_that_is_lost_is_a_fault_that_stays_in_view(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(tmp_path)
    bench.clock.at(3.5, lambda: monkeypatch.setattr(LogWriter, "_append", full))
    talked = bench.talk(8)
    assert [fault.message.count("takes no more lines") for fault in talked.faults] == [1]
    assert talked.figures is not None
    assert talked.figures.faults == 1


def test_a_recording_whose_last_second_finds_no_room_is_said_though_the_session_is_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = Bench(tmp_path)
    bench.settings.change(record=True)
    bench.clock.at(5.9, lambda: monkeypatch.setattr(StereoRecording, "_put", full))
    bench.talk(5.95)
    assert [fault.message.count("the recording takes no more") for fault in bench.snapshot.faults] == [1]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows keeps a file that is open where it is")
@pytest.mark.parametrize("removed_s", [3.5, 7.9])
def test_files_that_somebody_removes_while_they_are_written_are_said_at_the_stop_at_the_latest(
    tmp_path: Path, removed_s: float
) -> None:
    bench = Bench(tmp_path)
    bench.settings.change(record=True)
    bench.clock.at(removed_s, lambda: shutil.rmtree(bench.logs[0].parent))
    talked = bench.talk(8)
    assert talked.phase is Phase.TALKING
    gone = sorted(fault.message.split(" /")[0] for fault in bench.snapshot.faults)
    assert [line[:20] for line in gone] == ["the recording is not", "the timing log"[:20]]
    assert bench.snapshot.recording is None or removed_s > 7
    assert list(bench.folder.iterdir()) == []
