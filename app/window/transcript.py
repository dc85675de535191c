"""The transcript: who said what, as text that one can walk through, select and copy.

What was heard, what was said and what was left unsaid differ in words and marks, not by colour alone. It follows the
newest line unless its reader has scrolled up. Five hundred lines at once would take 55 ms of the window's time: they
are written a piece at a time, with whatever else is to be done in between. [ui]
"""

from PySide6.QtCore import QEvent, Qt, QTimer, Signal, SignalInstance
from PySide6.QtGui import QTextBlockFormat, QTextCharFormat, QTextCursor
from PySide6.QtWidgets import QApplication, QHBoxLayout, QLabel, QPushButton, QTextEdit, QVBoxLayout, QWidget

from app.live.snapshot import SHOWN_LINES, Line
from app.window import words
from engine.phrases import printable

PIECE = 25  # lines written at once: 4 ms
_EDGE = 4  # pixels from the end that still count as the end
EMPTY = "What is said is written here."
NO_WORDS = "This log holds no words."


class TranscriptText(QTextEdit):
    """Lines of a conversation; read-only.

    Space and Escape are not used here, so that they reach the conversation.

    Args:
        empty: Stands where no line does.
    """

    moved: SignalInstance = Signal()  # type: ignore[assignment]  # its reader has scrolled, or something was added

    def __init__(self, empty: str = EMPTY) -> None:
        super().__init__()
        self._wanted: tuple[Line, ...] = ()
        self._shown: tuple[Line, ...] = ()  # of these, what is written; a block each
        self._stale: list[int] = []  # numbers of lines in the colours of before, the newest last
        self._next_piece = QTimer(self, interval=0, singleShot=True)
        self._next_piece.timeout.connect(self._go_on)
        self.setReadOnly(True)
        self.setTabChangesFocus(True)
        self.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self.setAccessibleName("Transcript")
        self.setPlaceholderText(empty)
        self.setMinimumSize(200, 80)
        self.document().setMaximumBlockCount(SHOWN_LINES)
        self.document().setDocumentMargin(10)
        self.verticalScrollBar().valueChanged.connect(self.moved)

    @property
    def follows(self) -> bool:
        """Whether the newest line is in view, and will be."""
        bar = self.verticalScrollBar()
        return bar.value() >= bar.maximum() - _EDGE

    def follow(self) -> None:
        """Go to the newest line."""
        bar = self.verticalScrollBar()
        bar.setValue(bar.maximum())

    def show_lines(self, lines: tuple[Line, ...]) -> None:
        """Show these; what is there already is left alone, with its reader's caret and selection.

        Of many the first piece is there at once, the others as events are processed.
        """
        if lines is self._wanted or lines == self._wanted:
            return
        self._wanted = lines
        self._go_on()

    def _go_on(self) -> None:
        """Write the next piece; where all is written, give one its colours."""
        follows, new = self.follows, self._new(self._wanted)
        if new is None:
            self.clear()
            self._shown, self._stale, new = (), [], self._wanted
        piece = new[:PIECE]
        for line in piece:
            self._append(line)
        self._shown = (*self._shown, *piece)[-SHOWN_LINES:]
        if not piece:
            self._recolour()
        if follows:
            self.follow()
        self.moved.emit()
        if len(new) > PIECE or self._stale:
            self._next_piece.start()

    def _new(self, lines: tuple[Line, ...]) -> tuple[Line, ...] | None:
        """Those to be added behind what is shown; None where what is shown is not theirs."""
        if not self._shown:
            return lines
        last = self._shown[-1].number
        both = {line.number: line for line in lines if line.number <= last}
        known = [line for line in self._shown if line.number in both]
        if not known or known[-1].number != last or any(both[line.number] != line for line in known):
            return None
        return tuple(line for line in lines if line.number > last)

    def _append(self, line: Line) -> None:
        cursor = QTextCursor(self.document())
        cursor.movePosition(QTextCursor.MoveOperation.End)
        block = QTextBlockFormat()
        block.setBottomMargin(7)
        block.setLineHeight(118, QTextBlockFormat.LineHeightTypes.ProportionalHeight.value)
        if self.document().isEmpty():
            cursor.setBlockFormat(block)
        else:
            cursor.insertBlock(block)
        name = self._coloured() if line.kind == "heard" else QTextCharFormat()
        name.setFontWeight(600)
        text = QTextCharFormat()
        if line.kind == "unsaid":
            text.setFontItalic(True)
            text.setFontStrikeOut(True)
        cursor.insertText(_name(line), name)
        cursor.insertText(printable(line.text), text)

    def _recolour(self) -> None:
        """Give a piece of what is stale the colours that hold now, the newest first: there its reader is."""
        self._stale, piece = self._stale[:-PIECE], set(self._stale[-PIECE:])
        cursor, coloured = QTextCursor(self.document()), self._coloured()
        for place, line in enumerate(self._shown):
            if line.number in piece:
                cursor.setPosition(self.document().findBlockByNumber(place).position())
                cursor.movePosition(QTextCursor.MoveOperation.Right, QTextCursor.MoveMode.KeepAnchor, len(_name(line)))
                cursor.mergeCharFormat(coloured)

    def _coloured(self) -> QTextCharFormat:
        """Of the user's name; all else is in the palette's text."""
        coloured = QTextCharFormat()
        coloured.setForeground(self.palette().highlight())
        return coloured

    def changeEvent(self, event: QEvent) -> None:
        """Follow the theme."""
        super().changeEvent(event)
        if event.type() is QEvent.Type.PaletteChange:
            self._stale = [line.number for line in self._shown if line.kind == "heard"]
            self._next_piece.start()

    def keyPressEvent(self, event: object) -> None:
        """Leave the talk and stop keys to the window; read-only text would page down at a Space."""
        if event.key() in (Qt.Key.Key_Space, Qt.Key.Key_Escape):  # type: ignore[attr-defined]
            event.ignore()  # type: ignore[attr-defined]
        else:
            super().keyPressEvent(event)  # type: ignore[arg-type]


