import errno
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.errors import AskedWrongly, NoRoom
from engine.timing import AudioRecord, End, Fault, LogWriter, Record, Transcript, read_log
from engine.timing.writer import line_of
from tests.made_up_sessions import conversation, header, records, unit, write

SCHEMA = json.loads((Path(__file__).parents[2] / "engine/timing.schema.json").read_text())
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def no_loss(error: NoRoom) -> None:
    raise error


@given(st.lists(records, max_size=6))
@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_line_of_any_log_is_valid_against_the_schema_that_ships(tmp_path: Path, some: list[Record]) -> None:
    written = lines(write(tmp_path / "log.jsonl", some, transcript=True))
    assert [line["type"] for line in written] == [
        "session",
        *(type(r).__name__.lower().replace("record", "") for r in some),
        "end",
    ]
    for line in written:
        VALIDATOR.validate(line)


def test_the_schema_refuses_what_is_not_a_line() -> None:
    line = json.loads(line_of(unit(0)))
    assert VALIDATOR.is_valid(line)
    for change in ({"slack_ms": None}, {"event": "TALK"}, {"index": -1}, {"stages": None}, {"path": "/x"}):
        assert not VALIDATOR.is_valid(line | change)
    for key in line:
        assert not VALIDATOR.is_valid({k: v for k, v in line.items() if k != key})


def test_a_unit_states_its_slack_and_its_overrun() -> None:
    early, late = json.loads(line_of(unit(3))), json.loads(line_of(unit(3, work=[("words", 1100.0)])))
    assert early["slack_ms"] == pytest.approx((early["deadline_ns"] - early["finish_ns"]) / 1e6)
    assert (early["overrun"], late["overrun"]) == (False, True)
    assert late["slack_ms"] < 0
    assert "response_delay_ms" not in early
    assert "gpu" not in early


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), float("-inf")])
def test_a_number_that_json_has_no_word_for_is_never_written(tmp_path: Path, bad: float) -> None:
    path = tmp_path / "log.jsonl"
    with LogWriter(path, header(), on_lost=no_loss) as log:
        with pytest.raises(ValueError, match="JSON"):
            log.write(unit(0, audio=AudioRecord(gap_ms=bad)))
        log.write(unit(0))
    assert [line["type"] for line in lines(path)] == ["session", "unit", "end"]
    assert lines(path)[-1]["units"] == 1  # a unit that was not written is not counted


def test_each_line_is_on_the_disk_as_soon_as_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    with LogWriter(path, header(), on_lost=no_loss) as log:
        for index in range(3):
            log.write(unit(index))
            assert len(lines(path)) == index + 2


def test_the_end_line_adds_up(tmp_path: Path) -> None:
    some = [
        unit(0),
        unit(1, "SPEAK", [("words", 1200.0)], audio=AudioRecord(gap_ms=12.5, underflows=1)),
        Fault(index=1, at_ns=5, stage="words", message="it raised"),
        unit(2, "FLUSH", audio=AudioRecord(gap_ms=2.5, dropped_ms=7, overflows=2)),
    ]
    end = lines(write(tmp_path / "log.jsonl", some))[-1]
    assert (end["units"], end["listen"], end["speak"], end["flush"]) == (3, 1, 1, 1)
    assert (end["overruns"], end["faults"], end["resets"]) == (1, 1, 0)
    assert (end["gap_ms"], end["underflows"], end["dropped_ms"], end["overflows"]) == (15, 1, 7, 2)
    assert end["least_slack_ms"] == min(r.slack_ms for r in some if not isinstance(r, Fault))
    assert end["reason"] == "finished"


@pytest.mark.parametrize(
    ("error", "reason"),
    [(RuntimeError("the GPU was lost"), "failed: RuntimeError: the GPU was lost"), (KeyboardInterrupt(), "stopped")],
)
def test_a_session_that_fails_still_closes_its_log(tmp_path: Path, error: BaseException, reason: str) -> None:
    path = tmp_path / "log.jsonl"

    def session() -> None:
        with LogWriter(path, header(), on_lost=no_loss) as log:
            log.write(unit(0))
            raise error

    with pytest.raises(type(error)):
        session()
    assert lines(path)[-1]["reason"] == reason


def test_a_transcript_is_written_only_where_it_was_asked_for(tmp_path: Path) -> None:
    said = Transcript(index=0, who="user", text="my secret is under /home/jo", kind="heard")
    without = write(tmp_path / "a.jsonl", [unit(0), said])
    asked = write(tmp_path / "b.jsonl", [unit(0), said], transcript=True)
    assert b"secret" not in without.read_bytes()
    assert lines(asked)[2] == {
        "type": "transcript",
        "index": 0,
        "who": "user",
        "text": said.text,
        "kind": "heard",
        "source": "",
    }


