"""Another theme is worn by every part of the window and its dialogs, and no event of that takes long."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from app.live.settings import Theme
from app.window import theme
from app.window.crash import CrashDialog, describe
from app.window.style import style_sheet
from tests.window import scenes
from tests.window.rig import Rig


@pytest.fixture
def rig(qtbot: QtBot, tmp_path: Path) -> Iterator[Rig]:
    rig = Rig(tmp_path, theme=Theme.LIGHT)
    rig.conversation.now = scenes.talking()
    rig.settle()
    yield rig
    rig.close()


def sheets(rig: Rig) -> set[str]:
    return {part.styleSheet() for part in rig.window.parts}


def dressed(chosen: theme.Colours) -> set[str]:
    return {style_sheet(theme.colours(theme.palette(chosen)))}


def test_every_part_is_dressed_from_the_beginning(rig: Rig) -> None:
    assert sheets(rig) == dressed(theme.LIGHT)
    dressed_by_none = {
        widget.objectName() or type(widget).__name__
        for widget in rig.window.findChildren(QWidget)
        if widget.isVisible() and not any(part is widget or part.isAncestorOf(widget) for part in rig.window.parts)
    }
    assert dressed_by_none <= {"QStackedWidget"}


def test_another_theme_is_worn_by_all_and_by_what_is_in_view_first(rig: Rig, qtbot: QtBot) -> None:
    for page in range(len(rig.window._pages)):
        rig.window.go_to(page)
        for chosen, colours in ((Theme.DARK, theme.DARK), (Theme.LIGHT, theme.LIGHT)):
            rig.desk.change(theme=chosen)
            assert {rig.window._pages[page].styleSheet()} == dressed(colours)
            qtbot.waitUntil(lambda colours=colours: sheets(rig) == dressed(colours))


def test_no_event_takes_long_as_the_theme_changes(rig: Rig) -> None:
    """In the thread's own time; the whole window at once takes 45 ms."""
    longest_s = 0.0

    def go_on(do: Callable[[], object]) -> None:
        nonlocal longest_s
        begun_s = time.thread_time()
        do()
        longest_s = max(longest_s, time.thread_time() - begun_s)

    for chosen in (Theme.DARK, Theme.CONTRAST, Theme.LIGHT):
        go_on(lambda chosen=chosen: rig.desk.change(theme=chosen))
        for _ in range(20):
            go_on(QApplication.processEvents)
    assert sheets(rig) == dressed(theme.LIGHT)
    assert longest_s < 0.03


def test_a_dialog_above_the_window_wears_what_it_wears(rig: Rig) -> None:
    dialog = CrashDialog(describe(ValueError, ValueError("a slot broke"), None, ""), rig.window.status)
    dialog.show()
    rig.settle()
    (button,) = [each for each in dialog.findChildren(QPushButton) if each.text() == "Quit"]
    like = rig.window.talk.controls.restart
    assert button.sizeHint().height() == like.sizeHint().height()
    plain = QPushButton("Quit")
    assert button.sizeHint().height() != plain.sizeHint().height()
    plain.deleteLater()
    dialog.close()
