"""Past sessions are listed, replayed at any pace, taken away in four forms and removed; what is kept is the user's."""

import shutil
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace as replaced
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QMessageBox
from pytestqt.qtbot import QtBot

from app.live.sessions import EXPORTS, LOG, session_folder
from app.live.settings import SettingsFile
from app.live.snapshot import Phase
from app.window.replay_view import ReplayView
from app.window.sessions_page import SessionsPage
from engine.timing import Transcript
from tests.fakes import ManualClock
from tests.made_up_sessions import conversation, header, write
from tests.window.rig import Rig, write_sessions


@pytest.fixture
def rig(qtbot: QtBot, tmp_path: Path) -> Iterator[Rig]:
    write_sessions(tmp_path / "sessions")
    rig = Rig(tmp_path)
    rig.window.go_to(1)
    rig.settle()
    yield rig
    rig.close()


def page(rig: Rig) -> SessionsPage:
    return rig.window.sessions


def rows(rig: Rig) -> list[list[str]]:
    items = [page(rig).list.topLevelItem(row) for row in range(page(rig).list.topLevelItemCount())]
    return [[item.text(column) for column in range(item.columnCount())] for item in items if item is not None]


def test_the_newest_comes_first_with_what_one_asks_of_it(rig: Rig) -> None:
    newest, late, recorded = rows(rig)
    assert newest[1] == "21:31"
    assert late[2] == "3 of 74"
    assert late[5] == "stock"
    assert newest[2] == "none"
    assert recorded[-1] == "recorded"


def test_a_thousand_sessions_are_listed_within_the_windows_time(rig: Rig) -> None:
    """In the thread's own time; where every row is measured for the columns' widths, 69 ms."""
    held = page(rig)._sessions[0]
    many = [replace(held, log=held.log.with_name(str(number))) for number in range(1000)]
    begun_s = time.thread_time()
    page(rig)._show_sessions(many)
    assert time.thread_time() - begun_s < 0.05
    assert page(rig).list.topLevelItemCount() == 1000


def test_without_a_session_the_page_says_so(rig: Rig, tmp_path: Path) -> None:
    shutil.rmtree(tmp_path / "sessions")
    page(rig).enter()
    rig.settle()
    assert page(rig).empty.isVisible()
    assert not page(rig).open.isEnabled()
    assert not page(rig).delete.isEnabled()


@pytest.mark.parametrize("kind", EXPORTS)
def test_a_session_is_taken_away_in_every_form(rig: Rig, tmp_path: Path, kind: str) -> None:
    session = page(rig).chosen
    assert session is not None
    to = tmp_path / f"taken{EXPORTS[kind][1]}"
    page(rig).export_to(session, kind, to)
    rig.settle()
    assert to.stat().st_size > 1000
    assert f"Exported to {to}." in rig.window.status.notice.text()


def test_where_it_cannot_be_written_that_is_said(rig: Rig, tmp_path: Path) -> None:
    session = page(rig).chosen
    assert session is not None
    page(rig).export_to(session, "csv", tmp_path / "none" / "a.csv")
    rig.settle()
    assert "cannot be written" in rig.window.status.notice.text()


def asked(rig: Rig, answer: str) -> None:
    """Press Delete, and answer the question."""
    page(rig).delete.click()
    (box,) = page(rig).findChildren(QMessageBox)
    next(button for button in box.buttons() if button.text().replace("&", "") == answer).click()
    rig.settle()


def test_deleting_asks_first_and_keeping_is_the_default(rig: Rig) -> None:
    page(rig).delete.click()
    (box,) = page(rig).findChildren(QMessageBox)
    assert box.defaultButton().text().replace("&", "") == "Keep"
    assert box.escapeButton() is box.defaultButton()
    box.close()
    assert len(rows(rig)) == 3


def test_what_is_deleted_is_gone_from_list_and_disk(rig: Rig, tmp_path: Path) -> None:
    asked(rig, "Keep")
    assert len(rows(rig)) == 3
    session = page(rig).chosen
    assert session is not None
    asked(rig, "Delete")
    assert len(rows(rig)) == 2
    assert not session.folder.exists()


def test_the_session_that_runs_is_not_deleted(rig: Rig) -> None:
    session = page(rig).chosen
    assert session is not None
    rig.show(phase=Phase.TALKING, log=session.log)
    assert not page(rig).delete.isEnabled()
    rig.show(phase=Phase.IDLE)
    assert page(rig).delete.isEnabled()


def test_a_session_that_goes_on_elsewhere_is_not_deleted_nor_where_it_began_since_it_was_listed(
    rig: Rig, tmp_path: Path
) -> None:
    with session_folder(tmp_path / "sessions") as folder:
        write(folder / LOG, conversation(5))
        page(rig).enter()
        rig.settle()
        page(rig).list.setCurrentItem(page(rig).list.topLevelItem(0))
        session = page(rig).chosen
        assert session is not None
        assert session.folder == folder
        assert rows(rig)[0][-1] == "it goes on"
        assert not page(rig).delete.isEnabled()
        assert "another window" in page(rig).delete.toolTip()
        page(rig)._delete(session)
        rig.settle()
        assert "goes on" in rig.window.status.notice.text()
    assert (folder / LOG).exists()
    page(rig).enter()
    rig.settle()
    assert page(rig).delete.isEnabled()


