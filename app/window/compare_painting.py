"""Paints several sessions' meters under one another, over one time axis, of the cadence meter's pieces [ui]."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from PySide6.QtCore import QLineF, QPointF, QRectF, QSizeF, Qt
from PySide6.QtGui import QBrush, QColor, QFontMetricsF, QPainter, QPen, QPolygonF

from app.window.cadence_layout import LANE, LEAST_PLOT, Fonts, Layout
from app.window.cadence_painting import paint_card, paint_lanes, paint_plot, paint_times
from app.window.cadence_pieces import Scene
from app.window.compare_model import Axis, CompareModel, Lane
from app.window.theme import SPACES, Colours, mixed
from engine.cadence.rows import NS_PER_SECOND as NS
from engine.comparison import Measured, felt
from engine.phrases import printable, spoken

USUAL_PLOT = 84.0
TOUCHING = 0.5  # pixels
MOST_LABELS = 12  # of gaps and answers; more are painted without words


@dataclass(frozen=True)
class Marks:
    """When a session was heard, in pixels; what would touch is one, so that a long session has few.

    Args:
        voice: Where its voice sounded.
        silent: Where it was due and silent.
        gaps: How long each of those was, in ms; empty where they are too many to be told.
        waits: From a question's end to its answer.
        delays: How long each of those was, in ms; empty where they are too many to be told.
    """

    voice: list[QRectF]
    silent: list[QRectF]
    gaps: list[float]
    waits: list[tuple[float, float]]
    delays: list[float]


@dataclass(frozen=True)
class Places:
    """Where the parts of one session lie, beside what `Layout` knows.

    Args:
        layout: Its meter.
        voice: When its voice was heard, and the gaps.
        wait: How long each answer was waited for.
        marks: What lies in those two.
    """

    layout: Layout
    voice: QRectF
    wait: QRectF
    marks: Marks


def height_of(count: int, fonts: Fonts, plot: float = USUAL_PLOT) -> float:
    """How much room so many meters want."""
    return 1.5 * SPACES.large + count * (_beside(fonts) + plot) + QFontMetricsF(fonts.small).height()


def laid_out(size: QSizeF, fonts: Fonts, model: CompareModel) -> tuple[list[Places], QRectF]:
    """Place every session's meter, and the one time axis beneath them.

    Args:
        size: The widget's.
        fonts: What it is written in.
        model: The sessions.
    """
    small, strong = QFontMetricsF(fonts.small), QFontMetricsF(fonts.strong)
    pad = SPACES.large
    inner = QRectF(pad, pad * 0.75, max(1.0, size.width() - 2 * pad), max(1.0, size.height() - 1.5 * pad))
    left = inner.left() + small.horizontalAdvance("0.25 s") + SPACES.medium
    right = inner.right() - small.horizontalAdvance("deadline") - SPACES.medium
    width = max(1.0, right - left)
    room = (inner.height() - small.height()) / max(len(model.lanes), 1) - _beside(fonts)
    card, places, y = QRectF(0, 0, size.width(), size.height()), [], inner.top()
    for lane in model.lanes:
        summary = QRectF(inner.left(), y, inner.width(), strong.height())
        plot = QRectF(left, summary.bottom() + small.height() + SPACES.small, width, max(LEAST_PLOT, room))
        events = QRectF(left, plot.bottom() + SPACES.small, width, LANE)
        voice = QRectF(left, events.bottom() + SPACES.small / 2, width, small.height())
        wait = voice.translated(0, small.height())
        nothing = QRectF(left, events.bottom(), width, 0)
        beneath = QRectF(inner.left(), wait.bottom(), inner.width(), 0)
        layout = Layout(
            card, summary, plot, events, notes=nothing, times=nothing, headline=beneath, chips=(), keys=QRectF(),
            top=model.top, columns=model.axis.columns,
        )  # fmt: skip
        places.append(Places(layout, voice, wait, _marks(lane.measured, model.axis, voice)))
        y = wait.bottom() + SPACES.medium
    return places, QRectF(left, y - SPACES.medium, width, small.height())


def paint_all(
    painter: QPainter, model: CompareModel, places: Sequence[Places], times: QRectF, fonts: Fonts, colours: Colours,
    *, focused: bool,
) -> None:  # fmt: skip
    """Everything but the mark of what is listened to."""
    if not places:
        return
    for number, (lane, place) in enumerate(zip(model.lanes, places, strict=True)):
        scene = Scene(lane, place.layout, fonts, colours, focused)
        if not number:
            paint_card(painter, scene)
        _paint_title(painter, scene)
        paint_plot(painter, scene)
        paint_lanes(painter, scene)
        _paint_heard(painter, scene, place)
    begun_ns = [(model.axis.first + column << model.axis.power) * NS for column in range(model.axis.columns)]
    last = Scene(model.lanes[-1], replace(places[-1].layout, times=times), fonts, colours, focused)
    paint_times(painter, last, begun_ns)


def paint_playhead(painter: QPainter, box: QRectF, colours: Colours) -> None:
    """Where in a session one listens: a line between two tips."""
    x = box.center().x()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(QColor(colours.accent), 2))
    painter.drawLine(QLineF(x, box.top(), x, box.bottom()))
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(colours.accent))
    for y, tip in ((box.top(), 5.0), (box.bottom(), -5.0)):
        painter.drawPolygon(QPolygonF([QPointF(x - 5, y), QPointF(x + 5, y), QPointF(x, y + tip)]))


def _beside(fonts: Fonts) -> float:
    """What a meter takes beside its plot."""
    small = QFontMetricsF(fonts.small).height()
    return QFontMetricsF(fonts.strong).height() + 3 * small + LANE + 2.5 * SPACES.small + SPACES.medium


def _paint_title(painter: QPainter, scene: Scene[Lane]) -> None:
    """The session's name, and what its user felt."""
    box, colours, fonts = QRectF(scene.layout.summary), scene.colours, scene.fonts
    painter.fillRect(box, QColor(colours.base))
    name, metrics = printable(scene.model.measured.name), QFontMetricsF(fonts.strong)
    name = metrics.elidedText(name, Qt.TextElideMode.ElideRight, box.width() / 2)
    painter.setFont(fonts.strong)
    painter.setPen(QColor(colours.ink))
    painter.drawText(box, Qt.AlignmentFlag.AlignVCenter, name)
    box.setLeft(box.left() + metrics.horizontalAdvance(name) + SPACES.large)
    painter.setFont(fonts.usual)
    painter.setPen(QColor(colours.alarm if scene.model.measured.figures.overruns else colours.faint))
    said = QFontMetricsF(fonts.usual).elidedText(felt(scene.model.measured), Qt.TextElideMode.ElideRight, box.width())
    painter.drawText(box, Qt.AlignmentFlag.AlignVCenter, said)


