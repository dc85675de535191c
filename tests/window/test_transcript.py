"""The transcript tells heard, said and unsaid apart in words, keeps its reader's place, and is text to walk through."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some
from PySide6.QtCore import Qt
from PySide6.QtGui import QTextCursor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.live.snapshot import SHOWN_LINES, Line
from app.window.transcript import Transcript
from tests.window.scenes import lines


@pytest.fixture
def transcript(qtbot: QtBot) -> Transcript:
    transcript = Transcript()
    qtbot.addWidget(transcript)
    transcript.resize(320, 260)
    transcript.show()
    transcript.activateWindow()
    return transcript


def test_who_and_what_became_of_it_is_in_the_words(transcript: Transcript) -> None:
    transcript.show_lines(lines(5))
    shown = transcript.text.toPlainText().splitlines()
    assert shown[0] == "You: What is the capital of France?"
    assert shown[1] == "Agent: The capital of France is Paris."
    assert shown[4] == "Agent, not said: It is a part of the water cycle."


@given(starts=some.lists(some.integers(0, 12), min_size=1, max_size=8), width=some.integers(1, 9))
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_came_before_the_last_window_of_lines_is_shown_whole(
    transcript: Transcript, starts: list[int], width: int
) -> None:
    every = lines(30)
    for start in starts:
        transcript.show_lines(every[start : start + width])
    last = every[starts[-1] : starts[-1] + width]
    shown = transcript.text.toPlainText().splitlines()
    assert [line.split(": ", 1)[1] for line in shown[-len(last) :]] == [line.text for line in last]
    transcript.show_lines(())
    assert transcript.text.toPlainText() == ""


def test_a_new_session_begins_on_an_empty_page(transcript: Transcript) -> None:
    transcript.show_lines(lines(6))
    transcript.show_lines((Line(0, 1, "user", "heard", "Hello."),))
    assert transcript.text.toPlainText() == "You: Hello."


def test_it_follows_the_newest_unless_its_reader_has_scrolled_up(transcript: Transcript) -> None:
    transcript.show_lines(lines(40))
    assert transcript.text.follows
    assert not transcript.newest.isVisible()
    transcript.text.verticalScrollBar().setValue(10)
    assert transcript.newest.isVisible()
    transcript.show_lines(lines(44))
    assert transcript.text.verticalScrollBar().value() == 10
    transcript.newest.click()
    assert transcript.text.follows


def test_a_caret_walks_and_stays_where_it_was_put(transcript: Transcript) -> None:
    transcript.show_lines(lines(8))
    text = transcript.text
    text.setFocus()
    text.moveCursor(QTextCursor.MoveOperation.Start)
    QTest.keyClick(text, Qt.Key.Key_Down)
    assert text.textCursor().block().text().startswith("Agent")
    place = text.textCursor().position()
    transcript.show_lines(lines(12))
    assert text.textCursor().position() == place


def test_copying_takes_the_selection_or_everything(transcript: Transcript) -> None:
    transcript.show_lines(lines(3))
    transcript.copy.click()
    assert QApplication.clipboard().text() == transcript.text.toPlainText()
    cursor = transcript.text.textCursor()
    cursor.setPosition(0)
    cursor.setPosition(3, QTextCursor.MoveMode.KeepAnchor)
    transcript.text.setTextCursor(cursor)
    transcript.copy.click()
    assert QApplication.clipboard().text() == "You"


def test_it_stays_bounded(transcript: Transcript) -> None:
    for start in range(0, SHOWN_LINES * 2, 100):
        transcript.show_lines(tuple(Line(n, n, "user", "heard", f"word {n}") for n in range(start, start + 100)))
    assert transcript.text.document().blockCount() <= SHOWN_LINES


def test_what_a_model_says_cannot_be_markup(transcript: Transcript) -> None:
    transcript.show_lines((Line(0, 1, "agent", "said", "<b>bold</b> &amp;\x1b[2J"),))
    assert transcript.text.toPlainText() == "Agent: <b>bold</b> &amp;?[2J"
