"""Where memory goes: the arena committed of what is reserved, torch, graphs, the device, and the process as a whole.

A part that this device has no count of is left out, so that what is shown was measured. Painted: a name, a figure and,
where there is a whole to be a part of, a bar. [ui]
"""

from dataclasses import dataclass

from PySide6.QtCore import QEvent, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QHelpEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from app.live.snapshot import Snapshot
from app.window import theme
from app.window.theme import SPACES, sized
from engine.phrases import MIB, size
from engine.timing import MemoryRecord

_BAR = 5.0  # a bar's height


@dataclass(frozen=True)
class Part:
    """A cell of the strip.

    Args:
        name: Whose memory.
        figure: In words.
        share: Of its whole, 0 to 1; None where there is no whole.
        why: What it is.
    """

    name: str
    figure: str
    share: float | None = None
    why: str = ""


def parts(memory: MemoryRecord | None, slope: float | None = None) -> tuple[Part, ...]:
    """What is known of it.

    Args:
        memory: As the newest unit finished; None before one.
        slope: By which resident memory grows, bytes a minute; None where too little is known.
    """
    if memory is None:
        return ()
    found = [_of_whole("Arena", memory.arena_committed, memory.arena_reserved, "reserved", "The session's own state")]
    if memory.torch_allocated is not None:
        why = "What torch holds beside the arena"
        if memory.torch_reserved is not None:
            found.append(_of_whole("Torch", memory.torch_allocated, memory.torch_reserved, "held", why))
        else:
            found.append(Part("Torch", size(memory.torch_allocated), why=why))
    if memory.graphs is not None:
        found.append(Part("Graphs", size(memory.graphs), why="Captured graphs and their pool"))
    if memory.device_used is not None:
        found.append(Part("Device", size(memory.device_used), why="All that is used of the device, by its driver"))
    if memory.rss is not None:
        grows = "" if slope is None else f", {round(slope / MIB, 1) + 0.0:+.1f} MiB a minute"
        found.append(Part("Resident", size(memory.rss) + grows, why="The whole program's, on this computer"))
    return tuple(found)


def _of_whole(name: str, part: int, whole: int, whole_is: str, why: str) -> Part:
    return Part(name, f"{size(part)} of {size(whole)} {whole_is}", part / whole if whole else 0.0, why)


class MemoryStrip(QWidget):
    """The strip."""

    def __init__(self) -> None:
        super().__init__()
        self.setAccessibleName("Memory")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._parts: tuple[Part, ...] = ()

    @property
    def value(self) -> str:
        """All of it in words."""
        return "; ".join(f"{part.name}: {part.figure}" for part in self._parts) or "not measured yet"

    def sizeHint(self) -> QSize:
        height = self.fontMetrics().height()
        return QSize(height * 36, round(height * 2 + _BAR + 2.5 * SPACES.medium))

    def minimumSizeHint(self) -> QSize:
        return QSize(self.fontMetrics().height() * 20, self.sizeHint().height())

    def show_snapshot(self, snapshot: Snapshot) -> None:
        """Show the newest unit's memory."""
        memory = snapshot.units[-1].memory if snapshot.units else None
        now = parts(memory, snapshot.figures.rss_slope if snapshot.figures else None)
        if now != self._parts:
            self._parts = now
            self.update()

    def cells(self) -> list[tuple[Part, QRectF]]:
        """Each part's place, as wide as it has to say."""
        inner = QRectF(self.rect()).adjusted(SPACES.large, 0, -SPACES.large, 0)
        metrics = QFontMetricsF(sized(self.font(), bold=True))
        shares = [metrics.horizontalAdvance(part.figure) + SPACES.large for part in self._parts]
        whole = sum(shares)
        placed, x = [], inner.left()
        for part, share in zip(self._parts, shares, strict=True):
            width = inner.width() * share / whole
            placed.append((part, QRectF(x, 0, width - SPACES.large, self.height())))
            x += width
        return placed

    def event(self, event: QEvent) -> bool:
        """Say what a part is where the mouse rests on it."""
        if isinstance(event, QHelpEvent) and event.type() is QEvent.Type.ToolTip:
            said = next((part.why for part, box in self.cells() if box.contains(event.pos().toPointF())), "")
            QToolTip.showText(event.globalPos(), said, self)
            return True
        return super().event(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, colours = QPainter(self), theme.colours(self.palette())
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(QColor(colours.line), SPACES.hair))
        painter.setBrush(QColor(colours.base))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), SPACES.corner, SPACES.corner)
        usual, strong = self.font(), sized(self.font(), bold=True)
        height, top = QFontMetricsF(usual).height(), SPACES.medium
        if not self._parts:
            painter.setPen(QColor(colours.faint))
            box = QRectF(self.rect()).adjusted(SPACES.large, 0, -SPACES.large, 0)
            painter.drawText(box, Qt.AlignmentFlag.AlignVCenter, "Memory: measured with the first unit")
            return
        for part, box in self.cells():
            line = QRectF(box.left(), top, box.width(), height)
            painter.setFont(usual)
            painter.setPen(QColor(colours.ink))
            painter.drawText(line, Qt.AlignmentFlag.AlignVCenter, part.name)
            painter.setFont(strong)
            line.translate(0, height)
            figure = QFontMetricsF(strong).elidedText(part.figure, Qt.TextElideMode.ElideRight, line.width())
            painter.drawText(line, Qt.AlignmentFlag.AlignVCenter, figure)
            if part.share is not None:
                self._paint_bar(
                    painter, QRectF(box.left(), line.bottom() + SPACES.small, box.width(), _BAR), part.share
                )

    def _paint_bar(self, painter: QPainter, box: QRectF, share: float) -> None:
        colours = theme.colours(self.palette())
        painter.setPen(QColor(colours.line))
        painter.setBrush(QColor(colours.track))
        painter.drawRoundedRect(box, _BAR / 2, _BAR / 2)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(colours.accent))
        filled = QRectF(box)
        filled.setWidth(max(_BAR, box.width() * min(share, 1.0)))
        painter.drawRoundedRect(filled, _BAR / 2, _BAR / 2)
