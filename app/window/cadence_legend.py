"""The cadence meter's words: its summary, the figures of the bar that is told, and what the shapes mean [ui]."""

from collections.abc import Callable, Iterator
from functools import partial

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter

from app.window import cadence_words as words
from app.window.cadence_layout import swatch
from app.window.cadence_model import Bar, CadenceModel
from app.window.cadence_pieces import (
    LEAST_PIECE_MS,
    Scene,
    paint_events,
    paint_gap,
    paint_other,
    paint_pieces,
    paint_triangle,
    paint_waiting,
)
from app.window.theme import SPACES, Colours
from engine.cadence.rows import OTHER, WAITING
from engine.phrases import spoken

Sign = Callable[[QPainter, QRectF, Colours], None]


def paint_words(painter: QPainter, scene: Scene[CadenceModel]) -> None:
    """Everything that is written outside the plot; what was there is painted over."""
    layout, colours, fonts = scene.layout, scene.colours, scene.fonts
    for box in layout.words:
        painter.fillRect(box, QColor(colours.base))
    middle = Qt.AlignmentFlag.AlignVCenter
    metrics = QFontMetricsF(fonts.summary)
    painter.setPen(QColor(colours.ink))
    painter.setFont(fonts.summary)
    verdict = metrics.elidedText(words.verdict(scene.model), Qt.TextElideMode.ElideRight, layout.summary.width())
    painter.drawText(layout.summary, middle, verdict)
    rest = layout.summary.adjusted(metrics.horizontalAdvance(verdict) + SPACES.large, 1, 0, 1)
    if QFontMetricsF(fonts.usual).horizontalAdvance(words.more(scene.model)) <= rest.width():
        painter.setPen(QColor(colours.faint))
        painter.setFont(fonts.usual)
        painter.drawText(rest, middle | Qt.AlignmentFlag.AlignRight, words.more(scene.model))
    if (bar := scene.model.told) is not None:
        _paint_headline(painter, scene, bar)
    _paint_legend(painter, scene, bar)
    if layout.keys.height():
        _paint_keys(painter, scene)


def _paint_headline(painter: QPainter, scene: Scene[CadenceModel], bar: Bar) -> None:
    box, colours, fonts = QRectF(scene.layout.headline), scene.colours, scene.fonts
    middle = Qt.AlignmentFlag.AlignVCenter
    for text, font, colour in (
        (words.title(bar), fonts.strong, colours.ink),
        (f"at {words.clock(bar)}, {words.EVENTS[bar.event]}", fonts.usual, colours.faint),
        (words.margin(bar), fonts.strong, colours.alarm if bar.late else colours.ink),
        (", ".join(words.remarks(bar)), fonts.usual, colours.faint),
    ):
        metrics = QFontMetricsF(font)
        painter.setFont(font)
        painter.setPen(QColor(colour))
        shown = metrics.elidedText(text, Qt.TextElideMode.ElideRight, box.width())
        painter.drawText(box, middle, shown)
        box.setLeft(min(box.right(), box.left() + metrics.horizontalAdvance(shown) + SPACES.medium * 1.25))


def _paint_legend(painter: QPainter, scene: Scene[CadenceModel], bar: Bar | None) -> None:
    colours, fonts = scene.colours, scene.fonts
    figures = {each.name: spoken(each.ms) for each in bar.stages} if bar else {}
    for chip in scene.layout.chips:
        square = swatch(chip.box)
        painter.setPen(Qt.PenStyle.NoPen)
        paint_pieces(painter, [square.toRect().toRectF()], colours, chip.number)
        painter.setFont(fonts.usual)
        painter.setPen(QColor(colours.ink))
        name = chip.box.adjusted(square.width() + SPACES.small * 1.5, 0, 0, 0)
        painter.drawText(name, Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextDontClip, chip.name)
        figure = figures.get(scene.model.stages[chip.number])
        painter.setFont(fonts.strong)
        painter.setPen(QColor(colours.ink if figure else colours.faint))
        painter.drawText(chip.figure, Qt.AlignmentFlag.AlignVCenter, figure or "-")


def _paint_keys(painter: QPainter, scene: Scene[CadenceModel]) -> None:
    """What the shapes mean; the rarer ones only where they are met."""
    colours, box = scene.colours, QRectF(scene.layout.keys)
    metrics = QFontMetricsF(scene.fonts.small)
    painter.setFont(scene.fonts.small)
    for name, paint in _keys(scene):
        sign = QRectF(round(box.left()), round(box.center().y() - 4), 10, 8)
        if sign.right() + SPACES.small + metrics.horizontalAdvance(name) > scene.layout.keys.right():
            break
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, name not in ("waiting", "other work"))
        paint(painter, sign, colours)
        painter.setPen(QColor(colours.faint))
        box.setLeft(sign.right() + SPACES.small)
        painter.drawText(box, Qt.AlignmentFlag.AlignVCenter, name)
        box.setLeft(box.left() + metrics.horizontalAdvance(name) + SPACES.large)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)


def _keys(scene: Scene[CadenceModel]) -> Iterator[tuple[str, Sign]]:
    for event, name in (("LISTEN", "listen"), ("SPEAK", "speak"), ("FLUSH", "end of turn")):
        yield name, partial(_event_sign, event)
    bars = scene.model.bars
    met = {span.name for bar in bars for span in bar.spans if span.end_ms - span.start_ms >= LEAST_PIECE_MS}
    if any(bar.late for bar in bars):
        yield "late", lambda painter, box, colours: paint_triangle(painter, box.center().x(), box.top(), colours)
    if any(bar.gap_ms for bar in bars):
        yield "gap in the voice", paint_gap
    if WAITING in met:
        yield "waiting", lambda painter, box, colours: paint_waiting(painter, [box], colours)
    if OTHER in met:
        yield "other work", lambda painter, box, colours: paint_other(painter, [box], colours)


def _event_sign(event: str, painter: QPainter, box: QRectF, colours: Colours) -> None:
    paint_events(painter, box, box.width(), [event], colours)
