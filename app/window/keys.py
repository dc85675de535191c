"""Keys that act on the conversation wherever the focus is, unless the control that has it uses them itself.

A key that a control does not use travels up to the window, and only what arrives there is ours: a button's Space, a
field's letters and a list's Escape stay theirs. The talk key's release is caught wherever it happens, so that a
microphone is never left open. [ui]
"""

from collections.abc import Callable
from typing import cast

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QKeyEvent, QKeySequence
from PySide6.QtWidgets import QApplication

_LEFT_BEHIND = (QEvent.Type.ApplicationDeactivate, QEvent.Type.WindowDeactivate)

# Keys that move about or press what has the focus: bound to anything else, they would take the keyboard away.
RESERVED = (
    "Tab",
    "Shift+Tab",
    "Return",
    "Enter",
    "Up",
    "Down",
    "Left",
    "Right",
    "Alt+F4",
    "Ctrl+Q",
    "Ctrl+1",
    "Ctrl+2",
    "Ctrl+3",
    "Ctrl+4",
    "Ctrl+5",
)


def pressed(event: QKeyEvent) -> QKeySequence:
    """The keys of an event, wherever on the keyboard they lie."""
    modifiers = event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
    return QKeySequence(modifiers.value | event.key())


def matches(event: QKeyEvent, binding: str) -> bool:
    """Whether an event is the key that a setting names."""
    wanted = QKeySequence(binding)
    return not wanted.isEmpty() and pressed(event) == wanted


def shown(binding: str) -> str:
    """A key as this system writes it."""
    return QKeySequence(binding).toString(QKeySequence.SequenceFormat.NativeText)


class TalkKey(QObject):
    """The talk key: goes down once, and comes up whatever happens in between.

    Args:
        hold: Told of both.
    """

    def __init__(self, hold: Callable[[bool], None]) -> None:
        super().__init__()
        self._hold = hold
        self._key: int | None = None

    @property
    def held(self) -> bool:
        """Whether it is down."""
        return self._key is not None

    def press(self, event: QKeyEvent) -> None:
        """It went down."""
        if event.isAutoRepeat() or self.held:
            return
        self._key = event.key()
        self._watch(True)
        self._hold(True)

    def release(self) -> None:
        """It came up, or can no longer be watched."""
        if self.held:
            self._key = None
            self._watch(False)
            self._hold(False)

    def _watch(self, watched: bool) -> None:
        if (application := QApplication.instance()) is not None:
            (application.installEventFilter if watched else application.removeEventFilter)(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Let the key up where it is let go, and where its release could not be seen."""
        kind = event.type()
        if kind is QEvent.Type.KeyRelease:
            key = cast("QKeyEvent", event)
            if key.key() == self._key and not key.isAutoRepeat():
                self.release()
        elif kind in _LEFT_BEHIND:
            self.release()
        return False
