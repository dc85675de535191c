"""Paints several sessions' meters under one another, over one time axis, of the cadence meter's pieces [ui]."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from PySide6.QtCore import QLineF, QPointF, QRectF, QSizeF, Qt
from PySide6.QtGui import QBrush, QColor, QFontMetricsF, QPainter, QPen, QPolygonF

from app.window.cadence_layout import LANE, LEAST_PLOT, Fonts, Layout
from app.window.cadence_painting import paint_card, paint_lanes, paint_plot, paint_times
from app.window.cadence_pieces import Scene
from app.window.compare_model import Axis, CompareModel, Lane
from app.window.theme import SPACES, Colours, mixed
from engine.cadence.rows import NS_PER_SECOND as NS
from engine.comparison import felt
from engine.comparison.session import Answer
from engine.comparison.sounding import Heard
from engine.phrases import printable, spoken

USUAL_PLOT = 84.0
MOST_LABELS = 12  # of gaps and answers; more are painted without words


@dataclass(frozen=True)
class Places:
    """Where the parts of one session lie, beside what `Layout` knows.

    Args:
        layout: Its meter.
        voice: When its voice was heard, and the gaps.
        wait: How long each answer was waited for.
    """

    layout: Layout
    voice: QRectF
    wait: QRectF


def height_of(count: int, fonts: Fonts, plot: float = USUAL_PLOT) -> float:
    """How much room so many meters want."""
    return 1.5 * SPACES.large + count * (_beside(fonts) + plot) + QFontMetricsF(fonts.small).height()


def laid_out(size: QSizeF, fonts: Fonts, count: int, top: float, columns: int) -> tuple[list[Places], QRectF]:
    """Place every session's meter, and the one time axis beneath them.

    Args:
        size: The widget's.
        fonts: What it is written in.
        count: How many sessions.
        top: How many cadences each plot is high.
        columns: How many bars each is wide.
    """
    small, strong = QFontMetricsF(fonts.small), QFontMetricsF(fonts.strong)
    pad = SPACES.large
    inner = QRectF(pad, pad * 0.75, max(1.0, size.width() - 2 * pad), max(1.0, size.height() - 1.5 * pad))
    left = inner.left() + small.horizontalAdvance("0.25 s") + SPACES.medium
    right = inner.right() - small.horizontalAdvance("deadline") - SPACES.medium
    width = max(1.0, right - left)
    room = (inner.height() - small.height()) / max(count, 1) - _beside(fonts)
    card, places, y = QRectF(0, 0, size.width(), size.height()), [], inner.top()
    for _ in range(count):
        summary = QRectF(inner.left(), y, inner.width(), strong.height())
        plot = QRectF(left, summary.bottom() + small.height() + SPACES.small, width, max(LEAST_PLOT, room))
        events = QRectF(left, plot.bottom() + SPACES.small, width, LANE)
        voice = QRectF(left, events.bottom() + SPACES.small / 2, width, small.height())
        wait = voice.translated(0, small.height())
        nothing = QRectF(left, events.bottom(), width, 0)
        beneath = QRectF(inner.left(), wait.bottom(), inner.width(), 0)
        layout = Layout(
            card, summary, plot, events, notes=nothing, times=nothing, headline=beneath, chips=(), keys=QRectF(),
            top=top, columns=columns,
        )  # fmt: skip
        places.append(Places(layout, voice, wait))
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
        _paint_heard(painter, scene, place, model.axis)
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


def _paint_heard(painter: QPainter, scene: Scene[Lane], place: Places, axis: Axis) -> None:
    """The voice as it sounded, gaps where they fell, and how long each answer was waited for."""
    colours, metrics, session = scene.colours, QFontMetricsF(scene.fonts.small), scene.model.measured
    painter.save()
    painter.setFont(scene.fonts.small)
    painter.setPen(QColor(colours.faint))
    for box, name in ((place.voice, "voice"), (place.wait, "wait")):
        label = QRectF(scene.layout.summary.left(), box.top(), box.left() - scene.layout.summary.left(), box.height())
        painter.drawText(label.adjusted(0, 0, -SPACES.medium, 0), _RIGHT, name)
    painter.setClipRect(place.voice.united(place.wait))
    labels = len(session.gaps) + len(session.answers) <= MOST_LABELS
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(mixed(colours.base, colours.ink, 0.75)))
    for stretch in session.stretches:
        if not stretch.gap and (sounded := _stretched(place.voice, axis, stretch)) is not None:
            painter.drawRect(sounded)
    silent = [
        (place_of, gap.ms) for gap in session.gaps if (place_of := _stretched(place.voice, axis, gap)) is not None
    ]
    _paint_silence(painter, [box for box, _ in silent], colours)
    if labels:
        _paint_lengths(painter, place.voice, silent, metrics, colours)
    _paint_waits(painter, place.wait, session.answers, axis, metrics, colours)
    painter.restore()


_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter


def _paint_waits(
    painter: QPainter, lane: QRectF, answers: Sequence[Answer], axis: Axis, metrics: QFontMetricsF, colours: Colours
) -> None:
    """From each question's end to its answer; in words beside it, as far as there is room."""
    waits = [
        tuple(lane.left() + axis.share(ns) * lane.width() for ns in (begun_ns, answer.sounds_at_ns))
        for answer in answers
        for begun_ns in (answer.sounds_at_ns - round(answer.delay_ms * 1e6),)
    ]
    painter.setPen(QPen(QColor(colours.ink), 1))
    y = round(lane.center().y()) + 0.5
    nexts = [*(min(asked, lane.right()) for asked, _ in waits[1:]), lane.right()]
    for answer, (asked, at), free_until in zip(answers, waits, nexts, strict=False):
        if asked > lane.right() or at < lane.left():
            continue
        painter.drawLine(QLineF(asked, y, at, y))
        for x in (asked, at):
            painter.drawLine(QLineF(x, y - 4, x, y + 4))
        long, short = (text.format(spoken(answer.delay_ms)) for text in ("answer after {}", "{}"))
        box = QRectF(at + SPACES.small, lane.top(), free_until - at - 2 * SPACES.small, lane.height())
        said = next((text for text in (long, short) if metrics.horizontalAdvance(text) <= box.width()), "")
        painter.drawText(box, Qt.AlignmentFlag.AlignVCenter, said)