def _paint_heard(painter: QPainter, scene: Scene[Lane], place: Places) -> None:
    """The voice as it sounded, gaps where they fell, and how long each answer was waited for."""
    colours, metrics, marks = scene.colours, QFontMetricsF(scene.fonts.small), place.marks
    painter.save()
    painter.setFont(scene.fonts.small)
    painter.setPen(QColor(colours.faint))
    for box, name in ((place.voice, "voice"), (place.wait, "wait")):
        label = QRectF(scene.layout.summary.left(), box.top(), box.left() - scene.layout.summary.left(), box.height())
        painter.drawText(label.adjusted(0, 0, -SPACES.medium, 0), _RIGHT, name)
    painter.setClipRect(place.voice.united(place.wait))
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(mixed(colours.base, colours.ink, 0.75)))
    painter.drawRects(marks.voice)
    _paint_silence(painter, marks.silent, colours)
    _paint_lengths(painter, place.voice, marks, metrics, colours)
    _paint_waits(painter, place.wait, marks, metrics, colours)
    painter.restore()


_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter


def _marks(session: Measured, axis: Axis, lane: QRectF) -> Marks:
    """What of a session lies on the axis."""
    begin_ns, per_ns = axis.begin_s * NS, lane.width() / (axis.seconds * NS)
    end_ns = begin_ns + axis.seconds * NS

    def x(ns: int) -> float:
        return lane.left() + (ns - begin_ns) * per_ns

    seen = [each for each in session.stretches if each.end_ns > begin_ns and each.start_ns < end_ns]
    gaps = [each for each in seen if each.gap]
    silent = _boxes(lane, [(x(each.start_ns), x(each.end_ns)) for each in gaps])
    voice = _boxes(lane, [(x(each.start_ns), x(each.end_ns)) for each in seen if not each.gap])
    asked = [(each, each.sounds_at_ns - round(each.delay_ms * 1e6)) for each in session.answers]
    waited = [(each, ns) for each, ns in asked if each.sounds_at_ns > begin_ns and ns < end_ns]
    return Marks(
        voice,
        silent,
        [each.ms for each in gaps] if len(gaps) == len(silent) <= MOST_LABELS else [],
        [(x(ns), x(each.sounds_at_ns)) for each, ns in waited],
        [each.delay_ms for each, _ in waited] if len(waited) <= MOST_LABELS else [],
    )


