"""How loud a stream is: a bar in decibels, and a light with a word where it clips. Painted; never colour alone.

Its value is there for a screen reader that asks, and is never announced: it changes twenty times a second. [ui]
"""

import math

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPalette
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.audio.state import NO_STREAM, StreamState
from app.window import theme, words

_FALL_DB = 2.0  # a paint; a peak is seen before it is gone


def decibels(level: float) -> float:
    """A level of 0 to 1, below full scale; not under the floor."""
    return max(words.FLOOR_DB, 20 * math.log10(level)) if level > 0 else words.FLOOR_DB


class LevelMeter(QWidget):
    """A stream's level.

    Args:
        name: Whose, for people: "Microphone level".
    """

    def __init__(self, name: str) -> None:
        super().__init__()
        self.setAccessibleName(name)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._stream: StreamState = NO_STREAM
        self._peak_db = self._rms_db = words.FLOOR_DB

    def sizeHint(self) -> QSize:
        metrics = self.fontMetrics()
        return QSize(metrics.averageCharWidth() * 30, metrics.height() + 4)

    def minimumSizeHint(self) -> QSize:
        metrics = self.fontMetrics()
        return QSize(metrics.horizontalAdvance("CLIP") + 90, metrics.height() + 4)

    @property
    def value(self) -> str:
        """The level in words."""
        if not self._stream.device:
            return "no device open"
        if self._stream.lost:
            return "device lost"
        if self._peak_db <= words.FLOOR_DB:
            return "silent"
        return f"{self._peak_db:.0f} decibels" + (", clipping: too loud" if self._stream.clipped else "")

    def show_stream(self, stream: StreamState) -> None:
        """Show how a stream stands."""
        peak_db = max(decibels(stream.peak), self._peak_db - _FALL_DB if stream.device else words.FLOOR_DB)
        rms_db = decibels(stream.rms)
        quiet = peak_db == self._peak_db and rms_db == self._rms_db
        same = quiet and (stream.device, stream.lost, stream.clipped) == (
            self._stream.device,
            self._stream.lost,
            self._stream.clipped,
        )
        self._stream, self._peak_db, self._rms_db = stream, peak_db, rms_db
        if not same:
            self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        palette = self.palette()
        light_width = painter.fontMetrics().horizontalAdvance("CLIP") + 14
        height = 8.0
        bar = QRectF(0, (self.height() - height) / 2, self.width() - light_width - 8, height)
        colours = theme.colours(palette)
        painter.setPen(QColor(colours.line))
        painter.setBrush(QColor(colours.track))
        painter.drawRoundedRect(bar, 4, 4)
        painter.setPen(Qt.PenStyle.NoPen)
        if self._stream.device and not self._stream.lost:
            self._paint_level(painter, bar)
        self._paint_light(painter, QRectF(bar.right() + 8, 1, light_width - 1, self.height() - 2))

    def _paint_level(self, painter: QPainter, bar: QRectF) -> None:
        """The bar to the root mean square, a tick at the peak, a notch where it gets loud."""
        fill = QRectF(bar)
        fill.setWidth(bar.width() * _part(self._rms_db))
        painter.setBrush(self.palette().color(QPalette.ColorRole.Highlight))
        painter.drawRoundedRect(fill, 4, 4)
        ink = self.palette().color(QPalette.ColorRole.Text)
        painter.setBrush(ink)
        if self._peak_db > words.FLOOR_DB:
            painter.drawRect(QRectF(bar.left() + bar.width() * _part(self._peak_db) - 2, bar.top() - 2, 2, 12))
        painter.setOpacity(0.5)
        painter.drawRect(QRectF(bar.left() + bar.width() * _part(words.LOUD_DB), bar.top(), 1, bar.height()))
        painter.setOpacity(1)

    def _paint_light(self, painter: QPainter, box: QRectF) -> None:
        """A light with its word: hollow where all is well, filled where a sample has touched full scale."""
        palette = self.palette()
        alarm = palette.color(QPalette.ColorRole.BrightText)
        if self._stream.clipped:
            painter.setBrush(alarm)
            painter.drawRoundedRect(box, 4, 4)
            painter.setPen(palette.color(QPalette.ColorRole.Base))
            painter.drawText(box, Qt.AlignmentFlag.AlignCenter, "CLIP")
        else:
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(palette.color(QPalette.ColorRole.Mid))
            painter.drawRoundedRect(box, 4, 4)
            painter.setPen(palette.color(QPalette.ColorRole.PlaceholderText))
            painter.drawText(box, Qt.AlignmentFlag.AlignCenter, "clip")


def _part(level_db: float) -> float:
    return 1 - level_db / words.FLOOR_DB
