"""The talk page: buttons, the cadence meter with its figures and memory, levels and transcript [ui]."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QComboBox, QSplitter, QVBoxLayout, QWidget

from app.live.snapshot import Listening, Snapshot
from app.window import words
from app.window.cadence_view import CadenceView
from app.window.controls import Controls
from app.window.desk import Desk
from app.window.layouts import Card, row
from app.window.level_meter import LevelMeter
from app.window.transcript import Transcript
from engine.models import registry

RUNTIMES = {
    "cadence": "This program's engine",
    "library": "The same windows, through the libraries' own caches",
    "stock": "The libraries as they come: what the others are compared with",
}


class TalkPage(QWidget):
    """Where one talks.

    Args:
        desk: What is commanded and changed.
    """

    def __init__(self, desk: Desk) -> None:
        super().__init__()
        self._desk = desk
        self.controls = Controls(desk)
        self.model, self.runtime = QComboBox(), QComboBox()
        for entry in registry.entries():
            if entry.runs:
                self.model.addItem(entry.name, entry.name)
                self.model.setItemData(self.model.count() - 1, entry.description, Qt.ItemDataRole.ToolTipRole)
        for name, what in RUNTIMES.items():
            self.runtime.addItem(name, name)
            self.runtime.setItemData(self.runtime.count() - 1, what, Qt.ItemDataRole.ToolTipRole)
        self.cadence = CadenceView()
        self.heard, self.sounded = LevelMeter("Microphone level"), LevelMeter("Speaker level")
        self.listening = QComboBox()
        for mode in Listening:
            self.listening.addItem(words.LISTENING[mode], mode)
        self.transcript = Transcript()

        self.runtime.setAccessibleName("Runtime")
        self.listening.setAccessibleName("When the microphone is heard")
        for box in (self.model, self.runtime, self.listening):
            box.setFocusPolicy(Qt.FocusPolicy.TabFocus)
            box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
            box.setMinimumContentsLength(6)
        levels = Card()
        levels.labelled("Model", self.model, row(self.model, self.runtime))
        levels.labelled("Microphone", self.heard)
        levels.labelled("Speaker", self.sounded)
        levels.labelled("Listening", self.listening)
        side = QWidget()
        column = QVBoxLayout(side)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(12)
        column.addWidget(levels)
        column.addWidget(self.transcript, 1)
        split = QSplitter(Qt.Orientation.Horizontal)
        split.setChildrenCollapsible(False)
        split.setHandleWidth(16)
        split.addWidget(self.cadence)
        split.addWidget(side)
        split.setStretchFactor(0, 1)
        split.setSizes([720, 340])
        layout = QVBoxLayout(self)
        layout.setContentsMargins(16, 8, 16, 12)
        layout.setSpacing(12)
        layout.addLayout(row(self.controls, 1))
        layout.addWidget(split, 1)

        self.model.activated.connect(lambda index: desk.change(model=self.model.itemData(index)))
        self.runtime.activated.connect(lambda index: desk.change(runtime=self.runtime.itemData(index)))
        self.listening.activated.connect(lambda index: desk.change(listening=self.listening.itemData(index)))
        self.controls.started.connect(self._leave_the_button)
        desk.changed.connect(self._show_settings)
        self._show_settings()

    def leave(self) -> None:
        """The page is gone from view."""

    def show_snapshot(self, snapshot: Snapshot) -> None:
        """Show how the conversation stands."""
        self.controls.show_snapshot(snapshot)
        at_rest = snapshot.phase.at_rest
        for box in (self.model, self.runtime):
            if box.isEnabled() != at_rest:
                box.setEnabled(at_rest)
                box.setToolTip("" if at_rest else "Stop the conversation to change this")
        self.heard.show_stream(snapshot.microphone)
        self.sounded.show_stream(snapshot.speaker)
        self.transcript.show_lines(snapshot.lines)
        self.cadence.show_snapshot(snapshot)

    def _leave_the_button(self) -> None:
        """Begun by key, the next Space would press the button again: take the focus to where it is the talk key."""
        if self.controls.talk.hasFocus():
            self.cadence.meter.setFocus()

    def _show_settings(self) -> None:
        settings = self._desk.settings
        self.model.setCurrentIndex(self.model.findData(settings.model))
        self.runtime.setCurrentIndex(self.runtime.findData(settings.runtime))
        self.listening.setCurrentIndex(self.listening.findData(settings.listening))