def _stretched(lane: QRectF, axis: Axis, stretch: Heard) -> QRectF | None:
    """Its place in a lane; None where it is out of view."""
    left, right = (lane.left() + axis.share(ns) * lane.width() for ns in (stretch.start_ns, stretch.end_ns))
    left, right = max(left, lane.left() - 2), min(right, lane.right() + 2)
    return QRectF(left, lane.top() + 2, max(right - left, 1.0), lane.height() - 4) if left < right else None


def _paint_silence(painter: QPainter, boxes: Sequence[QRectF], colours: Colours) -> None:
    """Gaps: hollow and hatched."""
    painter.setPen(QPen(QColor(colours.alarm), 1.2))
    for brush in (QBrush(QColor(colours.base)), QBrush(QColor(colours.alarm), Qt.BrushStyle.BDiagPattern)):
        painter.setBrush(brush)
        painter.drawRects(list(boxes))


def _paint_lengths(
    painter: QPainter,
    lane: QRectF,
    silent: Sequence[tuple[QRectF, float]],
    metrics: QFontMetricsF,
    colours: Colours,
) -> None:
    """How long gaps were, in each or beside it, as far as there is room."""
    free_from = lane.left()
    for box, ms in silent:
        text = f"{spoken(ms)} silent"
        width = metrics.horizontalAdvance(text) + 6
        before = box.left() - width - 2
        x = box.center().x() - width / 2 if width + 8 <= box.width() else before
        if x >= free_from:  # never over the voice, which may be short
            label = QRectF(x, lane.top(), width, lane.height())
            painter.fillRect(label.adjusted(0, 2, 0, -2), QColor(colours.base))
            painter.setPen(QColor(colours.alarm))
            painter.drawText(label, Qt.AlignmentFlag.AlignCenter, text)
        free_from = box.right()
