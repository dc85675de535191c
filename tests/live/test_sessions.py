"""Past sessions are listed from whatever logs are there, taken away in four forms, and removed with all they left."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import soundfile
from hypothesis import given, settings
from hypothesis import strategies as some
from msgspec import structs

from app.live import sessions as rooms
from app.live.replayed import Replayed
from app.live.sessions import EXPORTS, LOG, RECORDING, PastSession, Sessions, session_folder
from engine.cadence import measure
from engine.errors import AskedWrongly, BadLog, NoRoom
from engine.timing import Device, LogWriter, Record, UnitRecord, read_log
from engine.timing.reader import MAX_LINE_BYTES
from engine.timing.writer import line_of
from tests.fakes import tone
from tests.made_up_sessions import conversation, header, unit, write


def held(folder: Path, name: str, units: int = 20) -> Path:
    (folder / name).mkdir(parents=True)
    write(folder / name / LOG, conversation(units))
    return folder / name / LOG


def test_the_newest_comes_first_with_the_figures_of_its_log(tmp_path: Path) -> None:
    held(tmp_path, "2026-12-01 10-00-00.000")
    records = conversation(135, overruns=True)
    log = write(held(tmp_path, "2026-12-02 10-00-00.000"), records)
    soundfile.write(log.with_name(RECORDING), tone(0.1), 16_000)
    newest, oldest = Sessions(tmp_path).list()
    figures = measure(records)
    units = [record for record in records if isinstance(record, UnitRecord)]
    assert (newest.units, newest.overruns) == (len(units), figures.overruns)
    assert figures.overruns
    assert newest.median_slack_ms == pytest.approx(figures.slack_ms.median, abs=50)  # type: ignore[union-attr]
    assert newest.seconds == pytest.approx(units[-1].deadline_ns / 1e9)
    assert newest.recording is not None
    assert oldest.recording is None
    assert 20 <= oldest.units < newest.units
    assert newest.caveat == ""


def test_there_may_be_no_session_yet(tmp_path: Path) -> None:
    assert Sessions(tmp_path / "none").list() == []


def test_a_log_that_was_cut_is_listed_with_what_is_there(tmp_path: Path) -> None:
    log = held(tmp_path, "a")
    whole = log.read_bytes()
    log.write_bytes(whole[: int(len(whole) * 0.6)])
    (session,) = Sessions(tmp_path).list()
    assert 0 < session.units < measure(conversation(20)).units
    assert "cut short" in session.caveat


def test_what_is_no_session_is_left_out(tmp_path: Path) -> None:
    held(tmp_path, "a")
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("")
    (tmp_path / "others").mkdir()
    (tmp_path / "others" / "notes.txt").write_text("not ours")
    assert [session.folder.name for session in Sessions(tmp_path).list()] == ["a"]


UNIT = line_of(unit(0))
HEADER = line_of(header())
NESTED = b"[" * 100_000 + b"]" * 100_000
FOREIGN = {
    "empty": b"",
    "blank": b"\n" * 40,
    "binary": bytes(range(256)) * 40,
    "no record": b'{"some":"thing"}\n',
    "nested first": NESTED,
    "nested header": HEADER.rstrip()[:-1] + b',"more":' + NESTED + b"}\n",
    "no end of a line": b"x" * (MAX_LINE_BYTES + 2),
    "a later schema": b'{"type":"session","schema":9}\n',
    "no moment": line_of(structs.replace(header(), wall_clock="yesterday")),
    "a moment before all calendars": line_of(structs.replace(header(), wall_clock="0001-01-01T00:00:00+23:00")),
}
ODD_LINES = {
    "nested": b'{"type":"unit","more":' + NESTED + b"}\n",
    "bytes": b"\xff\xfe\n",
    "endless numbers": UNIT.replace(b'"deadline_ns":1000000000', b'"deadline_ns":1' + b"0" * 400),
    "past every clock": UNIT.replace(b'"deadline_ns":1000000000', b'"deadline_ns":9000000000000000000'),
}


@pytest.mark.parametrize("content", FOREIGN.values(), ids=FOREIGN)
def test_a_log_that_cannot_be_read_is_listed_as_damaged_and_can_be_removed(tmp_path: Path, content: bytes) -> None:
    held(tmp_path, "2026-12-01 10-00-00.000")
    log = held(tmp_path, "2026-12-02 10-00-00.000")
    log.write_bytes(content)
    sessions = Sessions(tmp_path)
    damaged, whole = sessions.list()
    assert damaged.damage
    assert damaged.caveat == f"damaged: its log {damaged.damage}"
    assert str(tmp_path) not in damaged.caveat
    assert f"{damaged.began:%Y-%m-%d %H:%M}" == "2026-12-02 10:00"
    assert (whole.damage, whole.units > 0) == ("", True)
    sessions.delete(damaged)
    assert sessions.list() == [whole]


@pytest.mark.parametrize("line", ODD_LINES.values(), ids=ODD_LINES)
def test_an_odd_line_among_others_costs_that_line(tmp_path: Path, line: bytes) -> None:
    assert line != UNIT
    log = held(tmp_path, "a")
    log.write_bytes(HEADER + UNIT + line + UNIT)
    (session,) = Sessions(tmp_path).list()
    assert (session.units, session.seconds, session.damage) == (2, 1.0, "")
    with pytest.raises(BadLog, match="line 3"):
        Replayed(read_log(log))


@given(some.binary(max_size=300))
@settings(max_examples=60, deadline=None)
def test_whatever_bytes_are_there_the_list_is_whole(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    folder = tmp_path_factory.mktemp("s")
    held(folder, "a")
    for name, before in (("b", b""), ("c", HEADER), ("d", HEADER + UNIT)):
        held(folder, name).write_bytes(before + content)
    assert [session.folder.name for session in Sessions(folder).list()] == ["d", "c", "b", "a"]


def test_a_recording_whose_log_is_gone_is_listed_too(tmp_path: Path) -> None:
    log = held(tmp_path, "a")
    log.with_name(RECORDING).write_bytes(b"RIFF")
    log.unlink()
    (session,) = Sessions(tmp_path).list()
    assert session.damage
    assert session.recording == log.with_name(RECORDING)


@pytest.mark.skipif(sys.platform == "win32", reason="no such files there")
def test_what_would_keep_its_reader_for_ever_is_no_log(tmp_path: Path) -> None:
    held(tmp_path, "a")
    for name in "bcde":
        held(tmp_path, name).unlink()
    os.mkfifo(tmp_path / "b" / LOG)
    os.symlink("/dev/zero", tmp_path / "c" / LOG)
    (tmp_path / "d" / LOG).mkdir()
    os.symlink(tmp_path / "e" / LOG, tmp_path / "e" / LOG)  # itself
    sessions = Sessions(tmp_path)
    *damaged, whole = sessions.list()
    assert [session.folder.name for session in damaged] == ["e", "d", "c", "b"]
    assert all(session.damage for session in damaged)
    for session in damaged:
        sessions.delete(session)
    assert sessions.list() == [whole]


# --- a session that is held ------------------------------------------------------------------------------------------


def test_a_session_that_goes_on_says_so_and_is_not_removed(tmp_path: Path) -> None:
    sessions = Sessions(tmp_path)
    with session_folder(tmp_path) as folder:
        writer = LogWriter(folder / LOG, header(), on_lost=pytest.fail)
        writer.write(unit(0))
        (session,) = sessions.list()
        assert session.held
        assert session.caveat == "it goes on"
        with pytest.raises(AskedWrongly, match="goes on"):
            sessions.delete(session)
        writer.close("stopped")
    (session,) = sessions.list()
    assert (session.held, session.caveat) == (False, "")
    assert os.listdir(folder) == [LOG]
    sessions.delete(session)
    assert not folder.exists()


HOLDS = """
import sys, time
from pathlib import Path
from app.live.sessions import LOG, session_folder
from engine.timing import LogWriter
from tests.made_up_sessions import header, unit
with session_folder(Path(sys.argv[1])) as folder:
    LogWriter(folder / LOG, header(), on_lost=sys.exit).write(unit(0))
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.mark.slow
def test_another_programs_session_is_kept_from_removal_until_that_program_is_dead(tmp_path: Path) -> None:
    sessions = Sessions(tmp_path)
    command = [sys.executable, "-c", HOLDS, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as program:
        assert program.stdout is not None
        assert program.stdout.readline().strip() == b"held"
        (session,) = sessions.list()
        assert session.held
        with pytest.raises(AskedWrongly, match="another window"):
            sessions.delete(session)
        assert session.log.exists()
        program.kill()
    (session,) = sessions.list()
    assert (session.held, session.caveat) == (False, "the session crashed")
    sessions.delete(session)
    assert sessions.list() == []


def test_a_folder_that_goes_while_it_is_held_is_let_go(tmp_path: Path) -> None:
    with session_folder(tmp_path) as folder:
        shutil.rmtree(folder)
    assert os.listdir(tmp_path) == []


def test_a_session_that_was_stopped_before_anything_came_of_it_leaves_nothing(tmp_path: Path) -> None:
    gone: list[Path] = []

    def left(*records: Record, reason: str) -> list[str]:
        with session_folder(tmp_path, gone.append) as folder:
            with LogWriter(folder / LOG, header(), on_lost=pytest.fail) as writer:
                for record in records:
                    writer.write(record)
                writer.close(reason)
            (folder / RECORDING).write_bytes(b"RIFF")
        return sorted(os.listdir(folder)) if folder.exists() else []

    assert left(reason="stopped") == []
    assert [log.name for log in gone] == [LOG]
    assert left(unit(0), reason="stopped") == [RECORDING, LOG]
    assert left(reason="failed: something") == [RECORDING, LOG]
    lost = Device(at_ns=0, name="a microphone", message="it was lost")
    assert left(lost, reason="stopped") == [RECORDING, LOG]
    assert len(gone) == 1


# --- reading, taking away, removing ----------------------------------------------------------------------------------


def test_a_log_is_read_again_only_where_it_has_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log, read = held(tmp_path, "a"), list[Path]()
    real = rooms.summary
    monkeypatch.setattr(rooms, "summary", lambda folder, path: (read.append(path), real(folder, path))[1])
    sessions = Sessions(tmp_path)
    first = sessions.list()
    assert sessions.list() == first
    assert read == [log]
    write(log, conversation(40))
    assert sessions.list()[0].units > first[0].units
    assert read == [log, log]


@pytest.mark.slow
@pytest.mark.parametrize("kind", EXPORTS)
def test_a_session_is_taken_away(tmp_path: Path, kind: str) -> None:
    log = held(tmp_path / "sessions", "a")
    sessions = Sessions(tmp_path / "sessions")
    to = tmp_path / f"out{EXPORTS[kind][1]}"
    sessions.export(sessions.list()[0], kind, to)
    assert to.stat().st_size > 200
    assert log.exists()
    if kind == "jsonl":
        assert to.read_bytes() == log.read_bytes()
        sessions.export(sessions.list()[0], kind, log)  # onto itself
        assert to.read_bytes() == log.read_bytes()


def test_what_cannot_be_taken_away_is_said(tmp_path: Path) -> None:
    held(tmp_path, "a")
    sessions = Sessions(tmp_path)
    (session,) = sessions.list()
    with pytest.raises(NoRoom):
        sessions.export(session, "jsonl", tmp_path / "no" / "such.jsonl")
    session.log.unlink()
    with pytest.raises(BadLog):
        sessions.export(session, "csv", tmp_path / "x.csv")


def test_a_session_is_removed_with_all_its_files_and_nothing_else(tmp_path: Path) -> None:
    for name in "ab":
        held(tmp_path, name)
    sessions = Sessions(tmp_path)
    _, a = sessions.list()
    sessions.delete(a)
    sessions.delete(a)  # twice is once
    assert [session.folder.name for session in sessions.list()] == ["b"]


def test_no_other_folder_is_ever_removed(tmp_path: Path) -> None:
    log = held(tmp_path / "elsewhere", "a")
    other = Sessions(tmp_path / "elsewhere").list()[0]
    with pytest.raises(AskedWrongly):
        Sessions(tmp_path / "sessions").delete(other)
    assert log.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="links need leave there")
def test_a_link_to_another_folder_is_not_followed(tmp_path: Path) -> None:
    log = held(tmp_path / "elsewhere", "a")
    (tmp_path / "sessions").mkdir()
    os.symlink(log.parent, tmp_path / "sessions" / "a")
    sessions = Sessions(tmp_path / "sessions")
    found: list[PastSession] = sessions.list()
    for session in found:
        with pytest.raises(AskedWrongly):
            sessions.delete(session)
    assert log.exists()


def test_a_folder_in_which_nothing_came_to_be_goes_again(tmp_path: Path) -> None:
    with session_folder(tmp_path) as kept:
        (kept / LOG).write_text("{}")
    with session_folder(tmp_path) as gone:
        assert gone.is_dir()
    assert kept.is_dir()
    assert not gone.exists()


def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(NoRoom, match="set XDG_DATA_HOME"), session_folder(tmp_path / "file"):
        pass
