"""The cadence meter: the last minute as bars of stages against the deadline, the one under way filling as it runs.

Keys and mouse choose a bar whose stages are told in figures. What changes with a unit alone is painted once and kept;
twenty times a second only the bar under way is painted anew, and only where it looks different. A new unit's bars and
its words are painted part by part, a frame of the display each, so that none is long. [ui]
"""

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, QSizeF, Qt, QTimer
from PySide6.QtGui import (
    QAccessible,
    QAccessibleEvent,
    QAccessibleValueChangeEvent,
    QFocusEvent,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPixmap,
    QResizeEvent,
)
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from app.live.snapshot import Snapshot
from app.window import cadence_words as words
from app.window import theme
from app.window.cadence_layout import Fonts, Layout, laid_out
from app.window.cadence_legend import paint_words
from app.window.cadence_model import Bar, CadenceModel
from app.window.cadence_painting import paint_card, paint_lanes, paint_plot, paint_running, running_box
from app.window.cadence_pieces import Scene

PAGE_BARS = 10
PART_AFTER_MS = 15  # a frame of the display later
_UNIT = ("plot", "lanes", "words")  # what a new unit changes
_PARTS = ("card", *_UNIT)  # all that stands still
_PAINT = {"card": paint_card, "plot": paint_plot, "lanes": paint_lanes, "words": paint_words}
_MOVES = {
    Qt.Key.Key_Left: -1,
    Qt.Key.Key_Right: 1,
    Qt.Key.Key_PageUp: -PAGE_BARS,
    Qt.Key.Key_PageDown: PAGE_BARS,
    Qt.Key.Key_Home: -1000,
    Qt.Key.Key_End: 1000,
}