def _name(line: Line) -> str:
    return f"{words.SPEAKERS.get(line.kind, line.who)}: "


class Transcript(QWidget):
    """The transcript under its heading, with what copies it and what goes to its end.

    Args:
        empty: Stands where no line does.
    """

    def __init__(self, empty: str = EMPTY) -> None:
        super().__init__()
        self.text = TranscriptText(empty)
        heading = QLabel("Transcript")
        heading.setObjectName("heading")
        self.newest = QPushButton("Newest")
        self.newest.setToolTip("Go to the newest line")
        self.newest.setAccessibleName("Go to the newest line")
        self.copy = QPushButton("Copy")
        self.copy.setToolTip("Copy what is selected, or everything")
        self.copy.setAccessibleName("Copy the transcript")
        for button in (self.newest, self.copy):
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
            button.setObjectName("quiet")
        self.newest.clicked.connect(self.text.follow)
        self.copy.clicked.connect(self._copy)
        self.text.moved.connect(self._show_newest)
        top = QHBoxLayout()
        top.addWidget(heading)
        top.addStretch()
        top.addWidget(self.newest)
        top.addWidget(self.copy)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(6)
        layout.addLayout(top)
        layout.addWidget(self.text)
        self._show_newest()

    def show_lines(self, lines: tuple[Line, ...]) -> None:
        """Show these."""
        self.text.show_lines(lines)
        self.copy.setEnabled(bool(lines))

    def _show_newest(self) -> None:
        policy = self.newest.sizePolicy()
        policy.setRetainSizeWhenHidden(True)
        self.newest.setSizePolicy(policy)
        self.newest.setVisible(not self.text.follows)

    def _copy(self) -> None:
        selected = self.text.textCursor().selection().toPlainText()
        QApplication.clipboard().setText(selected or self.text.toPlainText())
