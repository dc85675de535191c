"""Paints the cadence meter: what stands still until a unit is done, and the bar that fills meanwhile. [ui]."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from PySide6.QtCore import QLineF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen

from app.window import cadence_words as words
from app.window.cadence_layout import BAR_SHARE, Layout
from app.window.cadence_model import Bar, CadenceModel
from app.window.cadence_pieces import (
    LEAST_PIECE_MS,
    MARK,
    Bars,
    Scene,
    paint_cut,
    paint_events,
    paint_gap,
    paint_other,
    paint_pieces,
    paint_triangle,
    paint_waiting,
)
from app.window.theme import SPACES, mixed
from engine.cadence.rows import OTHER, WAITING
from engine.phrases import spoken

GRID_CADENCES = (0.0, 0.25, 0.5, 0.75, 2.0, 3.0)
LATE_LABELS = 5  # in words, on the worst; more would run into each other
TIME_STEPS_S = (1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600, 86400)


def paint_card(painter: QPainter, scene: Scene[Bars]) -> None:
    """The ground that all is painted on, with the ring of the focus."""
    colours, ring = scene.colours, SPACES.ring if scene.focused else SPACES.hair
    box = scene.layout.card
    painter.fillRect(box, QColor(colours.window))
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(QColor(colours.accent if scene.focused else colours.line), ring))
    painter.setBrush(QColor(colours.base))
    box = box.adjusted(ring / 2, ring / 2, -ring / 2, -ring / 2)
    painter.drawRoundedRect(box, SPACES.corner, SPACES.corner)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)


def paint_plot(painter: QPainter, scene: Scene[Bars]) -> None:
    """The bars on their axes, but for the bar under way; what was there is painted over."""
    with _within(painter, scene, scene.layout.above):
        _paint_grid(painter, scene)
        _paint_highlights(painter, scene)
        bars = scene.model.bars
        _paint_spans(painter, scene, enumerate(bars))
        _paint_deadline(painter, scene)
        _paint_late(painter, scene, bars)


def paint_lanes(painter: QPainter, scene: Scene[Bars]) -> None:
    """Who spoke, when an answer began and after how long, where a gap was heard; the time beneath."""
    layout, bars = scene.layout, scene.model.bars
    with _within(painter, scene, layout.lanes):
        _paint_highlights(painter, scene)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        paint_events(painter, layout.events, layout.column_width, [bar.event for bar in bars], scene.colours)
        for index, bar in enumerate(bars):
            if bar.gap_ms:
                x = layout.events.left() + index * layout.column_width
                box = QRectF(x, layout.events.top(), layout.column_width, layout.events.height())
                paint_gap(painter, box, scene.colours)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        if layout.notes.height():
            _paint_notes(painter, scene, bars)
        if layout.times.height():
            paint_times(painter, scene, [bar.arrival_ns for bar in bars])


@contextmanager
def _within(painter: QPainter, scene: Scene[Bars], region: QRectF) -> Iterator[None]:
    """Paint over a region, and over nothing else."""
    painter.save()
    painter.setClipRect(region)
    painter.fillRect(region, QColor(scene.colours.base))
    yield
    painter.restore()


def paint_running(painter: QPainter, scene: Scene[CadenceModel]) -> None:
    """The bar under way, over what stands still: how much of its time has gone by, and what has been done in it."""
    bar = scene.model.running
    if bar is None:
        return
    index, layout, colours = len(scene.model.bars), scene.layout, scene.colours
    box = bar_box(layout, index)
    if bar.elapsed_ms is not None:
        top = layout.y(min(bar.fraction(bar.elapsed_ms), 1.0))
        gone = QRectF(box.left(), top, box.width(), layout.plot.bottom() - top)
        painter.fillRect(gone, QColor(mixed(colours.base, colours.ink, 0.12)))
        painter.fillRect(QRectF(gone.left(), top - 1, gone.width(), 2), QColor(colours.faint))
    _paint_spans(painter, scene, [(index, bar)])
    _paint_deadline(painter, scene, layout.column(index))
    if bar.late:
        _paint_mark(painter, scene, index, bar)


def running_box(layout: Layout, index: int) -> QRectF:
    """What `paint_running` may touch."""
    return layout.column(index).adjusted(-MARK, -MARK * 2, MARK, 0)


def bar_box(layout: Layout, index: int) -> QRectF:
    """Where a bar may be, over the plot's height."""
    left, width = bar_place(layout, index)
    return QRectF(left, layout.plot.top(), width, layout.plot.height())


def bar_place(layout: Layout, index: int) -> tuple[int, int]:
    """A bar's left and width, on whole pixels so that it is crisp."""
    column = layout.column_width
    left = layout.plot.left() + (index + (1 - BAR_SHARE) / 2) * column
    return round(left), max(1, round(column * BAR_SHARE))


