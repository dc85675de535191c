"""An error that nothing caught is told once, with details to copy, and ends the conversation; never a flood."""

import sys
import threading
from collections.abc import Iterator

import pytest
from PySide6.QtCore import QCoreApplication, QTimer
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.window.crash import MAX_DETAILS, CrashDialog, Crashes

pytestmark = pytest.mark.qt_no_exception_capture


class Ended:
    def __init__(self) -> None:
        self.times = 0

    def __call__(self) -> None:
        self.times += 1


@pytest.fixture
def ended() -> Ended:
    return Ended()


@pytest.fixture
def crashes(qtbot: QtBot, ended: Ended) -> Iterator[Crashes]:
    crashes = Crashes(ended)
    crashes.install()
    yield crashes
    crashes.uninstall()
    if crashes.dialog is not None:
        crashes.dialog.close()
        crashes.dialog.deleteLater()


def broken(message: str = "a slot broke") -> None:
    raise ValueError(message)


def meet(*errors: str) -> None:
    """Let slots raise, and everything be delivered."""
    for message in errors:
        QTimer.singleShot(0, lambda message=message: broken(message))
        QCoreApplication.processEvents()
    for _ in range(3):
        QCoreApplication.processEvents()


def dialogs() -> list[CrashDialog]:
    return [
        widget for widget in QApplication.topLevelWidgets() if isinstance(widget, CrashDialog) and widget.isVisible()
    ]


def test_a_slot_that_raises_is_told_with_its_details(crashes: Crashes, ended: Ended) -> None:
    meet("a slot broke")
    (dialog,) = dialogs()
    dialog.copy_button.click()
    copied = QApplication.clipboard().text()
    assert "ValueError: a slot broke" in copied
    assert "duplexcadence" in copied
    assert ended.times == 1


def test_a_flood_is_one_dialog_and_ends_the_conversation_once(crashes: Crashes, ended: Ended) -> None:
    meet(*["again"] * 300)
    (dialog,) = dialogs()
    assert dialog.details.count("ValueError: again") == 1
    assert ended.times == 1
    assert crashes.count == 300


def test_what_was_told_is_not_told_again_after_going_on(crashes: Crashes) -> None:
    meet("first")
    dialogs()[0].go_on_button.click()
    assert dialogs() == []
    meet("first", "first")
    assert dialogs() == []


def test_each_dialog_ends_the_conversation_that_goes_on_by_then(crashes: Crashes, ended: Ended) -> None:
    meet("first")
    dialogs()[0].go_on_button.click()
    meet("first")
    assert (len(dialogs()), ended.times) == (0, 1), "what was told and gone on past ends nothing"
    QTimer.singleShot(0, lambda: int("another"))
    meet()
    assert (len(dialogs()), ended.times) == (1, 2)


def test_errors_of_many_kinds_are_counted_past_the_first_few(crashes: Crashes) -> None:
    for number in range(MAX_DETAILS + 3):
        code = compile("\n" * number + "def broken(): raise ValueError('kind')", f"file{number}.py", "exec")
        scope: dict[str, object] = {}
        exec(code, scope)
        QTimer.singleShot(0, scope["broken"])  # type: ignore[arg-type]
        QCoreApplication.processEvents()
    meet()
    (dialog,) = dialogs()
    assert dialog.details.count("ValueError: kind") == MAX_DETAILS


def test_another_threads_error_is_told_here(crashes: Crashes) -> None:
    thread = threading.Thread(target=broken, name="a-worker")
    thread.start()
    thread.join()
    meet()
    assert "a-worker" in dialogs()[0].details


def test_an_error_in_a_destructor_is_told_too(crashes: Crashes) -> None:
    class Falls:
        def __del__(self) -> None:
            broken("as it went")

    falls = Falls()
    del falls
    meet()
    assert "as it went" in dialogs()[0].details


def test_being_asked_to_end_is_no_error(crashes: Crashes, ended: Ended, qtbot: QtBot) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    QTimer.singleShot(0, interrupt)
    QApplication.exec()  # returns because of it
    assert dialogs() == []
    assert isinstance(crashes.interrupted, KeyboardInterrupt)
    assert ended.times == 0


def test_hooks_are_put_back(crashes: Crashes) -> None:
    crashes.uninstall()
    assert sys.excepthook != crashes._uncaught
