import json
import os
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.errors import BadLog
from engine.timing import End, Record, read_log
from engine.timing.privacy import scrubbed
from engine.timing.writer import line_of
from tests.made_up_sessions import conversation, header, records, unit, write


def clean(record: Record) -> Any:
    return scrubbed(record.as_json())


@given(st.lists(records, max_size=6))
@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_was_written_is_read_again(tmp_path: Path, some: list[Record]) -> None:
    log = read_log(write(tmp_path / "log.jsonl", some, transcript=True))
    first, *middle, last = log.records()
    assert (first, last) == (header(), log.end)
    assert isinstance(last, End)
    assert [clean(record) for record in middle] == [clean(record) for record in some]
    assert log.caveat == ""


@given(st.integers(1, 4000))
@settings(deadline=None, max_examples=120, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_log_cut_anywhere_after_its_first_line_keeps_every_whole_line(tmp_path: Path, cut: int) -> None:
    path = write(tmp_path / "log.jsonl", [unit(index) for index in range(4)])
    whole = path.read_bytes()
    first = len(whole.splitlines(keepends=True)[0])
    kept = whole[: max(first, len(whole) - cut)]
    path.write_bytes(kept)
    log = read_log(path)
    rest = kept[first:].split(b"\n")
    complete = [line for line in rest if line and _is_json(line)]
    assert len(list(log.records())) == 1 + len(complete)
    assert log.cut_short == bool(rest[-1] and not _is_json(rest[-1]))
    assert ("cut short" in log.caveat) == log.cut_short
    if not log.cut_short and log.end is None:
        assert "no end line" in log.caveat


@pytest.mark.parametrize("some", [[], [unit(0), unit(1)]])
def test_a_byte_order_mark_before_the_first_line_is_no_part_of_it(tmp_path: Path, some: list[Record]) -> None:
    path = write(tmp_path / "log.jsonl", some)
    plain = list(read_log(path).records())
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    log = read_log(path)
    assert list(log.records()) == plain
    assert (log.end, log.caveat) == (plain[-1], "")


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "is empty"),
        (b"\n\n", "is empty"),
        (b"RIFF\x00\x00\x00\x00WAVE", "is no timing log"),
        (b"\xff\xfe\x00\x01" * 100, "is no timing log"),
        (b"[" * 100_000, "is no timing log"),
        (b"{}\n", "is no timing log"),
        (b"[]\n", "is no timing log"),
        (line_of(header())[:40], "was cut short in its first line"),
        (line_of(unit(0)), "is no timing log"),
        (b'{"type":"x","schema":1}\n', "begins with a line of the type 'x'"),
        (b'{"type":"session","schema":2,"whatever":1}\n', "is of log schema 2"),
        (b'{"type":"session","schema":1}\n', "line 1 is not of log schema 1"),
    ],
)
def test_what_is_no_log_of_this_schema_is_refused_in_one_line(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(content)
    with pytest.raises(BadLog, match=says) as refused:
        read_log(path)
    assert "\n" not in str(refused.value)
    assert refused.value.exit_code == 2


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (b"{}\n", "line 3"),
        (b'{"type":"news"}\n', "line 3"),
        (line_of(unit(1))[:90] + b"\n", "line 3"),  # cut, and then written on
        (line_of(unit(1)).replace(b"LISTEN", b"SINGING"), r"line 3.*event"),
        (line_of(unit(1)).replace(b'"ticks":1', b'"ticks":"1"'), r"line 3.*ticks"),
        (line_of(unit(1)).replace(b'"ticks":1', b'"ticks":NaN'), "line 3"),
        (line_of(unit(1)).replace(b'"ticks":1', b'"ticks":' + b"9" * 30), "line 3"),
        (b'{"type":"unit","more":' + b"[" * 100_000 + b"]" * 100_000 + b"}\n", "line 3"),
        (line_of(header()), "line 3.*second session"),
    ],
)
def test_a_whole_line_that_is_wrong_is_named(tmp_path: Path, line: bytes, says: str) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(line_of(header()) + line_of(unit(0)) + line + line_of(unit(2)))
    log = read_log(path)
    with pytest.raises(BadLog, match=says):
        list(log.records())


def test_a_file_that_is_not_there_or_is_a_folder_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "none.jsonl", tmp_path):
        with pytest.raises(BadLog, match="cannot be opened"):
            read_log(path)


@pytest.mark.skipif(sys.platform == "win32", reason="no such files there")
def test_a_pipe_or_a_device_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "log.jsonl")  # whose reader would wait for somebody who writes
    for path in (tmp_path / "log.jsonl", Path("/dev/zero")):
        with pytest.raises(BadLog, match="it is no plain file"):
            read_log(path)


def test_a_line_without_an_end_does_not_fill_the_memory(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    with path.open("wb") as file:
        file.write(line_of(header()))
        file.truncate(64 << 20)  # zeros that take no disk
    log = read_log(path)
    with pytest.raises(BadLog, match=r"line 2.*longer than 16 MiB"):
        list(log.records())


@pytest.mark.slow
def test_a_hundred_megabytes_are_read_in_the_memory_of_a_few(tmp_path: Path) -> None:
    path = write(tmp_path / "log.jsonl", conversation(300))
    first, *lines = path.read_bytes().splitlines(keepends=True)[:-1]
    body = b"".join(lines)
    copies = (100 << 20) // len(body) + 1
    with path.open("wb") as file:
        file.write(first)
        for _ in range(copies):
            file.write(body)
    units = body.count(b'"type":"unit"') * copies
    log = read_log(path)
    tracemalloc.start()
    counted = 0
    for record in log.units():
        counted += 1
        if counted == 2000:  # tracing all of it would take a minute; a leak shows by now
            traced = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            assert traced < 2 << 20
        assert record.index >= 0
    assert counted == units
    assert log.caveat != ""
