"""The transcript tells heard, said and unsaid apart in words, keeps its reader's place, and is text to walk through."""

import time
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QPalette, QTextCursor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.live.snapshot import SHOWN_LINES, Line
from app.window.transcript import PIECE, Transcript
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


def test_it_stays_bounded(transcript: Transcript, qtbot: QtBot) -> None:
    for end in range(0, SHOWN_LINES * 3, 100):
        wanted = many(max(0, end - SHOWN_LINES), min(end, SHOWN_LINES))
        settled(transcript, qtbot, wanted)
        assert transcript.text.document().blockCount() == max(1, len(wanted))


def many(start: int, count: int = SHOWN_LINES) -> tuple[Line, ...]:
    words = "some words that were said in the second of that number, and a few more"
    return tuple(Line(n, n, "user", "heard" if n % 2 else "said", f"{n}: {words}") for n in range(start, start + count))


def settled(transcript: Transcript, qtbot: QtBot, lines: tuple[Line, ...]) -> list[str]:
    """What is written once all of it is."""
    transcript.show_lines(lines)
    qtbot.waitUntil(lambda: transcript.text._shown == lines)
    return [line.split(": ", 1)[1] for line in transcript.text.toPlainText().splitlines()]


def colours(transcript: Transcript) -> set[str]:
    """Of the names of whom was heard."""
    document, cursor = transcript.text.document(), QTextCursor(transcript.text.document())
    found = set()
    for number in range(document.blockCount()):
        block = document.findBlockByNumber(number)
        if block.text().startswith("You"):
            cursor.setPosition(block.position() + 1)
            found.add(cursor.charFormat().foreground().color().name())
    return found


def test_hundreds_of_lines_are_written_a_piece_at_a_time(transcript: Transcript, qtbot: QtBot) -> None:
    transcript.show_lines(many(0))
    assert 0 < transcript.text.document().blockCount() <= PIECE
    assert settled(transcript, qtbot, many(0)) == [line.text for line in many(0)]
    assert transcript.text.follows
    assert settled(transcript, qtbot, many(100)) == [line.text for line in many(100)]
    transcript.show_lines(many(3000))
    transcript.show_lines(many(7000, 30))  # sought elsewhere before the first is written
    assert settled(transcript, qtbot, many(7000, 30)) == [line.text for line in many(7000, 30)]


def test_no_event_takes_long_however_many_lines_there_are(transcript: Transcript, qtbot: QtBot) -> None:
    """In the thread's own time, of which 500 lines at once take 55 ms."""
    longest_s = 0.0

    def go_on(do: Callable[[], object]) -> None:
        nonlocal longest_s
        begun_s = time.thread_time()
        do()
        longest_s = max(longest_s, time.thread_time() - begun_s)

    palette = transcript.palette()
    palette.setColor(QPalette.ColorRole.Highlight, QColor("#b00020"))
    for change in (
        lambda: transcript.show_lines(many(0)),
        lambda: transcript.show_lines(many(250)),
        lambda: transcript.setPalette(palette),
        lambda: transcript.show_lines(many(5000)),
    ):
        go_on(change)
        for _ in range(60):
            go_on(QApplication.processEvents)
    assert transcript.text._shown == many(5000)
    assert longest_s < 0.03


def test_another_theme_colours_every_name_and_moves_neither_caret_nor_view(
    transcript: Transcript, qtbot: QtBot
) -> None:
    settled(transcript, qtbot, many(0))
    text = transcript.text
    cursor = text.textCursor()
    cursor.setPosition(3000)
    cursor.setPosition(3050, QTextCursor.MoveMode.KeepAnchor)
    text.setTextCursor(cursor)
    text.verticalScrollBar().setValue(30)
    palette = transcript.palette()
    palette.setColor(QPalette.ColorRole.Highlight, QColor("#b00020"))
    transcript.setPalette(palette)
    transcript.show_lines(many(20))  # while names are still being coloured
    qtbot.waitUntil(lambda: not text._stale and text._shown == many(20))
    assert colours(transcript) == {"#b00020"}
    dropped = sum(len(line.text) + len("You: " if line.kind == "heard" else "Agent: ") + 1 for line in many(0, 20))
    assert (text.textCursor().anchor(), text.textCursor().position()) == (3000 - dropped, 3050 - dropped)
    assert not text.follows


def test_what_a_model_says_cannot_be_markup(transcript: Transcript) -> None:
    transcript.show_lines((Line(0, 1, "agent", "said", "<b>bold</b> &amp;\x1b[2J"),))
    assert transcript.text.toPlainText() == "Agent: <b>bold</b> &amp;?[2J"