def _paint_grid(painter: QPainter, scene: Scene[Bars]) -> None:
    layout, colours = scene.layout, scene.colours
    metrics = QFontMetricsF(scene.fonts.small)
    cadence_ms = next((bar.cadence_ms for bar in reversed(scene.model.bars)), 1000.0)
    if any(bar.units > 1 for bar in scene.model.bars):
        cadence_ms = 1000.0  # a bar is a second of units
    painter.setFont(scene.fonts.small)
    crowded = layout.plot.height() * 0.25 / layout.top < metrics.height() * 1.2
    for cadences in GRID_CADENCES:
        if cadences >= layout.top:
            break
        y = round(layout.y(cadences)) + 0.5
        grid = colours.faint if cadences == 0 else mixed(colours.base, colours.ink, 0.16)
        painter.setPen(QPen(QColor(grid), 1))
        painter.drawLine(QLineF(layout.plot.left(), y, layout.plot.right(), y))
        if not crowded or cadences in (0.0, 0.5, 2.0, 3.0):
            painter.setPen(QColor(colours.faint))
            _left_of_plot(painter, layout, y, _seconds(cadences * cadence_ms), metrics)
    painter.setPen(QColor(colours.ink))
    _left_of_plot(painter, layout, layout.y(1.0), _seconds(cadence_ms), metrics)


def _left_of_plot(painter: QPainter, layout: Layout, y: float, text: str, metrics: QFontMetricsF) -> None:
    box = QRectF(0, y - metrics.height() / 2, layout.plot.left() - SPACES.medium, metrics.height())
    painter.drawText(box, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, text)


def _seconds(ms: float) -> str:
    return "0" if ms == 0 else f"{ms / 1000:.3g} s"


def _paint_highlights(painter: QPainter, scene: Scene[Bars]) -> None:
    """The column under the mouse, and the chosen one with a frame."""
    model, layout, colours = scene.model, scene.layout, scene.colours
    for bar, share in ((model.pointed, 0.10), (model.chosen, 0.18)):
        if bar is not None:
            column = layout.column(model.bars.index(bar))
            painter.fillRect(column, QColor(mixed(colours.base, colours.accent, share)))
    if model.chosen is not None:
        frame = layout.column(model.bars.index(model.chosen))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(QColor(colours.accent), SPACES.ring if scene.focused else SPACES.hair))
        painter.drawRect(frame.adjusted(-0.5, -0.5, 0.5, 1.5))


def _paint_deadline(painter: QPainter, scene: Scene[Bars], over: QRectF | None = None) -> None:
    """The line with its name, or the line over one column."""
    layout = scene.layout
    y = round(layout.y(1.0))
    box = over or layout.plot.adjusted(-SPACES.small, 0, SPACES.small, 0)
    painter.fillRect(QRectF(box.left(), y - 1, box.width(), 2), QColor(scene.colours.ink))
    if over is None:
        height = QFontMetricsF(scene.fonts.small).height()
        name = QRectF(layout.plot.right() + SPACES.medium, y - height / 2, 200, height)
        painter.setFont(scene.fonts.small)
        painter.setPen(QColor(scene.colours.ink))
        painter.drawText(name, Qt.AlignmentFlag.AlignVCenter, "deadline")


def _paint_spans(painter: QPainter, scene: Scene[Bars], bars: Iterable[tuple[int, Bar]]) -> None:
    """Each stage's pieces at once, an edge about each; other work is hollow, waiting hatched."""
    layout, colours = scene.layout, scene.colours
    pieces: dict[str, list[QRectF]] = {}
    cut: list[QRectF] = []
    floor, height = layout.plot.bottom(), layout.plot.height()
    for index, bar in bars:
        left, width = bar_place(layout, index)
        pixels = height / layout.top / max(bar.cadence_ms, 1e-6)  # a millisecond's
        for span in bar.spans:
            if span.name in (OTHER, WAITING) and span.end_ms - span.start_ms < LEAST_PIECE_MS:
                continue
            top = round(floor - min(span.end_ms * pixels, height))
            below = round(floor - min(span.start_ms * pixels, height))
            pieces.setdefault(span.name, []).append(QRectF(left, top, width, max(1, below - top)))
        if bar.height > layout.top:
            cut.append(bar_box(layout, index))
    painter.setPen(Qt.PenStyle.NoPen)
    for name, boxes in pieces.items():
        number = scene.model.number(name)
        if number is not None:
            paint_pieces(painter, boxes, colours, number)
        elif name == WAITING:
            paint_waiting(painter, boxes, colours)
        else:
            paint_other(painter, boxes, colours)
    for box in cut:
        paint_cut(painter, box, colours)


