"""The conversation's buttons: talk or stop, mute, hold to talk, stop speaking, restart.

A click does not move the focus to them, so that the talk key stays the talk key; the Tab key reaches each. [ui]
"""

from PySide6.QtCore import QEvent, Qt, Signal, SignalInstance
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QWidget

from app.live.snapshot import Listening, Phase, Snapshot
from app.window import icons, keys
from app.window.desk import Desk


class Controls(QWidget):
    """The buttons.

    Args:
        desk: What they command.
    """

    started: SignalInstance = Signal()  # type: ignore[assignment]  # the user began to talk, by this button

    def __init__(self, desk: Desk) -> None:
        super().__init__()
        self._desk, self._snapshot = desk, Snapshot()
        self.talk = QPushButton("Talk")
        self.talk.setObjectName("talk")
        self.mute = QPushButton("Mute")
        self.mute.setCheckable(True)
        self.mute.setAccessibleName("Mute the microphone")
        self.hold = QPushButton("Hold to talk")
        self.stop_speaking = QPushButton("Stop speaking")
        self.restart = QPushButton("Restart")
        self.restart.setToolTip("Forget the conversation and begin anew; the model stays loaded")
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(8)
        for button in (self.talk, self.mute, self.hold, self.stop_speaking, self.restart):
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
            layout.addWidget(button)
        conversation = desk.conversation
        self.talk.clicked.connect(self._talk_or_stop)
        self.mute.clicked.connect(lambda checked: conversation.mute(checked))
        self.hold.pressed.connect(lambda: conversation.hold(True))
        self.hold.released.connect(lambda: conversation.hold(False))
        self.stop_speaking.clicked.connect(conversation.stop_speaking)
        self.restart.clicked.connect(conversation.restart)
        desk.changed.connect(self.name)
        self.name()
        self.show_snapshot(self._snapshot)

    def name(self) -> None:
        """Say each button's key, and what the talk key does."""
        settings = self._desk.settings
        toggles = settings.listening is Listening.TOGGLE
        hold = "Press to talk" if toggles else "Hold to talk"
        self.mute.setToolTip("Close the microphone, or open it")
        self._name(self.hold, hold, settings.talk_key)
        self.hold.setToolTip("Opens and closes the microphone" if toggles else "The microphone is heard while held")
        self._name(self.stop_speaking, "Stop speaking", settings.stop_key)
        self.stop_speaking.setToolTip("The agent falls silent at once, and listens")
        self._name(self.mute, "Muted" if self.mute.isChecked() else "Mute", settings.mute_key)
        self.hold.setVisible(settings.listening is not Listening.OPEN)

    def restyle(self) -> None:
        """Draw the icons in the colours that hold now."""
        running = not self._snapshot.phase.at_rest
        self.talk.setIcon(icons.stop(self.talk) if running else icons.play(self.talk))
        self.mute.setIcon(icons.microphone(self.mute, struck=self.mute.isChecked()))

    def changeEvent(self, event: QEvent) -> None:
        """Follow the theme."""
        super().changeEvent(event)
        if event.type() in (QEvent.Type.PaletteChange, QEvent.Type.StyleChange):
            self.restyle()

    def show_snapshot(self, snapshot: Snapshot) -> None:
        """Show how it stands."""
        before, self._snapshot = self._snapshot, snapshot
        at_rest, live = snapshot.phase.at_rest, snapshot.phase.live
        text = "Talk" if at_rest else "Stop"
        changed = self.talk.text() != text
        if changed:
            self.talk.setText(text)
            self.talk.setToolTip("Begin a conversation" if at_rest else "End it; its log stays")
            self.talk.setProperty("running", not at_rest)
            self.talk.style().polish(self.talk)
            self.talk.updateGeometry()
        self.talk.setEnabled(snapshot.phase is not Phase.STOPPING)
        for button in (self.hold, self.stop_speaking, self.restart):
            if button.isEnabled() != live:
                button.setEnabled(live)
        if snapshot.muted != before.muted or self.mute.isChecked() != snapshot.muted:
            self.mute.setChecked(snapshot.muted)
            self._name(self.mute, "Muted" if snapshot.muted else "Mute", self._desk.settings.mute_key)
            changed = True
        if changed or before is snapshot:
            self.restyle()

    @staticmethod
    def _name(button: QPushButton, text: str, key: str) -> None:
        shown = keys.shown(key)
        button.setText(f"{text} ({shown})" if shown else text)

    def _talk_or_stop(self) -> None:
        if self._snapshot.phase.at_rest:
            self._desk.conversation.start()
            self.started.emit()
        else:
            self._desk.conversation.stop()
