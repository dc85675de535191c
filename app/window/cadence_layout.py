"""Where the cadence meter's parts lie: summary, plot, lanes, legend; arithmetic on a size and a font [ui]."""

from dataclasses import dataclass

from PySide6.QtCore import QRectF, QSizeF
from PySide6.QtGui import QFont, QFontMetricsF

from app.live.snapshot import SHOWN_UNITS
from app.window.theme import SPACES, sized

COLUMNS = SHOWN_UNITS + 1  # the last for the unit under way
BAR_SHARE = 0.74  # of a column
SUMMARY_TIMES, SMALL_TIMES = 1.15, 0.9
WIDEST_FIGURE = "888.8 ms"
MOST_LEGEND_LINES = 3
LEAST_PLOT = 56.0
LANE = 9.0


@dataclass(frozen=True)
class Fonts:
    """What the meter is written in."""

    usual: QFont
    strong: QFont
    small: QFont
    summary: QFont

    @classmethod
    def of(cls, font: QFont) -> "Fonts":
        """From a widget's own font."""
        return cls(sized(font), sized(font, bold=True), sized(font, SMALL_TIMES), sized(font, SUMMARY_TIMES, bold=True))


@dataclass(frozen=True)
class Chip:
    """A stage's place in the legend."""

    number: int
    name: str
    box: QRectF
    figure: QRectF


@dataclass(frozen=True)
class Layout:
    """The parts' places.

    Args:
        card: The whole meter's.
        summary: The meter in a sentence.
        plot: The bars', from the chunk's arrival at its bottom to `top` cadences.
        events: Who spoke.
        notes: Response delays; empty where there is no room.
        times: The time axis' labels.
        headline: One bar in words.
        chips: The legend, which tells that bar's figures.
        keys: What the shapes mean; empty where there is no room.
        top: How many cadences the plot's height is.
        columns: How many bars its width is.
    """

    card: QRectF
    summary: QRectF
    plot: QRectF
    events: QRectF
    notes: QRectF
    times: QRectF
    headline: QRectF
    chips: tuple[Chip, ...]
    keys: QRectF
    top: float
    columns: int = COLUMNS

    @property
    def above(self) -> QRectF:
        """Everything between the summary and the lanes: what `paint_plot` paints."""
        height = self.events.top() - self.summary.bottom()
        return QRectF(self.summary.left(), self.summary.bottom(), self.summary.width(), height)

    @property
    def lanes(self) -> QRectF:
        """Everything between the plot and the words beneath: what `paint_lanes` paints."""
        height = self.headline.top() - self.events.top()
        return QRectF(self.summary.left(), self.events.top(), self.summary.width(), height)

    @property
    def words(self) -> tuple[QRectF, QRectF]:
        """The summary, and the words beneath: what `paint_words` paints."""
        lowest = max([self.headline.bottom(), self.keys.bottom(), *(chip.box.bottom() for chip in self.chips)])
        foot = QRectF(self.headline.left(), self.headline.top(), self.headline.width(), lowest - self.headline.top())
        return self.summary, foot

    @property
    def column_width(self) -> float:
        """Of one bar with the space about it."""
        return self.plot.width() / self.columns

    def column(self, index: int) -> QRectF:
        """One column over plot and lanes."""
        height = max(self.events.bottom(), self.notes.bottom()) - self.plot.top()
        return QRectF(self.plot.left() + index * self.column_width, self.plot.top(), self.column_width, height)

    def column_at(self, x: float) -> int | None:
        """The column at x; None beside the plot."""
        if not self.plot.left() <= x < self.plot.right():
            return None
        return int((x - self.plot.left()) / self.column_width)

    def y(self, cadences: float) -> float:
        """How far down so many cadences after a chunk's arrival lie; what is above the axis lies on its edge."""
        return self.plot.bottom() - self.plot.height() * min(cadences, self.top) / self.top


def laid_out(size: QSizeF, fonts: Fonts, stages: tuple[str, ...], top: float) -> Layout:
    """Place everything.

    Args:
        size: The widget's.
        fonts: What it is written in.
        stages: Their shown names, in order.
        top: How many cadences the plot is high.
    """
    small, usual = QFontMetricsF(fonts.small), QFontMetricsF(fonts.usual)
    pad = SPACES.large
    inner = QRectF(pad, pad * 0.75, max(1.0, size.width() - 2 * pad), max(1.0, size.height() - 1.5 * pad))
    summary_height = QFontMetricsF(fonts.summary).height()
    summary = QRectF(inner.left(), inner.top(), inner.width(), summary_height)

    lines = _chips(stages, inner.width(), fonts)
    legend_height = len(lines) * (usual.height() + SPACES.small)
    foot = usual.height() + SPACES.medium + legend_height
    left = inner.left() + small.horizontalAdvance("0.25 s") + SPACES.medium
    right = inner.right() - small.horizontalAdvance("deadline") - SPACES.medium
    above = summary_height + small.height() + SPACES.medium  # with room for what is said of late bars
    room = inner.height() - above - LANE - small.height() - SPACES.small * 2 - foot
    keys_height = small.height() + SPACES.small
    has_keys = room - keys_height >= LEAST_PLOT
    room -= keys_height if has_keys else 0.0
    has_notes = room - small.height() >= LEAST_PLOT
    room -= small.height() if has_notes else 0.0
    plot = QRectF(
        left, summary.bottom() + small.height() + SPACES.medium, max(1.0, right - left), max(LEAST_PLOT, room)
    )

    events = QRectF(left, plot.bottom() + SPACES.small, plot.width(), LANE)
    notes = QRectF(left, events.bottom(), plot.width(), small.height() if has_notes else 0.0)
    times = QRectF(left, notes.bottom(), plot.width(), small.height())
    headline = QRectF(inner.left(), times.bottom() + SPACES.medium, inner.width(), usual.height())
    chips, y = [], headline.bottom() + SPACES.small
    for line in lines:
        chips += [
            Chip(chip.number, chip.name, chip.box.translated(inner.left(), y), chip.figure.translated(inner.left(), y))
            for chip in line
        ]
        y += usual.height() + SPACES.small
    keys = QRectF(inner.left(), y + SPACES.small / 2, inner.width(), small.height()) if has_keys else QRectF()
    return Layout(
        QRectF(0, 0, size.width(), size.height()),
        summary,
        plot,
        events,
        notes,
        times,
        headline,
        tuple(chips),
        keys,
        top,
    )


def swatch(box: QRectF) -> QRectF:
    """A chip's coloured square."""
    side = box.height() * 0.62
    return QRectF(box.left(), box.center().y() - side / 2, side, side)


def _chips(stages: tuple[str, ...], width: float, fonts: Fonts) -> list[list[Chip]]:
    """Lines of chips, as many as fit; each keeps its width whatever its figure is."""
    usual, strong = QFontMetricsF(fonts.usual), QFontMetricsF(fonts.strong)
    height, figure_width = usual.height(), strong.horizontalAdvance(WIDEST_FIGURE)
    lines: list[list[Chip]] = [[]] if stages else []
    x = 0.0
    for number, name in enumerate(stages):
        name_width = height * 0.62 + SPACES.small * 1.5 + usual.horizontalAdvance(name)
        whole = name_width + SPACES.medium * 0.75 + figure_width
        if lines[-1] and x + whole > width:
            if len(lines) == MOST_LEGEND_LINES:
                break
            lines.append([])
            x = 0.0
        figure = QRectF(x + name_width + SPACES.medium * 0.75, 0, figure_width, height)
        lines[-1].append(Chip(number, name, QRectF(x, 0, name_width, height), figure))
        x += whole + SPACES.medium
    return lines