def test_no_folder_reaches_the_log(tmp_path: Path) -> None:
    head = header(device=f"cpu of {tmp_path}/x")
    fault = Fault(index=0, at_ns=1, stage="voice", message=f"[Errno 2] No such file: '{tmp_path}/voice.onnx'")
    path = write(tmp_path / "log.jsonl", [fault], head)
    assert str(tmp_path).encode() not in path.read_bytes()
    assert b"voice.onnx" in path.read_bytes()


class FullDisk:
    """A raw file on a disk with room for so many bytes."""

    def __init__(self, file: Any, room: int) -> None:
        self._file, self._room = file, room

    def write(self, data: memoryview) -> int:
        if not self._room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        taken = self._file.write(data[: self._room])
        self._room -= taken
        return taken

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


@given(st.integers(0, 5000))
@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_full_disk_costs_the_log_and_not_the_session(tmp_path: Path, room: int) -> None:
    path, told = tmp_path / "log.jsonl", []
    with LogWriter(path, header(), on_lost=told.append) as log:
        log._file = FullDisk(log._file, room)
        for index in range(10):
            log.write(unit(index))
    whole = path.read_bytes()
    assert whole.endswith(b"\n")  # nothing half-written
    kept = sum(line["type"] == "unit" for line in lines(path))
    assert [r.index for r in read_log(path).units()] == list(range(kept))
    assert told == [log.lost]
    assert "is cut short" in str(told[0])
    assert "goes on without a log" in str(told[0])


@contextmanager
def files_of_at_most_100_bytes() -> Iterator[None]:
    """A disk that takes less than a log's first line; only around what is tested, for the runner writes files too."""
    resource = pytest.importorskip("resource", reason="this system cannot limit a file's size")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def removed(path: Path) -> None:
    shutil.rmtree(path.parent)


def moved(path: Path) -> None:
    path.parent.rename(path.parent.with_name("wastebasket"))


def replaced(path: Path) -> None:
    path.unlink()
    path.write_text("another's")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows keeps a file that is open where it is")
@pytest.mark.parametrize("goes", [removed, moved, replaced])
@pytest.mark.parametrize("after", [1, 0])
def test_a_log_that_goes_while_it_is_written_is_told_once_with_the_next_line(
    tmp_path: Path, goes: Callable[[Path], None], after: int
) -> None:
    """Or with the last, at the latest."""
    told: list[str] = []
    (tmp_path / "s").mkdir()
    path = tmp_path / "s" / "log.jsonl"
    with LogWriter(path, header(), on_lost=lambda lost: told.append(str(lost))) as log:
        log.write(unit(0))
        assert told == []
        goes(path)
        for index in range(1, 1 + after):
            log.write(unit(index))
            assert len(told) == 1
    assert len(told) == 1
    assert "not in its place any more" in told[0]


def test_a_log_that_cannot_begin_says_so_at_once(tmp_path: Path) -> None:
    with pytest.raises(NoRoom, match=r"cannot be begun \(No such file"):
        LogWriter(tmp_path / "no such folder" / "log.jsonl", header(), on_lost=no_loss)


def test_a_disk_full_from_the_start_spares_the_older_log(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text("an older log")
    with files_of_at_most_100_bytes(), pytest.raises(NoRoom, match="cannot be begun"):
        LogWriter(path, header(), on_lost=no_loss)
    assert path.read_text() == "an older log"
    assert os.listdir(tmp_path) == ["log.jsonl"]


def test_a_device_is_no_place_for_a_log() -> None:
    with pytest.raises(AskedWrongly, match="it is no file"):
        LogWriter(Path(os.devnull), header(), on_lost=no_loss)
    assert not Path(os.devnull).is_file()


def test_two_sessions_never_write_one_log(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    with LogWriter(path, header(), on_lost=no_loss) as log:
        log.write(unit(0))
        with pytest.raises(NoRoom):
            LogWriter(path, header(), on_lost=no_loss)
        log.write(unit(1))
    assert [line["type"] for line in lines(path)] == ["session", "unit", "unit", "end"]
    assert os.listdir(tmp_path) == ["log.jsonl"]
    write(path, [unit(0)])  # it is free again
    assert len(lines(path)) == 3


def test_totals_can_be_read_while_it_runs(tmp_path: Path) -> None:
    with LogWriter(tmp_path / "log.jsonl", header(), on_lost=no_loss) as log:
        for record in conversation(20):
            log.write(record)
        running = log.totals
    assert read_log(log.path).end == running
    assert isinstance(running, End)