def test_a_damaged_session_is_listed_beside_whole_ones_and_can_be_deleted_alone(rig: Rig, tmp_path: Path) -> None:
    (tmp_path / "sessions" / "2027-01-01 10-00-00.000000").mkdir()
    (tmp_path / "sessions" / "2027-01-01 10-00-00.000000" / LOG).write_bytes(b"[" * 100_000)
    page(rig).enter()
    rig.settle()
    page(rig).list.setCurrentItem(page(rig).list.topLevelItem(0))
    damaged, *whole = rows(rig)
    assert len(whole) == 3
    assert damaged == ["2027-01-01 10:00:00", "", "", "", "", "", "damaged: its log is no timing log"]
    assert [each.isEnabled() for each in (page(rig).open, page(rig).export, page(rig).delete)] == [False, False, True]
    page(rig)._open()
    assert page(rig).list.isVisible()
    asked(rig, "Delete")
    assert rows(rig) == whole


def test_what_a_foreign_log_says_of_itself_is_text_and_pushes_nothing_out_of_view(rig: Rig, tmp_path: Path) -> None:
    (tmp_path / "sessions" / "2027-01-01 10-00-00.000000").mkdir()
    odd = "<img src='x'>\n\x1b[2J" + "a very long name of a model " * 40
    head = replaced(header(), model=odd, wall_clock="2027-01-01T10:00:00+00:00")
    write(tmp_path / "sessions" / "2027-01-01 10-00-00.000000" / LOG, conversation(5), head)
    page(rig).enter()
    rig.settle()
    assert "\n" not in rows(rig)[0][4]
    columns = page(rig).list.header()
    right = columns.sectionViewportPosition(5) + columns.sectionSize(5)
    assert right < page(rig).list.viewport().width(), "the runtime is in view"
    assert columns.sectionViewportPosition(6) < page(rig).list.viewport().width() - 60, "and so are the remarks"
    page(rig).open.click()
    rig.settle()
    assert page(rig).replay.facts.textFormat() is Qt.TextFormat.PlainText
    assert rig.window.width() <= 1180


def test_recording_and_words_are_off_until_asked_for(rig: Rig) -> None:
    assert not page(rig).record.isChecked()
    assert not page(rig).log_transcript.isChecked()
    page(rig).record.click()
    rig.settle()
    assert SettingsFile(rig.file.path).settings.record
    assert not SettingsFile(rig.file.path).settings.log_transcript


def test_by_keyboard_a_session_is_opened_and_left(rig: Rig) -> None:
    page(rig).list.setFocus()
    rig.click(Qt.Key.Key_Down)
    rig.click(Qt.Key.Key_Return)
    rig.settle()
    replay = page(rig).replay
    assert replay.isVisible()
    assert rig.focused is replay.play
    assert replay.title.text().startswith("Session of 2026-12-02 ")
    replay.back.setFocus()
    rig.click(Qt.Key.Key_Space)
    assert page(rig).list.isVisible()
    assert rig.focused is page(rig).list


def test_a_log_that_cannot_be_read_any_more_is_said(rig: Rig) -> None:
    session = page(rig).chosen
    assert session is not None
    session.log.write_text("nothing of ours\n")
    page(rig).open.click()
    rig.settle()
    assert any("session.jsonl" in label.text() for label in page(rig).replay.findChildren(QLabel))


class Replay:
    """A view whose clock a test moves."""

    def __init__(self, rig: Rig, qtbot: QtBot, folder: Path) -> None:
        self.clock = ManualClock()
        self.view = ReplayView(rig.desk, self.clock)
        qtbot.addWidget(self.view)
        self.view.show()
        of_one = folder / "sessions" / "2027-01-01 10-00-00.000"
        of_one.mkdir(parents=True)
        records: list[Any] = list(conversation(100, seed=4))
        records.insert(30, Transcript(index=20, who="user", text="Hello?", kind="heard", source="model"))
        write(of_one / LOG, records, transcript=True)
        self.view.open(next(each for each in rig.desk.sessions.list() if each.folder == of_one))
        rig.settle()

    def pass_s(self, seconds: float) -> None:
        self.clock.advance_s(seconds)
        self.view.tick()

    @property
    def at_s(self) -> int:
        return self.view.seek.value()

    @property
    def last(self) -> int:
        return self.view.cadence.meter.model.bars[-1].last


@pytest.fixture
def replay(rig: Rig, qtbot: QtBot, tmp_path: Path) -> Replay:
    return Replay(rig, qtbot, tmp_path)


def test_it_plays_in_real_time(replay: Replay) -> None:
    assert replay.view.play.text() == "Pause"
    replay.pass_s(10.02)
    assert replay.at_s == 10
    assert replay.last == 9
    assert replay.view.cadence.meter.model.running is not None


def test_it_plays_faster(replay: Replay) -> None:
    replay.view.speed.setCurrentIndex(replay.view.speed.findData(10.0))
    replay.view.speed.activated.emit(replay.view.speed.currentIndex())
    replay.pass_s(5.5)
    assert replay.at_s == 55
    assert replay.last == 54


def test_it_stands_still_is_sought_and_goes_on(replay: Replay) -> None:
    replay.pass_s(10)
    replay.view.play.click()
    replay.pass_s(30)
    assert replay.at_s == 10
    replay.view.seek.setValue(80)
    assert replay.last == 79
    replay.view.seek.setValue(20)
    assert replay.last == 19
    replay.view.play.click()
    replay.pass_s(5.5)
    assert replay.at_s == 25


def test_at_its_end_it_stands_and_plays_again_from_the_start(replay: Replay) -> None:
    replay.pass_s(1000)
    assert replay.view.play.text() == "Play"
    assert replay.view.at.text().split(" of ")[0] == replay.view.at.text().split(" of ")[1]
    replay.view.play.click()
    replay.pass_s(2.5)
    assert replay.at_s == 2


def test_words_come_when_they_were_said(replay: Replay) -> None:
    replay.view.seek.setValue(15)
    assert replay.view.transcript.text.toPlainText() == ""
    replay.view.seek.setValue(40)
    assert replay.view.transcript.text.toPlainText() == "You: Hello?"