def _paint_notes(painter: QPainter, scene: Scene[Bars], bars: Sequence[Bar]) -> None:
    """How long each answer was waited for, under its first bar, as far as there is room."""
    layout = scene.layout
    metrics = QFontMetricsF(scene.fonts.small)
    painter.setFont(scene.fonts.small)
    painter.setPen(QColor(scene.colours.faint))
    free_x = layout.plot.left()
    for index, bar in enumerate(bars):
        x = layout.column(index).left()
        if bar.delay_ms is None or x < free_x:
            continue
        text = f"{bar.delay_ms / 1000:.1f} s"
        box = QRectF(x, layout.notes.top(), metrics.horizontalAdvance(text) + 2, layout.notes.height())
        painter.drawText(box, Qt.AlignmentFlag.AlignVCenter, text)
        free_x = box.right() + SPACES.small


def paint_times(painter: QPainter, scene: Scene[Bars], begun_ns: Sequence[int]) -> None:
    """Round times under their columns, as many as fit.

    Args:
        painter: Where.
        scene: How.
        begun_ns: When each column began.
    """
    if not begun_ns:
        return
    layout = scene.layout
    metrics = QFontMetricsF(scene.fonts.small)
    painter.setFont(scene.fonts.small)
    painter.setPen(QColor(scene.colours.faint))
    wide = metrics.horizontalAdvance(words.time(begun_ns[-1])) + SPACES.large
    spanned_s = max(1e-3, (begun_ns[-1] - begun_ns[0]) / 1e9) / max(1, len(begun_ns) - 1)
    step_s = next((step for step in TIME_STEPS_S if step / spanned_s * layout.column_width >= wide), TIME_STEPS_S[-1])
    before = None
    for index, at_ns in enumerate(begun_ns):
        tick, before = at_ns // 1_000_000_000 // step_s, before if index else None
        if (before is None and at_ns // 1_000_000_000 % step_s == 0) or (before is not None and tick > before):
            middle = layout.column(index).center().x()
            box = QRectF(middle - wide, layout.times.top(), wide * 2, layout.times.height())
            painter.drawText(box, Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignVCenter, words.time(at_ns))
        before = tick


def _paint_late(painter: QPainter, scene: Scene[Bars], bars: Sequence[Bar]) -> None:
    """A mark on every late bar; in words on the worst, as far as there is room."""
    late = [(index, bar) for index, bar in enumerate(bars) if bar.late]
    for index, bar in late:
        _paint_mark(painter, scene, index, bar)
    metrics = QFontMetricsF(scene.fonts.small)
    painter.setFont(scene.fonts.small)
    taken: list[QRectF] = []
    for index, bar in sorted(late, key=lambda pair: pair[1].slack_ms or 0.0)[:LATE_LABELS]:
        text = f"{spoken(-(bar.slack_ms or 0.0))} late"
        width, column = metrics.horizontalAdvance(text) + 6, scene.layout.column(index)
        bottom = _mark_top(scene.layout, bar) + MARK
        right = QRectF(column.center().x() + MARK, bottom - metrics.height(), width, metrics.height())
        left = right.translated(-width - 2 * MARK, 0)
        box = next((each for each in (right, left) if _is_free(scene, each, taken)), None)
        if box is None:
            continue
        taken.append(box)
        painter.fillRect(box, QColor(scene.colours.base))
        painter.setPen(QColor(scene.colours.alarm))
        painter.drawText(box, Qt.AlignmentFlag.AlignCenter, text)


def _is_free(scene: Scene[Bars], box: QRectF, taken: Sequence[QRectF]) -> bool:
    """Whether a label there covers no bar and no other label."""
    layout = scene.layout
    if box.left() < layout.plot.left() or box.right() > layout.plot.right():
        return False
    if any(box.adjusted(-2, 0, 2, 0).intersects(other) for other in taken):
        return False
    first, last = layout.column_at(box.left()) or 0, layout.column_at(box.right())
    beneath = scene.model.bars[first : None if last is None else last + 1]
    return all(layout.y(bar.height) > box.bottom() for bar in beneath)


def _mark_top(layout: Layout, bar: Bar) -> float:
    """Above the bar, and above the deadline where the bar itself is not (units late within their second)."""
    return layout.y(max(bar.height, 1.0)) - MARK - 3


def _paint_mark(painter: QPainter, scene: Scene[Bars], index: int, bar: Bar) -> None:
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    paint_triangle(painter, bar_box(scene.layout, index).center().x(), _mark_top(scene.layout, bar), scene.colours)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
