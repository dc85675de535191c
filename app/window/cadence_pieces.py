"""The shapes that the cadence meter is painted of: pieces of stages, who spoke, gaps, marks. [ui].

Nothing is told by colour alone: who spoke is told by shapes, stages by their order and in figures, lateness by a mark
above the bar and in words.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Generic, Protocol, TypeVar

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QPainter, QPen, QPolygonF

from app.window.cadence_layout import Fonts, Layout
from app.window.cadence_model import Bar
from app.window.theme import GRAPHIC_CONTRAST, Colours, mixed, readable

LEAST_PIECE_MS = 1.0  # of waiting and other work; a thinner piece would be all outline
MARK = 7.0  # width of a mark on a late bar
_HATCHES = {
    2: Qt.BrushStyle.BDiagPattern,
    3: Qt.BrushStyle.Dense6Pattern,
    4: Qt.BrushStyle.VerPattern,
    5: Qt.BrushStyle.FDiagPattern,
    7: Qt.BrushStyle.DiagCrossPattern,
}  # as in the exported picture

Shown = TypeVar("Shown", bound="Bars", covariant=True)


class Bars(Protocol):
    """What is painted of a session."""

    bars: tuple[Bar, ...]

    @property
    def chosen(self) -> Bar | None:
        """The bar in a frame."""
        ...

    @property
    def pointed(self) -> Bar | None:
        """The bar under the mouse."""
        ...

    def number(self, stage: str) -> int | None:
        """A stage's number; None for what is no stage."""
        ...


@dataclass(frozen=True)
class Scene(Generic[Shown]):
    """What painting goes by."""

    model: Shown
    layout: Layout
    fonts: Fonts
    colours: Colours
    focused: bool


def paint_pieces(painter: QPainter, boxes: Sequence[QRectF], colours: Colours, number: int) -> None:
    """A stage: its fill within an edge of its hue."""
    painter.setBrush(QColor(colours.edge(number)))
    painter.drawRects(list(boxes))
    inner = [box.adjusted(1, 1, -1, 0 if box.height() < 4 else -1) for box in boxes if box.height() >= 3]
    if not inner:
        return
    painter.setBrush(QColor(colours.stage(number)))
    painter.drawRects(inner)
    hatch = _HATCHES.get(number % len(colours.stages))
    if hatch is not None and colours.hatched:
        painter.setBrush(QBrush(QColor("#000000" if number % len(colours.stages) != 7 else "#ffffff"), hatch))
        painter.drawRects(inner)


def paint_other(painter: QPainter, boxes: Sequence[QRectF], colours: Colours) -> None:
    """Work of no stage: hollow."""
    painter.setBrush(QColor(mixed(colours.base, colours.ink, 0.12)))
    painter.setPen(QPen(QColor(readable(colours.line, colours.base, GRAPHIC_CONTRAST)), 1))
    painter.drawRects([box.adjusted(0.5, 0.5, -0.5, -0.5) for box in boxes])
    painter.setPen(Qt.PenStyle.NoPen)


def paint_waiting(painter: QPainter, boxes: Sequence[QRectF], colours: Colours) -> None:
    """Waiting for the unit before: hatched, within dots."""
    painter.setBrush(QBrush(QColor(colours.faint), Qt.BrushStyle.BDiagPattern))
    painter.setPen(QPen(QColor(colours.faint), 1, Qt.PenStyle.DotLine))
    painter.drawRects([box.adjusted(0.5, 0.5, -0.5, -0.5) for box in boxes])
    painter.setPen(Qt.PenStyle.NoPen)


def paint_cut(painter: QPainter, box: QRectF, colours: Colours) -> None:
    """A torn edge: the bar goes on above the axis."""
    y, middle = box.top() + 8, box.center().x()
    tear = [
        QPointF(box.left() - 2, y + 3),
        QPointF(middle - 1, y - 1),
        QPointF(middle + 1, y + 3),
        QPointF(box.right() + 2, y - 1),
    ]
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(QColor(colours.base), 3))
    painter.drawPolyline(tear)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
    painter.setPen(Qt.PenStyle.NoPen)


def paint_events(painter: QPainter, lane: QRectF, width: float, events: Sequence[str], colours: Colours) -> None:
    """Who spoke, one column after the other: SPEAK is a band, FLUSH ends it in a slope, LISTEN is a ring.

    Args:
        painter: Smooths edges.
        lane: Begins with the first event.
        width: Of one.
        events: "SPEAK", "FLUSH" or "LISTEN"; empty where there is no unit.
        colours: The theme's.
    """
    left, top, bottom, at = lane.left(), lane.top(), lane.bottom(), 0
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(colours.ink))
    rings = []
    for event, run in groupby(events):
        first, at = at, at + len(list(run))
        if event == "SPEAK":
            painter.drawRect(QRectF(left + first * width, top, (at - first) * width + 0.3, lane.height()))
        elif event == "FLUSH":
            for x in (left + index * width for index in range(first, at)):
                painter.drawPolygon(QPolygonF([QPointF(x, top), QPointF(x + width, bottom), QPointF(x, bottom)]))
        elif event:
            rings += [QPointF(left + (index + 0.5) * width, lane.center().y()) for index in range(first, at)]
    radius = min(2.2, width / 4)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.setPen(QPen(QColor(colours.faint), 1.2))
    for ring in rings:
        painter.drawEllipse(ring, radius, radius)
    painter.setPen(Qt.PenStyle.NoPen)


def paint_gap(painter: QPainter, box: QRectF, colours: Colours) -> None:
    """A gap in the voice: the band is broken, between two strokes."""
    painter.setPen(Qt.PenStyle.NoPen)
    broken = QRectF(box.center().x() - 4, box.top() - 1, 8, box.height() + 2)
    painter.setBrush(QColor(colours.base))
    painter.drawRect(broken.adjusted(-0.5, 0, 0.5, 0))
    painter.setBrush(QColor(colours.alarm))
    for x in (broken.left() + 1, broken.right() - 3):
        painter.drawRect(QRectF(x, broken.top(), 2, broken.height()))


def paint_triangle(painter: QPainter, x: float, top: float, colours: Colours) -> None:
    """The mark of what is late; its tip points down."""
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(colours.alarm))
    half = MARK / 2 + 0.5
    painter.drawPolygon(QPolygonF([QPointF(x - half, top), QPointF(x + half, top), QPointF(x, top + MARK)]))
