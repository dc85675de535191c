"""The session in figures, beside the meter: slack and response delay, overruns, gaps, dead air, how stages ran.

Each figure is a label that a screen reader reads with what it tells. It is written anew only where it differs. [ui]
"""

from collections.abc import Mapping
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QFrame, QGridLayout, QLabel, QSizePolicy, QWidget

from app.live.snapshot import Snapshot
from app.window.theme import sized
from engine.cadence import Spread, Statistics
from engine.phrases import counted, spoken
from engine.timing import SessionHeader

NOTHING = "-"
SPREADS = ("Median", "95%", "99%", "Worst")
REPLAYED = ("graph", "clocked", "seam")  # paths of stages that ran from a captured graph
WIDEST = "88.88 s"


@dataclass(frozen=True)
class Fact:
    """One figure.

    Args:
        name: What it tells.
        value: In words.
        why: What it means, for whoever rests the mouse on it.
        alarms: Whether it is bad.
    """

    name: str
    value: str
    why: str = ""
    alarms: bool = False


def spread(values: Spread | None) -> tuple[str, ...]:
    """The four figures of `SPREADS`."""
    if values is None:
        return (NOTHING,) * len(SPREADS)
    return tuple(spoken(each) for each in (values.median, values.p95, values.p99, values.worst))


def facts(figures: Statistics | None, paths: Mapping[str, int], header: SessionHeader | None) -> tuple[Fact, ...]:
    """What is counted; the same names in the same order whatever there is."""
    runs, hits = sum(paths.values()), sum(paths.get(path, 0) for path in REPLAYED)
    eager = paths.get("eager", 0)
    on_cpu = header is not None and header.device.startswith("cpu")
    late = lost = gaps = dead = NOTHING
    if figures is not None:
        late = f"{figures.overruns} of {figures.units}"
        gaps = f"{figures.underflows} ({spoken(figures.gap_ms)})" if figures.gap_ms else "none"
        lost = spoken(figures.dropped_ms) if figures.dropped_ms else "none"
        dead = spoken(figures.dead_air_ms)
    hit = NOTHING if not runs else f"{hits} of {runs}"
    if on_cpu and runs:
        hit = "none on a CPU"
    return (
        Fact("Overruns", late, "Units that were done after their deadline", bool(figures and figures.overruns)),
        Fact("Gaps", gaps, "Silence in the middle of the agent's speech", bool(figures and figures.gap_ms)),
        Fact("Mic lost", lost, "Microphone audio that never reached the model", bool(figures and figures.dropped_ms)),
        Fact("Dead air", dead, "All waiting for answers, and all gaps"),
        Fact("Graph hits", hit, "Stages that ran from a graph captured before"),
        Fact(
            "Eager runs",
            str(eager) if runs else NOTHING,
            "A CPU has no graphs: all stages run eagerly" if on_cpu else "Stages without a graph of their shape",
            bool(eager) and not on_cpu and bool(hits),
        ),
    )


def in_words(figures: Statistics | None) -> str:
    """The spreads and counts in one line, for a screen reader that asks the meter."""
    if figures is None:
        return ""
    said = [f"{counted(figures.units, 'unit')} in all, {counted(figures.overruns, 'overrun')}"]
    for name, values in (("slack", figures.slack_ms), ("response delay", figures.response_delay_ms)):
        if values is not None:
            said.append(f"{name} median {spoken(values.median)}, 95 percent {spoken(values.p95)}")
    return ". ".join(said)


class Figure(QLabel):
    """A figure's text, named with what it tells.

    Args:
        what: "Slack, median".
    """

    def __init__(self, what: str) -> None:
        super().__init__()
        self._what = what
        self.setFont(sized(self.font(), bold=True))
        self.setMinimumWidth(self.fontMetrics().horizontalAdvance(WIDEST))
        self.show_value("")

    def show_value(self, value: str, why: str = "", *, alarms: bool = False) -> None:
        """Show another figure."""
        value = value or NOTHING
        if value != self.text():
            self.setText(value)
            self.setAccessibleName(f"{self._what}: {'not known yet' if value == NOTHING else value}")
        if why != self.toolTip():
            self.setToolTip(why)
        name = "alarm" if alarms else ""
        if name != self.objectName():
            self.setObjectName(name)
            self.style().polish(self)


