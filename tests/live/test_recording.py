"""A recording is a whole WAV at any moment, holds both sides side by side, and a full disk costs it alone."""

from pathlib import Path

import numpy as np
import pytest
import soundfile
from hypothesis import given, settings
from hypothesis import strategies as some

from app.live import recording as module
from app.live.recording import StereoRecording
from engine.errors import NoRoom
from tests.fakes import tone

RATE_HZ = 16_000


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

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(StereoRecording, "_put", full)
    for _ in range(3):
        recording.write(tone(1, RATE_HZ), tone(1, RATE_HZ))
    recording.close()
    assert [str(each) for each in lost] == [
        "the recording takes no more (No space left on device); needed: room on its disk; the conversation goes on "
        "without it"
    ]
    assert soundfile.info(tmp_path / "r.wav").frames == RATE_HZ


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