class CadenceMeter(QWidget):
    """The meter.

    Attributes:
        model: What it shows.
    """

    def __init__(self) -> None:
        super().__init__()
        self.model = CadenceModel()
        self._layout: Layout | None = None
        self._fonts = Fonts.of(self.font())
        self._still: QPixmap | None = (
            None  # what stands still; painted over where it is stale, for memory is slow to get
        )
        self._stale = {*_PARTS}
        self._next_part = QTimer(self, interval=PART_AFTER_MS, singleShot=True)
        self._next_part.timeout.connect(self.update)
        self._shown: tuple[object, ...] = ()  # of the bar under way, as it was painted
        self._troubles = (0, 0.0)
        self.setAccessibleName("Cadence meter")
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)

    def sizeHint(self) -> QSize:
        height = self.fontMetrics().height()
        return QSize(height * 44, height * 20)

    def minimumSizeHint(self) -> QSize:
        height = self.fontMetrics().height()
        return QSize(height * 20, height * 13)

    def show_snapshot(self, snapshot: Snapshot) -> None:
        """Show how the session stands; paints nothing where nothing looks different."""
        stages, top = self.model.stages, self.model.top
        if self.model.take(snapshot):
            if (stages, top) != (self.model.stages, self.model.top):
                self._layout = None
            self._renew(*(_UNIT if stages == self.model.stages else _PARTS))
            self._tell_troubles()
        shown = self._running_look()
        if shown != self._shown:
            self._shown = shown
            self.update(running_box(self._laid_out(), len(self.model.bars)).toAlignedRect())

    def choose(self, bar: Bar | None) -> None:
        """Choose a bar whose figures are told; None: the newest, and whichever comes after it."""
        self.model.choose(bar)
        self._renew(*_UNIT)
        if bar is not None and QAccessible.isActive():
            event = QAccessibleEvent(self, QAccessible.Event.Focus)
            event.setChild(self.model.bars.index(bar))
            QAccessible.updateAccessibility(event)

    def bar_box(self, index: int) -> QRectF:
        """Where a bar of `model.bars` is painted, with what is told of it beneath."""
        return self._laid_out().column(index)

    def bar_at(self, position: QPointF) -> Bar | None:
        """The bar whose column is there."""
        layout = self._laid_out()
        index = layout.column_at(position.x())
        inside = layout.plot.top() <= position.y() <= layout.times.bottom()
        return self.model.bars[index] if index is not None and inside and index < len(self.model.bars) else None

    def paintEvent(self, event: QPaintEvent) -> None:
        ratio = self.devicePixelRatioF()
        size = self.size() * ratio
        if self._still is None or self._still.size() != size:
            self._still, self._stale = QPixmap(size), {*_PARTS}
            self._still.setDevicePixelRatio(ratio)
        self._freshen(self._still)
        painter = QPainter(self)
        painter.drawPixmap(QPointF(0, 0), self._still)
        paint_running(painter, self._scene())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        step = _MOVES.get(Qt.Key(event.key()))
        plain = not event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
        if step is None or not plain or not self.model.bars:
            super().keyPressEvent(event)
            return
        self.choose(self.model.move(step))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        bar = self.bar_at(event.position())
        self.choose(None if bar is None or bar is self.model.chosen else bar)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._point(self.bar_at(event.position()))

    def leaveEvent(self, event: QEvent) -> None:
        self._point(None)

    def event(self, event: QEvent) -> bool:
        """Tell a bar's figures where the mouse rests on it."""
        if isinstance(event, QHelpEvent) and event.type() is QEvent.Type.ToolTip:
            bar = self.bar_at(QPointF(event.pos()))
            if bar is not None:
                column = self.bar_box(self.model.bars.index(bar)).toAlignedRect()
                QToolTip.showText(event.globalPos(), words.tooltip(bar), self, column)
            else:
                QToolTip.hideText()
            return True
        return super().event(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        self._renew()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        self._renew()

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._layout = None
        self._renew()

    def changeEvent(self, event: QEvent) -> None:
        """Follow font, palette and what else looks depend on."""
        super().changeEvent(event)
        self._fonts, self._layout = Fonts.of(self.font()), None
        self._renew()

    def _point(self, bar: Bar | None) -> None:
        if bar is not self.model.pointed:
            self.model.point(bar)
            self._renew(*_UNIT)

    def _renew(self, *parts: str) -> None:
        """Paint parts of what stands still anew, or all of it."""
        self._stale |= set(parts or _PARTS)
        self.update()

    def _laid_out(self) -> Layout:
        if self._layout is None:
            names = tuple(words.stage(name) for name in self.model.stages)
            self._layout = laid_out(QSizeF(self.size()), self._fonts, names, self.model.top)
        return self._layout

    def _scene(self) -> Scene[CadenceModel]:
        return Scene(self.model, self._laid_out(), self._fonts, theme.colours(self.palette()), self.hasFocus())

    def _freshen(self, still: QPixmap) -> None:
        """Paint what is stale; of what a unit changes, a part a frame."""
        whole = "card" in self._stale
        parts = _PARTS if whole else [part for part in _UNIT if part in self._stale][:1]
        if not parts:
            return
        scene, painter = self._scene(), QPainter(still)
        for part in parts:
            _PAINT[part](painter, scene)
        painter.end()
        self._stale -= set(parts)
        if self._stale:
            self._next_part.start()

    def _running_look(self) -> tuple[object, ...]:
        """What of the bar under way can be seen, in whole pixels."""
        bar, layout = self.model.running, self._laid_out()
        if bar is None:
            return ()
        elapsed = bar.fraction(bar.elapsed_ms or 0.0)
        ends = tuple((span.name, round(layout.y(bar.fraction(span.end_ms)))) for span in bar.spans)
        return (bar.first, round(layout.y(elapsed)), ends)

    def _tell_troubles(self) -> None:
        """A screen reader is told of a new overrun or gap; of a second that was in time, nothing."""
        figures = self.model.figures  # the whole session's: what leaves the meter must not make up for what comes
        troubles = (figures.overruns, figures.gap_ms) if figures else (0, 0.0)
        worse = any(now > before for now, before in zip(troubles, self._troubles, strict=True))
        self._troubles = troubles
        if worse and QAccessible.isActive():
            QAccessible.updateAccessibility(QAccessibleValueChangeEvent(self, words.summary(self.model)))
