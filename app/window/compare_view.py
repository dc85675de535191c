"""One comparison: the headline, figures side by side, meters over one time axis, a second in figures, the sound [ui].

Logs are read and measured in the background, and called off where nobody wants them any more.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QSignalBlocker, Qt, QTimer, Signal, SignalInstance
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QBoxLayout,
    QCheckBox,
    QFileDialog,
    QLabel,
    QPushButton,
    QSizePolicy,
    QSlider,
    QVBoxLayout,
    QWidget,
)

from app.demo.candidates import Candidate
from app.live.snapshot import Snapshot
from app.window import compare_words as words
from app.window.compare_facts import AllFigures, FeltCard, SecondTable
from app.window.compare_meters import CompareMeters
from app.window.compare_model import Close
from app.window.desk import Desk
from app.window.layouts import Page, heading, row, text
from engine.cadence import described
from engine.comparison import Comparison, compare, headline
from engine.errors import CadenceError
from engine.export.side_by_side import write_side_by_side
from engine.phrases import printable
from engine.timing import read_log

ONE_BAND = 860  # pixels: from there on all felt figures stand in one line
SIDE_BY_SIDE = 980  # pixels: from there on the chosen second stands beside the meters
TABLE_SHARE = 0.4  # of the page's width, at most, for the chosen second


@dataclass(frozen=True)
class Looked:
    """What was read."""

    comparison: Comparison
    closes: tuple[Close, ...]

    @property
    def names(self) -> list[str]:
        """What the sessions are called."""
        return [printable(session.name) for session in self.comparison.sessions]


class Unwanted(CadenceError):
    """Nobody waits for it any more."""


def look(candidates: Sequence[Candidate], tick: Callable[[], None]) -> Looked:
    """Read and measure logs.

    Args:
        candidates: Whose; the first is what the others are held against.
        tick: Called now and then; what it raises ends the work.

    Raises:
        AskedWrongly: There are too few, or too many.
        BadLog: One cannot be read; says which.
    """
    logs = [read_log(each.log) for each in candidates]
    names = [each.name for each in candidates]
    own = names if all(names) and len(set(names)) == len(names) else None
    comparison = compare(logs, own, tick=tick)
    return Looked(comparison, tuple(Close.of(log.units(), tick) for log in logs))


class CompareView(Page):
    """The comparison.

    Args:
        desk: Whose background reads, and whose speaker sounds.
    """

    closed: SignalInstance = Signal()  # type: ignore[assignment]

    def __init__(self, desk: Desk) -> None:
        super().__init__(width=1600)
        self._desk = desk
        self._candidates: tuple[Candidate, ...] = ()
        self._known = ""
        self._wanted: object = None  # the newest reading
        self._looked: Looked | None = None
        self._snapshot = Snapshot()
        self.title = heading("", "title")
        self.export, self.back = QPushButton("Save the picture…"), QPushButton("Back to the list")
        self.says, self.about, self.beware = text(name="lead"), text(name="faint"), text()
        self.felt = FeltCard()
        self.sound = text(name="faint")
        self.meters = CompareMeters()
        self.nearer, self.farther, self.whole = QPushButton("Nearer"), QPushButton("Farther"), QPushButton("Whole")
        self.nearer.setToolTip("Show half as much of the time axis (+)")
        self.farther.setToolTip("Show twice as much of it (-)")
        self.whole.setToolTip("Show all of it (0)")
        self.nearer.setAccessibleName("Nearer: show half as much of the time axis")
        self.farther.setAccessibleName("Farther: show twice as much of the time axis")
        self.whole.setAccessibleName("Whole: show all of the time axis")
        self.where = QSlider(Qt.Orientation.Horizontal)
        self.where.setAccessibleName("Where the view begins")
        self.scale = QLabel()
        self.scale.setObjectName("faint")
        self.second_title, self.second = heading(""), SecondTable()
        self.everything = QCheckBox("Show every figure")
        self.figures = AllFigures()
        self.body = QWidget()
        self._lay_out()
        self.back.clicked.connect(self.close_comparison)
        self.export.clicked.connect(self._ask_where)
        self.nearer.clicked.connect(lambda: self.meters.zoom(nearer=True))
        self.farther.clicked.connect(lambda: self.meters.zoom(nearer=False))
        self.whole.clicked.connect(self.meters.whole)
        self.where.valueChanged.connect(self.meters.go_to)
        self.meters.moved.connect(self._show_axis)
        self.everything.toggled.connect(self._show_more)
        self._parts: list[Callable[[Looked], None]] = []
        self._next_part = QTimer(self, interval=0)
        self._next_part.timeout.connect(self._show_part)
        self.body.hide()

    @property
    def comparison(self) -> Comparison | None:
        """What is shown; None before it is read."""
        return None if self._looked is None else self._looked.comparison

    def open(self, candidates: Sequence[Candidate], beware: str = "") -> None:
        """Read sessions, and show them side by side.

        Args:
            candidates: The first is what the others are held against.
            beware: What is known of them beside their logs, and spoils the comparison; empty where nothing does.
        """
        self._candidates, self._known, self._looked = tuple(candidates), beware, None
        self._wanted = wanted = object()
        self.body.hide()
        self.export.setEnabled(False)
        self.title.setText(f"{words.sessions(len(candidates))} side by side")
        self.says.setText("Reading the logs …")
        self.back.setFocus()

        def tick() -> None:
            if self._wanted is not wanted:
                raise Unwanted("nobody waits for it any more")

        def show(looked: Looked) -> None:
            if self._wanted is wanted:
                self._show(looked)

        def fail(error: CadenceError) -> None:
            if self._wanted is wanted:
                self.says.setText(f"{printable(str(error))}. Go back to the list, and choose without it.")

        self._desk.background.run(lambda: look(candidates, tick), show, fail)

    def close_comparison(self) -> None:
        """Back to the list; what is read is called off, and what sounds falls silent."""
        self.leave()
        self._wanted = None
        self.closed.emit()

    def leave(self) -> None:
        """The page is gone from view."""
        if self._listened() is not None:
            self._desk.conversation.listen(None)

    def show_snapshot(self, snapshot: Snapshot) -> None:
        """Show what sounds, and whether anything may."""
        self._snapshot = snapshot
        listened, number = snapshot.listened, self._listened()
        for index, (button, candidate) in enumerate(zip(self.felt.listen, self._candidates, strict=False)):
            sounds = index == number
            label = "Stop" if sounds else "Listen"
            if button.text() != label:
                button.setText(label)
                name = printable(self._name(index))
                button.setAccessibleName(f"Stop listening to {name}" if sounds else f"Listen to {name}")
            free = candidate.blocks is not None and snapshot.phase.at_rest
            if button.isEnabled() != free:
                button.setEnabled(free)
            tip = "" if free else candidate.says if candidate.blocks is None else "Stop the conversation first"
            if button.toolTip() != tip:
                button.setToolTip(tip)
        at_ns = None if listened is None else listened.at_ns
        self.meters.show_playing(None if at_ns is None else number, at_ns or 0)

    def save(self, path: Path) -> None:
        """Draw the comparison to a file, and say so."""
        if (looked := self._looked) is None:
            return
        self._desk.say(f"Drawing {path.name} …")
        self._desk.background.run(
            lambda: write_side_by_side(looked.comparison, path),
            lambda _: self._desk.say(f"The picture is in {path}."),
            self._desk.fail,
        )

    def resizeEvent(self, event: QResizeEvent) -> None:
        """The chosen second beside the meters where there is room, else beneath them."""
        super().resizeEvent(event)
        self._turn()

    def _lay_out(self) -> None:
        self.column.addLayout(row(self.title, 1, self.export, self.back))
        self.column.addWidget(self.says)
        self.column.addWidget(self.body)
        self.column.addStretch(1)
        controls = row(self.nearer, self.farther, self.whole)
        for button in (self.nearer, self.farther, self.whole):
            button.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        controls.addWidget(self.where, 1)
        controls.addWidget(self.scale)
        beside = QWidget(), QWidget()
        left, right = (QVBoxLayout(each) for each in beside)
        for each in (left, right):
            each.setContentsMargins(0, 0, 0, 0)
            each.setSpacing(8)
        left.addWidget(self.meters, 1)
        left.addLayout(controls)
        right.addWidget(self.second_title)
        right.addWidget(self.second)
        right.addStretch(1)
        self._split = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._split.setSpacing(16)
        self._split.addWidget(beside[0], 1)
        self._split.addWidget(beside[1])
        body = QVBoxLayout(self.body)
        body.setContentsMargins(0, 0, 0, 0)
        body.setSpacing(12)
        body.addWidget(self.felt)
        body.addLayout(self._split)
        body.addWidget(self.beware)
        body.addWidget(self.sound)
        body.addWidget(self.about)
        body.addLayout(row(heading("Figures"), 1, self.everything))
        body.addWidget(self.figures)
        self._turn()

    def _turn(self) -> None:
        beside = self.viewport().width() >= SIDE_BY_SIDE
        directions = QBoxLayout.Direction
        self._split.setDirection(directions.LeftToRight if beside else directions.TopToBottom)
        self.felt.set_bands(1 if self.viewport().width() >= ONE_BAND else 2)
        most = round(self.viewport().width() * TABLE_SHARE)
        self.second.setMinimumWidth(min(self.second.whole_width, most) if beside else 0)

    def _show(self, looked: Looked) -> None:
        """Show what was read, a part a turn of the window's loop: all at once would take 90 ms."""
        self._looked = looked
        self._parts = [self._show_words, self._show_felt, self._show_meters, self._show_figures]
        self._next_part.start()

    def _show_part(self) -> None:
        if self._parts and self._looked is not None:
            self._parts.pop(0)(self._looked)
        else:
            self._next_part.stop()

    def _show_words(self, looked: Looked) -> None:
        comparison, names = looked.comparison, looked.names
        self.title.setText(f"{', '.join(names[:-1])} and {names[-1]}")
        said = headline(comparison)
        self.says.setText(f"{said[:1].upper()}{said[1:]}. {'. '.join(words.bits(comparison))}.")
        heads = [
            f"{name}: {described(each.header)}, {printable(each.header.wall_clock)}"
            for name, each in zip(names, comparison.sessions, strict=True)
        ]
        self.about.setText("What was compared. " + ". ".join(heads) + ".")
        beware = words.beware(comparison, self._known)
        self.beware.setText("\n".join(beware))
        self.beware.setVisible(bool(beware))
        self.sound.setText("What you hear. " + " ".join(self._sounds(names)))

    def _show_felt(self, looked: Looked) -> None:
        self.felt.show_comparison(looked.comparison, self._listen)

    def _show_meters(self, looked: Looked) -> None:
        self.meters.model.show(looked.comparison, looked.closes)
        self.body.show()
        self.export.setEnabled(True)
        self.meters.refresh()
        self.show_snapshot(self._snapshot)
        if self.isVisible() and self.back.hasFocus():
            self.meters.setFocus()
            self.verticalScrollBar().setValue(0)

    def _show_more(self) -> None:
        if self._looked is not None:
            self._show_figures(self._looked)

    def _show_figures(self, looked: Looked) -> None:
        self.figures.show_comparison(looked.comparison, everything=self.everything.isChecked())

    def _sounds(self, names: Sequence[str]) -> list[str]:
        """What is heard of each; what is true of all is said once."""
        says = [each.says for each in self._candidates]
        if len(set(says)) == 1:
            return [printable(says[0])]
        return [f"{name}: {printable(each)}" for name, each in zip(names, says, strict=True)]

    def _show_axis(self) -> None:
        model = self.meters.model
        nearer, farther = model.zoomed
        focused = self.window().focusWidget()
        for button, able in ((self.nearer, nearer), (self.farther, farther), (self.whole, farther)):
            button.setEnabled(able)
            if button is focused and not able:
                self.meters.setFocus()
        first, past = model.columns
        with QSignalBlocker(self.where):
            self.where.setRange(first, max(first, past - model.axis.columns))
            self.where.setPageStep(max(1, model.axis.columns // 2))
            self.where.setValue(model.axis.first)
        self.where.setVisible(farther)
        self.scale.setText(words.scale(model.axis))
        at_s = model.told_s
        self.second_title.setText("No second chosen" if at_s is None else f"At {words.column(model.axis, at_s)}")
        self.second.show_model(model)
        self._turn()

    def _name(self, number: int) -> str:
        return "" if self._looked is None else self._looked.comparison.sessions[number].name

    def _listened(self) -> int | None:
        """Which session sounds."""
        listened = self._snapshot.listened
        logs = [str(each.log) for each in self._candidates]
        return logs.index(listened.name) if listened is not None and listened.name in logs else None

    def _listen(self, number: int) -> None:
        """Let a session sound from the first second in view, or stop it."""
        if self._looked is None:
            return
        if number == self._listened():
            self._desk.conversation.listen(None)
            return
        model = self.meters.model
        begins_ns = model.axis.begin_s * 1_000_000_000 if model.zoomed[1] else -(1 << 62)
        measured = self._looked.comparison.sessions[number]
        self._desk.conversation.listen(self._candidates[number].track(measured, begins_ns))

    def _ask_where(self) -> None:
        dialog = QFileDialog(self, "Save the picture")
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setNameFilters(["Picture (*.png)", "Picture that scales (*.svg)", "Page (*.pdf)"])
        dialog.setDefaultSuffix("png")
        dialog.selectFile("comparison.png")
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(lambda path: self.save(Path(path)))
        dialog.open()
