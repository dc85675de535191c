"""What pages are laid out with: a column that scrolls where the window is small, cards, rows with a label [ui]."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QLayout,
    QScrollArea,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

PAGE_WIDTH = 860  # a line of text past that is tiring to read


def text(words: str = "", name: str = "") -> QLabel:
    """Running text, wrapped; `name` is its place in the style sheet."""
    label = QLabel(words)
    label.setTextFormat(Qt.TextFormat.PlainText)  # some of it comes from logs and drivers
    label.setWordWrap(True)
    label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    if name:
        label.setObjectName(name)
    return label


def heading(words: str, name: str = "heading") -> QLabel:
    """A heading."""
    label = QLabel(words)
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setObjectName(name)
    return label


def row(*parts: QWidget | int, spacing: int = 8) -> QHBoxLayout:
    """Controls beside one another, at the left; a number is a stretch."""
    layout = QHBoxLayout()
    layout.setContentsMargins(0, 0, 0, 0)
    layout.setSpacing(spacing)
    for part in parts:
        if isinstance(part, int):
            layout.addStretch(part)
        else:
            layout.addWidget(part)
    return layout


class Card(QFrame):
    """A group of rows under a heading.

    Args:
        title: The heading; empty: none.
    """

    def __init__(self, title: str = "") -> None:
        super().__init__()
        self.setObjectName("card")
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(16, 14, 16, 16)
        self._grid.setHorizontalSpacing(16)
        self._grid.setVerticalSpacing(10)
        self._grid.setColumnStretch(1, 1)
        self._grid.setColumnMinimumWidth(0, 110)
        if title:
            self.wide(heading(title))

    def wide(self, part: QWidget | QLayout) -> None:
        """Something over the card's whole width."""
        self._put(part, 0, 2)

    def labelled(self, words: str, control: QWidget, beside: QWidget | QLayout | None = None) -> QLabel:
        """A control with its label; `beside`: laid out in the control's place, holding it."""
        label = QLabel(words)
        label.setBuddy(control)
        if not control.accessibleName():
            control.setAccessibleName(words.replace("&", ""))
        line = self._grid.rowCount()
        self._grid.addWidget(label, line, 0)
        self._put(beside if beside is not None else control, 1, 1, line)
        return label

    def under(self, part: QWidget | QLayout) -> None:
        """Something in the controls' column."""
        self._put(part, 1, 1)

    def _put(self, part: QWidget | QLayout, column: int, span: int, line: int | None = None) -> None:
        line = self._grid.rowCount() if line is None else line
        if isinstance(part, QWidget):
            self._grid.addWidget(part, line, column, 1, span)
        else:
            self._grid.addLayout(part, line, column, 1, span)


class Page(QScrollArea):
    """A page that scrolls where it does not fit, and is no wider than reads well.

    Args:
        width: How wide its column may be.
    """

    def __init__(self, width: int = PAGE_WIDTH) -> None:
        super().__init__()
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAsNeeded)
        inner, column = QWidget(), QWidget()
        column.setMaximumWidth(width)
        column.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        outer = QHBoxLayout(inner)
        outer.setContentsMargins(16, 16, 16, 16)
        outer.addStretch(1)
        outer.addWidget(column, 100)
        outer.addStretch(1)
        self.column = QVBoxLayout(column)
        self.column.setContentsMargins(0, 0, 0, 0)
        self.column.setSpacing(12)
        self.setWidget(inner)

    def focusNextPrevChild(self, forward: bool) -> bool:
        """Go on to the next control, in view."""
        moved = super().focusNextPrevChild(forward)
        focused = self.window().focusWidget()
        if focused is not None and self.isAncestorOf(focused):
            self.ensureWidgetVisible(focused, 24, 24)
        return moved
