"""A past session in the meter: played at its own pace or faster, paused, and gone through by hand [ui]."""

from PySide6.QtCore import QSignalBlocker, Qt, Signal, SignalInstance
from PySide6.QtWidgets import QComboBox, QLabel, QPushButton, QSlider, QSplitter, QVBoxLayout, QWidget

from app.live.replayed import Player, Replayed
from app.live.sessions import PastSession
from app.live.snapshot import Snapshot
from app.window import words
from app.window.cadence_view import CadenceView
from app.window.desk import Desk
from app.window.layouts import heading, row, text
from app.window.transcript import NO_WORDS, Transcript
from engine.cadence import described
from engine.clock import NS, Clock, WallClock
from engine.timing import read_log

SPEEDS = (1.0, 2.0, 5.0, 10.0, 60.0)


class ReplayView(QWidget):
    """One session, replayed.

    Args:
        desk: Whose background reads the log.
        clock: For the pace.
    """

    closed: SignalInstance = Signal()  # type: ignore[assignment]

    def __init__(self, desk: Desk, clock: Clock | None = None) -> None:
        super().__init__()
        self._desk, self._clock = desk, clock or WallClock()
        self._player: Player | None = None
        self._wanted: PastSession | None = None
        self._moves = False  # as it was shown last
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
        self.transcript = Transcript(NO_WORDS)
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
        self.speed.activated.connect(self._change_speed)
        self._show()

    def open(self, session: PastSession) -> None:
        """Read a session's log, and play it from its start."""
        self._wanted, self._player = session, None
        self._show()
        self.title.setText(f"Session of {words.began(session.began)}")
        self.facts.setText("Reading its log …")
        self._desk.background.run(
            lambda: Replayed(read_log(session.log)), lambda replayed: self._begin(session, replayed), self._fail
        )

    def close_session(self) -> None:
        """Back to the list."""
        self._wanted = self._player = None
        self.closed.emit()

    def pause(self) -> None:
        """Stand still."""
        if self._player is not None:
            self._player.play(False)
        self._show()

    def tick(self) -> None:
        """Show the moment that has come; nothing where it stands still."""
        if self._player is not None and self._moves:
            self._show()

    def _begin(self, session: PastSession, replayed: Replayed) -> None:
        if session is not self._wanted:
            return  # closed, or another was opened in the meantime
        self._player = player = Player(replayed, self._clock)
        player.set_speed(self.speed.currentData())
        player.play()
        caveat = f". {session.caveat}" if session.caveat else ""
        self.facts.setText(described(replayed.header) + caveat)
        with QSignalBlocker(self.seek):
            self.seek.setRange(0, max(0, replayed.duration_ns // NS))
        self._show()
        self.play.setFocus()

    def _fail(self, error: object) -> None:
        self.facts.setText(str(error))

    def _play_or_pause(self) -> None:
        if self._player is not None:
            self._player.play(not self._player.playing)
            self._show()

    def _seek(self, second: int) -> None:
        if self._player is not None and second != self._player.at_ns // NS:
            self._player.seek(second * NS)
            self._show()

    def _change_speed(self) -> None:
        if self._player is not None:
            self._player.set_speed(self.speed.currentData())

    def _show(self) -> None:
        player = self._player
        snapshot = Snapshot() if player is None else player.snapshot()
        at_ns, whole_ns = (0, 0) if player is None else (snapshot.now_ns, player.replayed.duration_ns)
        self._moves = player is not None and player.playing
        self.play.setText("Pause" if self._moves else "Play")
        for control in (self.play, self.seek, self.speed):
            control.setEnabled(player is not None)
        with QSignalBlocker(self.seek):
            self.seek.setValue(at_ns // NS)
        self.at.setText(f"{words.length(at_ns / NS)} of {words.length(whole_ns / NS)}")
        self.cadence.show_snapshot(snapshot)
        self.transcript.show_lines(snapshot.lines)
