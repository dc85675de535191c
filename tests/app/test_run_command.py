"""However a session goes, what was asked for is kept, and what went wrong is said in a line."""

import errno
import gc
import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from app import wiring
from app.__main__ import main
from app.headless import PATIENCE_UNITS
from engine.errors import NoRoom
from engine.step import Event
from tests.app.told_model import Stage
from tests.fakes import Told, tone


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, with three seconds of speech in it."""
    monkeypatch.chdir(tmp_path)
    soundfile.write(tmp_path / "q.wav", 0.1 * tone(3, 16_000), 16_000)
    return tmp_path


def run(*options: str) -> int:
    return main(["run", "q.wav", "--out", "r.wav", "--log", "l.jsonl", *options])


def log(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "l.jsonl").read_text().splitlines()]


def at(index: int, do: Callable[[], object]) -> Callable[[int], None]:
    return lambda unit: None if unit != index else (do(), None)[1]


@pytest.mark.usefixtures("stage")
def test_a_session_that_goes_well(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run() == 0
    assert soundfile.info("r.wav").duration == 3.0
    assert [line["type"] for line in log(folder)] == ["session", *["unit"] * 3, "end"]
    assert sorted(os.listdir(folder)) == ["l.jsonl", "q.wav", "r.wav"]
    said = capsys.readouterr()
    assert "second 1" in said.out
    assert "no end" not in said.err
    assert gc.get_freeze_count() == 0


@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129)])
def test_a_session_that_is_stopped_keeps_what_sounded(
    folder: Path, stage: Stage, capsys: pytest.CaptureFixture[str], name: str, code: int
) -> None:
    before = signal.getsignal(getattr(signal, name))
    stage.at = at(2, lambda: os.kill(os.getpid(), getattr(signal, name)))
    assert run() == code
    assert soundfile.info("r.wav").duration == pytest.approx(2.0, abs=0.01)
    assert [line["type"] for line in log(folder)] == ["session", "unit", "unit", "end"]
    assert log(folder)[-1]["reason"] == "stopped"
    said = capsys.readouterr().err.splitlines()
    assert said[-3:] == ["kept as far as it came: r.wav", "kept as far as it came: l.jsonl", "duplexcadence: stopped"]
    assert sorted(os.listdir(folder)) == ["l.jsonl", "q.wav", "r.wav"]
    assert signal.getsignal(getattr(signal, name)) is before
    assert gc.get_freeze_count() == 0


def test_a_session_that_meets_a_limit_keeps_what_sounded(
    folder: Path, stage: Stage, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    real, units = wiring.memory_of, iter(range(10))

    def memory_of(built: Any) -> Any:
        if next(units) == 2:
            raise NoRoom("the arena is full")
        return real(built)

    monkeypatch.setattr(wiring, "memory_of", memory_of)
    assert run() == 1
    assert soundfile.info("r.wav").duration >= 2.0
    assert log(folder)[-1]["reason"].startswith("failed: NoRoom")
    assert capsys.readouterr().err.splitlines()[-1] == "duplexcadence: the arena is full"


def test_a_damaged_recording_keeps_what_sounded(folder: Path, capsys: pytest.CaptureFixture[str], stage: Stage) -> None:
    soundfile.write("q.flac", np.random.default_rng(0).normal(0, 0.1, 160_000), 16_000)
    whole = Path("q.flac").read_bytes()
    Path("q.flac").write_bytes(whole[: len(whole) // 2])
    assert main(["run", "q.flac", "--out", "r.wav"]) == 2
    assert soundfile.info("r.wav").duration >= 3.0
    assert "q.flac is damaged after" in capsys.readouterr().err.splitlines()[-1]


def test_a_fault_is_told_as_it_comes_and_counts(folder: Path, stage: Stage, capsys: pytest.CaptureFixture[str]) -> None:
    stage.told = [Told(), Told(raises=ValueError("no such\nword"))]
    assert run() == 1
    said = capsys.readouterr()
    assert "fault in second 1, ears: ValueError: no such word; the turn was ended" in said.err.splitlines()
    assert "faults  1," in said.out
    assert log(folder)[-1]["faults"] == 1


def test_a_log_that_is_lost_to_a_full_disk_counts(
    folder: Path, stage: Stage, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(writer: wiring.LogWriter, line: bytes) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(wiring.LogWriter, "_append", full)
    assert run() == 1
    said = capsys.readouterr()
    assert "takes no more lines (No space left on device) and is cut short" in said.err
    assert "log      l.jsonl (cut short)" in said.out.splitlines()
    assert soundfile.info("r.wav").duration == 3.0


def test_an_answer_without_an_end_is_said(folder: Path, stage: Stage, capsys: pytest.CaptureFixture[str]) -> None:
    stage.idle = False
    assert run() == 0
    assert len(log(folder)) == 3 + PATIENCE_UNITS + 2
    assert "the answer had no end" in capsys.readouterr().err


@pytest.mark.usefixtures("stage")
def test_a_session_goes_on_when_nobody_reads(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "w", encoding="utf-8") as pipe, monkeypatch.context() as patched:
        patched.setattr("sys.stdout", pipe)
        assert run() == 0
    assert soundfile.info("r.wav").duration == 3.0
    assert log(folder)[-1]["reason"] == "finished"


def test_an_unfinished_reply_of_a_process_that_died_is_swept(folder: Path, stage: Stage) -> None:
    (folder / ".r.wav.999999999.part").write_text("")
    assert run() == 0
    assert sorted(os.listdir(folder)) == ["l.jsonl", "q.wav", "r.wav"]


def test_what_one_session_writes_no_other_takes(folder: Path, stage: Stage) -> None:
    codes: list[int] = []
    stage.at = at(1, lambda: codes.append(second(stage)))
    assert run() == 0
    assert codes == [1]
    assert [line["type"] for line in log(folder)] == ["session", *["unit"] * 3, "end"]


def second(stage: Stage) -> int:
    stage.at, stage.told = lambda _: None, []
    return main(["run", "q.wav", "--log", "l.jsonl"])


@pytest.mark.slow
@pytest.mark.usefixtures("folder", "stage")
def test_speech_in_any_file_name_is_heard(capsys: pytest.CaptureFixture[str]) -> None:
    name = os.fsdecode(b"q \xff\n.wav")
    Path("q.wav").rename(name)
    assert main(["run", name, "--log", f"l{name}.jsonl", "--picture", f"p{name}.png"]) == 0
    said = capsys.readouterr()
    assert "picture  pq ??.wav.png" in said.out.splitlines()
    assert Event.SPEAK.value in Path(f"l{name}.jsonl").read_text()