def _boxes(lane: QRectF, spans: Iterable[tuple[float, float]]) -> list[QRectF]:
    """Places in a lane."""
    joined: list[tuple[float, float]] = []
    for begin, end in spans:
        left, right = max(begin, lane.left() - 2), min(max(end, begin + 1.0), lane.right() + 2)
        if joined and left <= joined[-1][1] + TOUCHING:
            left = joined.pop()[0]
        joined.append((left, right))
    return [QRectF(left, lane.top() + 2, right - left, lane.height() - 4) for left, right in joined]


def _paint_waits(painter: QPainter, lane: QRectF, marks: Marks, metrics: QFontMetricsF, colours: Colours) -> None:
    """From each question's end to its answer; in words beside it, as far as there is room."""
    waits = marks.waits
    painter.setPen(QPen(QColor(colours.ink), 1))
    y = round(lane.center().y()) + 0.5
    ticks = [QLineF(x, y - 4, x, y + 4) for wait in waits for x in wait] if len(waits) <= lane.width() / 12 else []
    painter.drawLines([*(QLineF(asked, y, at, y) for asked, at in waits), *ticks])
    nexts = [*(min(asked, lane.right()) for asked, _ in waits[1:]), lane.right()]
    for delay_ms, (_, at), free_until in zip(marks.delays, waits, nexts, strict=False):
        long, short = (text.format(spoken(delay_ms)) for text in ("answer after {}", "{}"))
        box = QRectF(at + SPACES.small, lane.top(), free_until - at - 2 * SPACES.small, lane.height())
        said = next((text for text in (long, short) if metrics.horizontalAdvance(text) <= box.width()), "")
        painter.drawText(box, Qt.AlignmentFlag.AlignVCenter, said)


def _paint_silence(painter: QPainter, boxes: Sequence[QRectF], colours: Colours) -> None:
    """Gaps: hollow and hatched."""
    painter.setPen(QPen(QColor(colours.alarm), 1.2))
    for brush in (QBrush(QColor(colours.base)), QBrush(QColor(colours.alarm), Qt.BrushStyle.BDiagPattern)):
        painter.setBrush(brush)
        painter.drawRects(list(boxes))


def _paint_lengths(painter: QPainter, lane: QRectF, marks: Marks, metrics: QFontMetricsF, colours: Colours) -> None:
    """How long gaps were, in each or beside it, as far as there is room."""
    free_from = lane.left()
    for box, ms in zip(marks.silent, marks.gaps, strict=False):
        for text in (f"{spoken(ms)} silent", spoken(ms)):
            width = metrics.horizontalAdvance(text) + 6
            inside = width + 8 <= box.width()
            x = box.center().x() - width / 2 if inside else box.left() - width - 2
            if x >= free_from:  # never over the voice, which may be short
                label = QRectF(x, lane.top(), width, lane.height())
                painter.fillRect(label.adjusted(0, 2, 0, -2), QColor(colours.base))
                painter.setPen(QColor(colours.alarm))
                painter.drawText(label, Qt.AlignmentFlag.AlignCenter, text)
                break
        free_from = box.right()
