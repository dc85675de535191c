"""The compare view's meters: several sessions under one another over one time axis, gone through by keys and mouse.

What stands still is painted once and kept; the mark of what one listens to moves over it. [ui]
"""

from collections.abc import Iterator
from contextlib import contextmanager

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, QSizeF, Qt, Signal, SignalInstance
from PySide6.QtGui import (
    QAccessible,
    QAccessibleEvent,
    QFocusEvent,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPixmap,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from app.window import compare_words as words
from app.window import theme
from app.window.cadence_layout import LEAST_PLOT, Fonts
from app.window.cadence_words import tooltip
from app.window.compare_model import CompareModel
from app.window.compare_painting import Places, height_of, laid_out, paint_all, paint_playhead
from engine.phrases import printable

PAGE_COLUMNS = 10
NOTCH = 120  # a wheel's, as Qt counts
MARK_WIDTH = 14
_MOVES = {
    Qt.Key.Key_Left: -1,
    Qt.Key.Key_Right: 1,
    Qt.Key.Key_PageUp: -PAGE_COLUMNS,
    Qt.Key.Key_PageDown: PAGE_COLUMNS,
    Qt.Key.Key_Home: -(1 << 40),
    Qt.Key.Key_End: 1 << 40,
}
_ZOOMS = {Qt.Key.Key_Plus: True, Qt.Key.Key_Equal: True, Qt.Key.Key_Minus: False, Qt.Key.Key_Underscore: False}


class CompareMeters(QWidget):
    """The meters.

    Attributes:
        model: What they show, and how.
    """

    moved: SignalInstance = Signal()  # type: ignore[assignment]  # another column is told, or another part is in view

    def __init__(self) -> None:
        super().__init__()
        self.model = CompareModel()
        self._fonts = Fonts.of(self.font())
        self._places: tuple[list[Places], QRectF] | None = None
        self._still: QPixmap | None = None
        self._stale = True
        self._playing: tuple[int, int] | None = None  # which session is listened to, and where, in ns
        self._axis = self.model.axis  # as it was placed
        self._dragged: tuple[float, int] | None = None  # from where, and the axis' first column then
        self.setAccessibleName("Sessions over one time axis")
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.MinimumExpanding)

    def sizeHint(self) -> QSize:
        return QSize(self.fontMetrics().height() * 44, round(height_of(len(self.model.lanes), self._fonts)))

    def minimumSizeHint(self) -> QSize:
        height = height_of(len(self.model.lanes), self._fonts, LEAST_PLOT + 12)
        return QSize(self.fontMetrics().height() * 20, round(height))

    def refresh(self) -> None:
        """The model was changed from outside."""
        self.updateGeometry()
        self._renew()
        self.moved.emit()

    def zoom(self, nearer: bool, about: int | None = None) -> None:
        """Look from nearer or farther."""
        self.model.zoom(nearer, about)
        self._changed()

    def whole(self) -> None:
        """Look at all of it."""
        self.model.whole()
        self._changed()

    def go_to(self, first: int) -> None:
        """Begin the view with a column."""
        self.model.pan(first - self.model.axis.first)
        self._changed()

    def choose(self, column: int | None) -> None:
        """Choose a column whose figures are told."""
        self.model.choose(column)
        self._changed()

    def show_playing(self, session: int | None, at_ns: int = 0) -> None:
        """Mark where a session is listened to."""
        playing = None if session is None else (session, at_ns)
        if playing == self._playing:
            return
        for mark in (self._mark(), self._put(playing)):
            if mark is not None:
                self.update(mark.toAlignedRect())

    def column_box(self, column: int) -> QRectF:
        """A column over all sessions."""
        places, _ = self._laid_out()
        if not places:
            return QRectF()
        return places[0].layout.column(column).united(places[-1].layout.column(column))

    def column_at(self, position: QPointF) -> int | None:
        """The column that is there."""
        places, times = self._laid_out()
        if not places or not places[0].layout.plot.top() <= position.y() <= times.bottom():
            return None
        column = places[0].layout.column_at(position.x())
        return column if column is not None and column < self.model.axis.columns else None

    @property
    def chosen_column(self) -> int | None:
        """The chosen column, where it is in view."""
        second = self.model.chosen_s
        return None if second is None else self.model.axis.column_of(second)

    def paintEvent(self, event: QPaintEvent) -> None:
        ratio, colours = self.devicePixelRatioF(), theme.colours(self.palette())
        if self._still is None or self._still.size() != self.size() * ratio:
            self._still, self._stale = QPixmap(self.size() * ratio), True
            self._still.setDevicePixelRatio(ratio)
        if self._stale:
            self._stale = False
            self._still.fill(colours.window)
            places, times = self._laid_out()
            with _painting(self._still) as painter:
                paint_all(painter, self.model, places, times, self._fonts, colours, focused=self.hasFocus())
        with _painting(self) as painter:
            painter.drawPixmap(QPointF(0, 0), self._still)
            if (mark := self._mark()) is not None:
                paint_playhead(painter, mark, colours)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, modifiers = Qt.Key(event.key()), event.modifiers()
        bare = modifiers & ~(Qt.KeyboardModifier.KeypadModifier | Qt.KeyboardModifier.ShiftModifier)
        if bare or not self.model.lanes:
            super().keyPressEvent(event)
        elif key in _ZOOMS:
            self.zoom(_ZOOMS[key])
        elif key is Qt.Key.Key_0:
            self.whole()
        elif key in _MOVES and modifiers & Qt.KeyboardModifier.ShiftModifier:
            self.go_to(self.model.axis.first + _MOVES[key])
        elif key in _MOVES:
            self.model.move(_MOVES[key])
            self._changed()
        else:
            super().keyPressEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._dragged = (event.position().x(), self.model.axis.first)
        column = self.column_at(event.position())
        if column is not None:
            self.choose(column)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if event.buttons() & Qt.MouseButton.LeftButton and self._dragged is not None:
            x, first = self._dragged
            places, _ = self._laid_out()
            if places:
                self.go_to(first + round((x - event.position().x()) / places[0].layout.column_width))
        else:
            self._point(self.column_at(event.position()))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self._dragged = None

    def wheelEvent(self, event: QWheelEvent) -> None:
        """With Ctrl it zooms at the mouse; sideways it pans; else the page scrolls."""
        turned = event.angleDelta()
        if event.modifiers() & Qt.KeyboardModifier.ControlModifier and turned.y():
            self.zoom(turned.y() > 0, self.column_at(event.position()))
        elif turned.x():
            step = max(1, self.model.axis.columns // 12)
            self.go_to(self.model.axis.first - round(step * turned.x() / NOTCH))
        else:
            event.ignore()

    def leaveEvent(self, event: QEvent) -> None:
        self._point(None)

    def event(self, event: QEvent) -> bool:
        """Tell a session's figures where the mouse rests on one of its bars."""
        if isinstance(event, QHelpEvent) and event.type() is QEvent.Type.ToolTip:
            QToolTip.showText(event.globalPos(), self._tooltip(QPointF(event.pos())), self)
            return True
        return super().event(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        self._repaint()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        self._repaint()

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._renew()

    def changeEvent(self, event: QEvent) -> None:
        """Follow font, palette and what else looks depend on."""
        super().changeEvent(event)
        self._fonts = Fonts.of(self.font())
        self._renew()

    def _changed(self) -> None:
        (self._repaint if self.model.axis == self._axis else self._renew)()
        self._axis = self.model.axis
        self.moved.emit()
        column = self.chosen_column
        if QAccessible.isActive() and column is not None and self.hasFocus():
            told = QAccessibleEvent(self, QAccessible.Event.Focus)
            told.setChild(column)
            QAccessible.updateAccessibility(told)

    def _point(self, column: int | None) -> None:
        if self.model.point(column):
            self._repaint()
            self.moved.emit()

    def _tooltip(self, position: QPointF) -> str:
        places, _ = self._laid_out()
        column = self.column_at(position)
        for lane, place in zip(self.model.lanes, places, strict=True):
            if column is not None and place.layout.plot.top() <= position.y() <= place.wait.bottom():
                bar = lane.bars[column]
                return f"{printable(lane.measured.name)}: {words.NO_UNIT if not bar.event else tooltip(bar)}"
        return ""

    def _renew(self) -> None:
        """Place and paint all anew."""
        self._places = None
        self._repaint()

    def _repaint(self) -> None:
        """Paint what stands still anew, where it is."""
        self._stale = True
        self.update()

    def _laid_out(self) -> tuple[list[Places], QRectF]:
        if self._places is None:
            self._places = laid_out(QSizeF(self.size()), self._fonts, self.model)
        return self._places

    def _put(self, playing: tuple[int, int] | None) -> QRectF | None:
        self._playing = playing
        return self._mark()

    def _mark(self) -> QRectF | None:
        """Where the mark of what is listened to is; None without, or where that is out of view."""
        places, _ = self._laid_out()
        if self._playing is None or self._playing[0] >= len(places):
            return None
        place, share = places[self._playing[0]], self.model.axis.share(self._playing[1])
        if not 0 <= share <= 1:
            return None
        plot = place.layout.plot
        x = plot.left() + share * plot.width()
        return QRectF(x - MARK_WIDTH / 2, plot.top(), MARK_WIDTH, place.wait.bottom() - plot.top())


@contextmanager
def _painting(on: QPixmap | QWidget) -> Iterator[QPainter]:
    """A painter that has ended whatever happens: one that an error leaves at work takes the program down with it."""
    painter = QPainter(on)
    try:
        yield painter
    finally:
        painter.end()
