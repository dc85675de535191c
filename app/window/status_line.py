"""The window's last line: where the conversation stands, what to know, how far long work is, and the newest fault.

All in words; a mark before them differs in shape from state to state, and so does its colour. [ui]
"""

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPalette
from PySide6.QtWidgets import QHBoxLayout, QLabel, QProgressBar, QPushButton, QSizePolicy, QVBoxLayout, QWidget

from app.live.snapshot import Phase, Snapshot
from app.window import words
from app.window.desk import Desk


class PhaseMark(QWidget):
    """A disc where it talks, a ring where it is idle, half a disc while it works, a triangle where it cannot go on."""

    def __init__(self) -> None:
        super().__init__()
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self._phase = Phase.IDLE

    def sizeHint(self) -> QSize:
        side = self.fontMetrics().ascent()
        return QSize(side, side)

    def show_phase(self, phase: Phase) -> None:
        """Show another."""
        if phase is not self._phase:
            self._phase = phase
            self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        palette, side = self.palette(), self.height()
        box = QRectF(1.5, 1.5, side - 3, side - 3)
        alarm = self._phase in (Phase.FAILED, Phase.PAUSED)
        role = QPalette.ColorRole.BrightText if alarm else QPalette.ColorRole.Highlight
        colour = palette.color(QPalette.ColorRole.PlaceholderText if self._phase is Phase.IDLE else role)
        pen = painter.pen()
        pen.setColor(colour)
        pen.setWidthF(1.6)
        painter.setPen(pen)
        if alarm:
            painter.setBrush(colour)
            painter.drawPolygon([box.bottomLeft(), QPointF(box.center().x(), box.top()), box.bottomRight()])
            return
        painter.setBrush(colour if self._phase is Phase.TALKING else Qt.BrushStyle.NoBrush)
        painter.drawEllipse(box)
        if self._phase.busy:
            painter.setBrush(colour)
            painter.drawPie(box, 90 * 16, 180 * 16)


class ProgressRow(QWidget):
    """Long work in words and as a bar, with what gives it up.

    Args:
        desk: What is told to stop.
    """

    def __init__(self, desk: Desk) -> None:
        super().__init__()
        self.label = QLabel()
        self.label.setWordWrap(True)
        self.bar = QProgressBar()
        self.bar.setAccessibleName("Progress")
        self.bar.setTextVisible(False)
        self.cancel = QPushButton("Cancel")
        self.cancel.setAccessibleName("Cancel fetching or loading")
        self.cancel.clicked.connect(desk.conversation.stop)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(12)
        layout.addWidget(self.label, 3)
        layout.addWidget(self.bar, 2)
        layout.addWidget(self.cancel)

    def show_snapshot(self, snapshot: Snapshot) -> None:
        """Show how far it is."""
        told = snapshot.progress
        busy = snapshot.phase in (Phase.FETCHING, Phase.LOADING)
        self.setVisible(busy or told is not None)
        self.cancel.setVisible(busy)
        text = words.progress(told) if told else words.PHASES[snapshot.phase]
        if text != self.label.text():
            self.label.setText(text)
        known = told is not None and told.done is not None
        if (self.bar.maximum() > 0) != known:
            self.bar.setRange(0, 100 if known else 0)
        if told is not None and known and words.percent(told) != self.bar.value():
            self.bar.setValue(words.percent(told))


class StatusLine(QWidget):
    """Everything that must be seen on every page.

    Args:
        desk: Whose notices it shows.
    """

    def __init__(self, desk: Desk) -> None:
        super().__init__()
        self.setObjectName("status")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._mark = PhaseMark()
        self.state = QLabel()
        self.state.setObjectName("strong")
        self.message = QLabel()
        self.message.setWordWrap(True)
        self.message.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.waiting = QLabel()
        self.recording = QLabel("Both sides are recorded")
        self.recording.setObjectName("strong")
        self.rescan = QPushButton("Look again")
        self.rescan.setAccessibleName("Look for devices again")
        self.rescan.setToolTip("Look for the device, and go on with the conversation")
        self.rescan.clicked.connect(desk.conversation.rescan)
        self.faults = QLabel()
        self.faults.setObjectName("alarm")
        self.faults.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.faults.setWordWrap(True)
        self.faults.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.progress = ProgressRow(desk)
        self.notice = QLabel()
        self.notice.setWordWrap(True)
        self.dismiss = QPushButton("Dismiss")
        self.dismiss.setAccessibleName("Dismiss the notice")
        self.dismiss.setObjectName("quiet")
        self._notice_row = QWidget()
        row = QHBoxLayout(self._notice_row)
        row.setContentsMargins(0, 0, 0, 0)
        row.addWidget(self.notice, 1)
        row.addWidget(self.dismiss)
        self.dismiss.clicked.connect(self._notice_row.hide)
        self._notice_row.hide()
        desk.notice.connect(self.show_notice)
        if desk.remark:
            self.show_notice(desk.remark)

        first = QHBoxLayout()
        first.setSpacing(8)
        first.addWidget(self._mark)
        first.addWidget(self.state)
        first.addWidget(self.message, 3)
        first.addWidget(self.rescan)
        first.addWidget(self.waiting)
        first.addWidget(self.recording)
        first.addWidget(self.faults, 2)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(16, 8, 16, 8)
        layout.setSpacing(6)
        layout.addWidget(self._notice_row)
        layout.addWidget(self.progress)
        layout.addLayout(first)

    def show_snapshot(self, snapshot: Snapshot, *, progress: bool = True) -> None:
        """Show how it stands; `progress`: unless the page shows that itself."""
        self._mark.show_phase(snapshot.phase)
        self.progress.show_snapshot(snapshot)
        if not progress:
            self.progress.hide()
        for label, text in (
            (self.state, words.state(snapshot)),
            (self.message, words.sentence(snapshot.message)),
            (self.waiting, words.waiting(snapshot)),
            (self.faults, words.faults(snapshot)),
        ):
            if label.text() != text:
                label.setText(text)
        self.rescan.setVisible(snapshot.phase is Phase.PAUSED)
        self.recording.setVisible(snapshot.recording is not None and snapshot.phase.live)
        self.faults.setVisible(bool(snapshot.faults))

    def show_notice(self, line: str) -> None:
        """Show a line until it is dismissed or another comes."""
        self.notice.setText(words.sentence(line))
        self._notice_row.setVisible(bool(line))
