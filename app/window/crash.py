"""An error that nothing caught: one dialog with details to copy, never a flood, and the conversation ended in order.

Catches what Qt's slots, other threads, destructors and the main thread let through. What is told once is not told
again, and ends nothing: its user has gone on past it. What comes while the dialog is open is added to it. Ctrl-C and
its kin are no errors: they end the program. `Crashes.install` [ui]; the hooks are entered by any thread and hand over
to [ui].
"""

import platform
import sys
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType

import PySide6
from PySide6.QtCore import QObject, Qt, Signal, SignalInstance
from PySide6.QtWidgets import QApplication, QDialog, QDialogButtonBox, QLabel, QPlainTextEdit, QVBoxLayout, QWidget

from app import __version__
from engine.phrases import counted

MAX_DETAILS = 5  # kinds of errors whose details are kept; past that they are counted


@dataclass(frozen=True)
class Crash:
    """One kind of uncaught error.

    Args:
        place: What tells it from others: its type, and where it was raised.
        details: For whoever is to mend it.
    """

    place: str
    details: str


def describe(kind: type[BaseException], error: BaseException | None, trace: TracebackType | None, where: str) -> Crash:
    """An error as text."""
    frames = traceback.extract_tb(trace)
    last = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    text = "".join(traceback.format_exception(kind, error, trace)).rstrip()
    return Crash(f"{kind.__name__} at {last}", f"{where}\n{text}" if where else text)


class Crashes(QObject):
    """Takes in what nothing caught.

    Args:
        end: Ends the conversation so that its log is whole; called for each dialog that says so. Must not wait.

    Attributes:
        parent_widget: A part of the window, above which the dialog shows and whose looks it has.
    """

    _met: SignalInstance = Signal(object)  # type: ignore[assignment]  # crosses to the UI thread
    _stop: SignalInstance = Signal()  # type: ignore[assignment]

    def __init__(self, end: Callable[[], None]) -> None:
        super().__init__()
        self.parent_widget: QWidget | None = None
        self.interrupted: BaseException | None = None
        self.dialog: CrashDialog | None = None
        self._end = end
        self.count = 0
        self._told: set[str] = set()
        self._before = (sys.excepthook, threading.excepthook, sys.unraisablehook)
        self._met.connect(self._tell, Qt.ConnectionType.QueuedConnection)
        self._stop.connect(QApplication.quit, Qt.ConnectionType.QueuedConnection)

    def install(self) -> None:
        """From now on nothing uncaught is lost."""
        sys.excepthook = self._uncaught
        threading.excepthook = self._in_thread
        sys.unraisablehook = self._unraisable

    def uninstall(self) -> None:
        """As it was."""
        sys.excepthook, threading.excepthook, sys.unraisablehook = self._before

    def _uncaught(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if issubclass(kind, KeyboardInterrupt | SystemExit):
            self.interrupted = error
            self._stop.emit()
            return
        self._take(describe(kind, error, trace, ""))

    def _in_thread(self, args: threading.ExceptHookArgs) -> None:
        if issubclass(args.exc_type, SystemExit):
            return
        name = args.thread.name if args.thread else "unknown"
        self._take(describe(args.exc_type, args.exc_value, args.exc_traceback, f"in the thread {name}"))

    def _unraisable(self, args: "sys.UnraisableHookArgs") -> None:
        where = f"{args.err_msg or 'ignored'}: {getattr(args.object, '__qualname__', type(args.object).__name__)}"
        self._take(describe(args.exc_type, args.exc_value, args.exc_traceback, where))

    def _take(self, crash: Crash) -> None:
        print(crash.details, file=sys.__stderr__)  # for whoever started it from a terminal
        self._met.emit(crash)

    def _tell(self, crash: Crash) -> None:
        self.count += 1
        if self.dialog is not None and self.dialog.isVisible():
            self.dialog.add(crash)
        elif crash.place not in self._told:
            self._end()
            self.dialog = CrashDialog(crash, self.parent_widget)
            self.dialog.open()
        self._told.add(crash.place)


class CrashDialog(QDialog):
    """Says that the program is at fault, what became of the conversation, and how to report it.

    Args:
        crash: The first error.
        parent: The window.
    """

    def __init__(self, crash: Crash, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Something went wrong")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
        self.resize(640, 420)
        self._crashes, self._count = [crash], 1
        heading = QLabel("This program made a mistake")
        heading.setObjectName("heading")
        said = QLabel(
            "A conversation that was going on has been ended and its log closed; nothing else of yours was touched. "
            "You can go on, but a fresh start is safer. If you report this, please add the details below."
        )
        said.setWordWrap(True)
        self._counted = QLabel()
        self._details = QPlainTextEdit()
        self._details.setReadOnly(True)
        self._details.setAccessibleName("Details of the error")
        self._details.setTabChangesFocus(True)
        self._details.setObjectName("fixed")
        buttons = QDialogButtonBox()
        self.copy_button = buttons.addButton("Copy details", QDialogButtonBox.ButtonRole.ActionRole)
        self.quit_button = buttons.addButton("Quit", QDialogButtonBox.ButtonRole.DestructiveRole)
        self.go_on_button = buttons.addButton("Go on", QDialogButtonBox.ButtonRole.RejectRole)
        self.copy_button.clicked.connect(lambda: QApplication.clipboard().setText(self.details))
        self.quit_button.clicked.connect(QApplication.quit)
        buttons.rejected.connect(self.reject)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(20, 20, 20, 20)
        layout.setSpacing(12)
        for part in (heading, said, self._counted, self._details, buttons):
            layout.addWidget(part)
        self._show()

    @property
    def details(self) -> str:
        """What is copied."""
        system = f"duplexcadence {__version__}, PySide6 {PySide6.__version__}, Python {platform.python_version()}"
        return "\n\n".join([f"{system}, {platform.platform()}", *(crash.details for crash in self._crashes)])

    def add(self, crash: Crash) -> None:
        """Another error, met while the dialog is open."""
        self._count += 1
        known = any(crash.place == each.place for each in self._crashes)
        if not known and len(self._crashes) < MAX_DETAILS:
            self._crashes.append(crash)
        self._show(new=not known)

    def _show(self, new: bool = True) -> None:
        self._counted.setText(f"{counted(self._count, 'error')} so far.")
        self._counted.setVisible(self._count > 1)
        if new:
            self._details.setPlainText(self.details)
