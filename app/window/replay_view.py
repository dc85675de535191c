"""A past session in the meter: played at its own pace or faster, paused, and gone through by hand [ui]."""

from collections.abc import Callable

from PySide6.QtCore import Qt, Signal, SignalInstance
from PySide6.QtWidgets import QComboBox, QLabel, QPushButton, QSlider, QSplitter, QVBoxLayout, QWidget

from app.live.replayed import Replayed
from app.live.sessions import PastSession
from app.live.snapshot import Snapshot
from app.window import words
from app.window.cadence_view import CadenceView
from app.window.desk import Desk
from app.window.layouts import heading, row, text
from app.window.transcript import Transcript
from engine.cadence import described
from engine.clock import NS, WallClock
from engine.timing import read_log

SPEEDS = (1.0, 2.0, 5.0, 10.0, 60.0)


class ReplayView(QWidget):
    """One session, replayed.

    Args:
        desk: Whose background reads the log.
        now_ns: Time, for the pace.
    """

    closed: SignalInstance = Signal()  # type: ignore[assignment]

    def __init__(self, desk: Desk, now_ns: Callable[[], int] | None = None) -> None:
        super().__init__()
        self._desk, self._now_ns = desk, now_ns or WallClock().now_ns
        self._replayed: Replayed | None = None
        self._wanted: PastSession | None = None
        self._at_ns, self._told_at_ns, self._playing = 0, 0, False
        self.back = QPushButton("Back to the list")
        self.title, self.facts = heading("", "title"), text(name="faint")
        self.play = QPushButton("Play")
        self.play.setObjectName("talk")
        self.seek = QSlider(Qt.Orientation.Horizontal)
        self.seek.setAccessibleName("Second of the session")
        self.seek.setPageStep(10)
        self.at = QLabel()
        self.at.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.speed = QComboBox()
        self.speed.setAccessibleName("Speed")
        for speed in SPEEDS:
            self.speed.addItem("Real time" if speed == 1 else f"{speed:.0f} times faster", speed)
        self.cadence = CadenceView()
        self.transcript = Transcript()
        split = QSplitter(Qt.Orientation.Horizontal)
        split.setChildrenCollapsible(False)
        split.setHandleWidth(16)
        split.addWidget(self.cadence)
        split.addWidget(self.transcript)
        split.setStretchFactor(0, 1)
        split.setSizes([760, 300])
        layout = QVBoxLayout(self)
        layout.setContentsMargins(16, 16, 16, 12)
        layout.setSpacing(10)
        layout.addLayout(row(self.title, 1, self.back))
        layout.addWidget(self.facts)
        layout.addWidget(split, 1)
        controls = row(self.play)
        controls.addWidget(self.seek, 1)
        controls.addWidget(self.at)
        controls.addWidget(self.speed)
        layout.addLayout(controls)
        self.back.clicked.connect(self.close_session)
        self.play.clicked.connect(self._play_or_pause)
        self.seek.valueChanged.connect(self._seek)
        self.speed.activated.connect(lambda _: self._show())
        self._show()

    def open(self, session: PastSession) -> None:
        """Read a session's log, and play it from its start."""
        self._wanted, self._replayed = session, None
        self._show()
        self.title.setText("Session")
        self.facts.setText("Reading its log …")
        self._desk.background.run(
            lambda: Replayed(read_log(session.log)), lambda replayed: self._begin(session, replayed), self._fail
        )

    def close_session(self) -> None:
        """Back to the list."""
        self._wanted = self._replayed = None
        self._playing = False
        self.closed.emit()

    def pause(self) -> None:
        """Stand still."""
        self._playing = False
        self._show()

    def tick(self) -> None:
        """Move on by the time that has gone by."""
        now_ns = self._now_ns()
        passed_ns, self._told_at_ns = now_ns - self._told_at_ns, now_ns
        if self._replayed is None or not self._playing:
            return
        self._at_ns = min(self._at_ns + round(passed_ns * self.speed.currentData()), self._replayed.duration_ns)
        if self._at_ns == self._replayed.duration_ns:
            self._playing = False
        self._show()

    def _begin(self, session: PastSession, replayed: Replayed) -> None:
        if session is not self._wanted:
            return  # closed, or another was opened in the meantime
        self._replayed, self._at_ns, self._playing = replayed, 0, True
        self._told_at_ns = self._now_ns()
        self.title.setText(f"Session of {session.began.astimezone():%H:%M:%S}")
        caveat = f". {session.caveat}" if session.caveat else ""
        self.facts.setText(described(replayed.header) + caveat)
        self.seek.setRange(0, max(0, replayed.duration_ns // NS))
        self.play.setFocus()
        self._show()

    def _fail(self, error: object) -> None:
        self.facts.setText(str(error))

    def _play_or_pause(self) -> None:
        if self._replayed is None:
            return
        self._playing = not self._playing
        if self._playing and self._at_ns >= self._replayed.duration_ns:
            self._at_ns = 0
        self._told_at_ns = self._now_ns()
        self._show()

    def _seek(self, second: int) -> None:
        if self._replayed is not None and second != self._at_ns // NS:
            self._at_ns = min(second * NS, self._replayed.duration_ns)
            self._show()

    def _show(self) -> None:
        replayed = self._replayed
        snapshot = Snapshot() if replayed is None else replayed.at(self._at_ns)
        self.play.setText("Pause" if self._playing else "Play")
        for control in (self.play, self.seek, self.speed):
            control.setEnabled(replayed is not None)
        self.seek.setValue(self._at_ns // NS)
        whole_ns = 0 if replayed is None else replayed.duration_ns
        self.at.setText(f"{words.length(self._at_ns / NS)} of {words.length(whole_ns / NS)}")
        self.cadence.show_snapshot(snapshot)
        self.transcript.show_lines(snapshot.lines)