class Figures(QFrame):
    """Spreads in a table, and counts beside it, or beneath it where the card is narrow."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("card")
        self.setAccessibleName("Figures of the session")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._slack = tuple(Figure(f"Slack, {each.lower()}") for each in SPREADS)
        self._delay = tuple(Figure(f"Response delay, {each.lower()}") for each in SPREADS)
        self._facts = tuple(Figure(fact.name) for fact in facts(None, {}, None))
        self._flow = QBoxLayout(QBoxLayout.Direction.LeftToRight, self)
        self._flow.setContentsMargins(16, 10, 16, 10)
        self._flow.setSpacing(10)
        self._spreads, self._counts = self._spread_table(), self._count_table()
        self._flow.addWidget(self._spreads)
        self._flow.addStretch(1)
        self._flow.addWidget(self._counts)
        self.show_snapshot(Snapshot())

    def show_snapshot(self, snapshot: Snapshot) -> None:
        """Show how the session stands."""
        figures = snapshot.figures
        for labels, values in (
            (self._slack, figures.slack_ms if figures else None),
            (self._delay, figures.response_delay_ms if figures else None),
        ):
            for label, value in zip(labels, spread(values), strict=True):
                label.show_value(value)
        for label, fact in zip(self._facts, facts(figures, snapshot.paths, snapshot.header), strict=True):
            label.show_value(fact.value, fact.why, alarms=fact.alarms)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Lay out side by side where there is room."""
        super().resizeEvent(event)
        self._turn()

    def event(self, event: QEvent) -> bool:
        """A figure that has grown may need another layout."""
        done = super().event(event)
        if event.type() is QEvent.Type.LayoutRequest:
            self._turn()
        return done

    def _turn(self) -> None:
        margins = self._flow.contentsMargins()
        needed = self._spreads.sizeHint().width() + self._counts.sizeHint().width() + 3 * self._flow.spacing()
        fits = needed + margins.left() + margins.right() <= self.width()
        directions = QBoxLayout.Direction
        wanted = directions.LeftToRight if fits else directions.TopToBottom
        if wanted is not self._flow.direction():
            self._flow.setDirection(wanted)

    def minimumSizeHint(self) -> QSize:
        """As narrow as its wider half."""
        margins = self._flow.contentsMargins()
        wide = max(self._spreads.minimumSizeHint().width(), self._counts.minimumSizeHint().width())
        return QSize(wide + margins.left() + margins.right(), super().minimumSizeHint().height())

    def _spread_table(self) -> QWidget:
        table, grid = _table()
        for column, name in enumerate(SPREADS, 1):
            grid.addWidget(_faint(name), 0, column, Qt.AlignmentFlag.AlignRight)
        for line, (name, why, labels) in enumerate(
            (
                ("Slack", "Deadline minus finish: what was left of a second", self._slack),
                ("Response delay", "From the end of your last word to the first sound of the answer", self._delay),
            ),
            1,
        ):
            head = QLabel(name)
            head.setToolTip(why)
            grid.addWidget(head, line, 0)
            for column, label in enumerate(labels, 1):
                label.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
                grid.addWidget(label, line, column)
        return table

    def _count_table(self) -> QWidget:
        table, grid = _table()
        rows = 3
        for index, (label, fact) in enumerate(zip(self._facts, facts(None, {}, None), strict=True)):
            line, column = index % rows, index // rows * 2
            head = QLabel(fact.name)
            head.setToolTip(fact.why)
            grid.addWidget(head, line, column)
            grid.addWidget(label, line, column + 1)
        return table


def _table() -> tuple[QWidget, QGridLayout]:
    table = QWidget()
    grid = QGridLayout(table)
    grid.setContentsMargins(0, 0, 0, 0)
    grid.setHorizontalSpacing(14)
    grid.setVerticalSpacing(4)
    return table, grid


def _faint(words: str) -> QLabel:
    label = QLabel(words)
    label.setObjectName("faint")
    return label
