"""The few icons that buttons carry beside their words, drawn in their own text's colour at any size [ui]."""

from collections.abc import Callable

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QIcon, QPainter, QPainterPath, QPalette, QPen, QPixmap
from PySide6.QtWidgets import QPushButton

_SIDE = 16
_SCALES = (1, 2, 3)  # so that it is sharp at 100%, 200% and 300%

Draw = Callable[[QPainter], None]


def play(button: QPushButton) -> QIcon:
    """Begin."""

    def draw(painter: QPainter) -> None:
        painter.drawPolygon([QPointF(4, 2), QPointF(14, 8), QPointF(4, 14)])

    return _icon(button, draw)


def stop(button: QPushButton) -> QIcon:
    """End."""

    def draw(painter: QPainter) -> None:
        painter.drawRoundedRect(QRectF(3, 3, 10, 10), 1.5, 1.5)

    return _icon(button, draw)


def microphone(button: QPushButton, *, struck: bool = False) -> QIcon:
    """A microphone; struck through where it is closed."""

    def draw(painter: QPainter) -> None:
        painter.drawRoundedRect(QRectF(5.5, 1, 5, 9), 2.5, 2.5)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        pen = QPen(painter.pen())
        pen.setWidthF(1.4)
        pen.setCapStyle(Qt.PenCapStyle.RoundCap)
        painter.setPen(pen)
        arc = QPainterPath(QPointF(3, 7.5))
        arc.cubicTo(QPointF(3, 14), QPointF(13, 14), QPointF(13, 7.5))
        painter.drawPath(arc)
        painter.drawLine(QPointF(8, 12.5), QPointF(8, 15))
        if struck:
            painter.drawLine(QPointF(2, 14.5), QPointF(14, 1.5))

    return _icon(button, draw)


def _icon(button: QPushButton, draw: Draw) -> QIcon:
    icon = QIcon()
    for mode, group in (
        (QIcon.Mode.Normal, QPalette.ColorGroup.Active),
        (QIcon.Mode.Disabled, QPalette.ColorGroup.Disabled),
    ):
        colour = button.palette().color(group, QPalette.ColorRole.ButtonText)
        for scale in _SCALES:
            icon.addPixmap(_pixmap(draw, colour, scale), mode)
    return icon


def _pixmap(draw: Draw, colour: QColor, scale: int) -> QPixmap:
    pixmap = QPixmap(_SIDE * scale, _SIDE * scale)
    pixmap.setDevicePixelRatio(scale)
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setBrush(colour)
    painter.setPen(QPen(colour, 1))
    draw(painter)
    painter.end()
    return pixmap
