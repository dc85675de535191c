"""Past sessions are listed from whatever logs are there, taken away in four forms, and removed with all they left."""

import os
import sys
from pathlib import Path

import pytest
import soundfile

from app.live import sessions as rooms
from app.live.sessions import EXPORTS, LOG, RECORDING, PastSession, Sessions, session_folder
from engine.cadence import measure
from engine.errors import AskedWrongly, BadLog, NoRoom
from engine.timing import UnitRecord
from tests.fakes import tone
from tests.made_up_sessions import conversation, write


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
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / LOG).write_bytes(b"\x00\xff not a log")
    assert [session.folder.name for session in Sessions(tmp_path).list()] == ["a"]


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
