"""A comparison's figures: the few that a person feels as a card, all as a table, the chosen second's beside the meters.

Texts are `engine.comparison`'s, to the last digit. [ui]
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from PySide6.QtCore import QEvent, QRectF, Qt
from PySide6.QtGui import QIcon, QPainter, QPixmap, QResizeEvent
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QLabel,
    QPushButton,
    QSizePolicy,
    QTreeWidget,
    QTreeWidgetItem,
    QWidget,
)

from app.window import compare_words as words
from app.window import theme
from app.window.cadence_pieces import paint_pieces
from app.window.compare_model import CompareModel
from app.window.figures import Figure
from app.window.layouts import heading
from engine.comparison import Comparison, Measured
from engine.comparison import Figure as Told
from engine.phrases import printable

FELT = (  # by `engine.comparison.figures`' keys: what is felt, and what it costs
    ("speak_mean_ms", "SPEAK second,\nmean"),
    ("speak_over_cadence", "Over the\ncadence"),
    ("heaviest_mean_ms", "Heaviest second\nof a turn, mean"),
    ("gap_ms", "Silence where\nspeech was due"),
    ("response_delay_median_ms", "Response delay,\nmedian"),
    ("peak_rss_bytes", "Memory,\npeak"),
    ("peak_device_bytes", "Device memory,\npeak"),
)
_BOTTOM, _MIDDLE = Qt.AlignmentFlag.AlignBottom, Qt.AlignmentFlag.AlignVCenter
ALARMING = ("speak_over_cadence", "gap_ms")  # where they are above nothing
RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
SWATCH = 12


class FeltCard(QFrame):
    """A line a session, with a button to listen to it; in two bands where there is little room."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("card")
        self.setAccessibleName("Figures side by side")
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(16, 12, 16, 12)
        self._grid.setHorizontalSpacing(18)
        self._grid.setVerticalSpacing(2)
        self._sessions: tuple[Measured, ...] = ()
        self._parts: list[list[tuple[QWidget, int, int]]] = []  # of each figure: widget, line in its band, lines
        self._names: list[QLabel] = []
        self._bands = 1
        self.listen: list[QPushButton] = []

    def show_comparison(self, comparison: Comparison, listen: Callable[[int], None]) -> None:
        """Show other sessions.

        Args:
            comparison: Their figures.
            listen: Told whose button was pressed.
        """
        for widget in self.findChildren(QWidget):
            widget.hide()
            widget.deleteLater()
        self._names = []
        there = {figure.key: figure for figure in comparison.figures}
        self._sessions = comparison.sessions
        self.listen = []
        for number, session in enumerate(self._sessions):
            button = QPushButton("Listen")
            button.clicked.connect(partial(listen, number))
            button.setAccessibleName(f"Listen to {printable(session.name)}")
            self.listen.append(button)
        self._parts = [list(self._cells(there[key], title)) for key, title in FELT if key in there]
        self._place()

    def set_bands(self, bands: int) -> None:
        """So many figures beneath one another."""
        if bands != self._bands:
            self._bands = bands
            self._place()

    def _cells(self, figure: Told, title: str) -> Iterator[tuple[QWidget, int, int]]:
        head = QLabel(title)
        head.setObjectName("faint")
        head.setAlignment(Qt.AlignmentFlag.AlignRight | _BOTTOM)
        yield head, 0, 1
        told = title.replace("\n", " ")
        for number, session in enumerate(self._sessions):
            line, gain, name = 1 + 2 * number, figure.against[number], printable(session.name)
            value = Figure(f"{name}, {told}")
            bad = figure.key in ALARMING and (figure.values[number] or 0) > 0
            value.show_value(figure.texts[number], figure.label, alarms=bad)
            value.setAlignment(Qt.AlignmentFlag.AlignRight | (_BOTTOM if gain else _MIDDLE))
            yield value, line, 1 if gain else 2
            if gain:
                against = QLabel(gain)
                against.setObjectName("faint")
                against.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignTop)
                against.setAccessibleName(f"{name}, {told}, against the first: {gain}")
                yield against, line + 1, 1

    def _place(self) -> None:
        while self._grid.takeAt(0) is not None:
            pass
        for name in self._names:
            name.hide()
            name.deleteLater()
        self._names = []
        each, height = -(-len(self._parts) // self._bands), 1 + 2 * len(self._sessions)
        for number, session in enumerate(self._sessions):
            self._grid.addWidget(self.listen[number], 1 + 2 * number, 1, 2, 1, _MIDDLE)
            for band in range(self._bands):
                label = heading(printable(session.name), "strong")
                self._names.append(label)
                self._grid.addWidget(label, band * height + 1 + 2 * number, 0, 2, 1)
        for column in range(self._grid.columnCount()):
            self._grid.setColumnStretch(column, 0)
        for index, cells in enumerate(self._parts):
            band, column = divmod(index, max(each, 1))
            self._grid.setColumnStretch(2 + column, 1)
            for widget, line, lines in cells:
                self._grid.addWidget(widget, band * height + line, 2 + column, lines, 1)


class TableView(QTreeWidget):
    """Lines of cells that are read; as tall as its lines, so that the page scrolls and not the table.

    Args:
        name: What a screen reader calls it.
    """

    def __init__(self, name: str) -> None:
        super().__init__()
        self.setAccessibleName(name)
        self.setRootIsDecorated(False)
        self.setUniformRowHeights(True)
        self.setAllColumnsShowFocus(True)
        self.setAlternatingRowColors(True)
        self.setTabKeyNavigation(False)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.header().setSectionsMovable(False)

    def show_lines(self, heads: Sequence[str], lines: Sequence[Sequence[str]]) -> None:
        """Show other cells; where there are as many as before, only what differs is written."""
        if self.columnCount() != len(heads) or self.topLevelItemCount() != len(lines):
            self.clear()
            self.setColumnCount(len(heads))
            for _ in lines:
                line = QTreeWidgetItem()
                for column in range(1, len(heads)):
                    line.setTextAlignment(column, RIGHT)
                self.addTopLevelItem(line)
            self.header().setStretchLastSection(False)
        self.setHeaderLabels(list(heads))
        for column in range(1, len(heads)):
            self.headerItem().setTextAlignment(column, RIGHT)
        for number, cells in enumerate(lines):
            item = self.topLevelItem(number)
            assert item is not None
            for column, cell in enumerate(cells):
                if item.text(column) != cell:
                    item.setText(column, cell)
                    item.setToolTip(column, cell)
        for column in range(len(heads)):
            self.resizeColumnToContents(column)  # once, and not with every cell
        if not self.currentIndex().isValid() and lines:
            self.setCurrentIndex(self.model().index(0, 0))
            self.clearSelection()
        self._fit(len(lines))

    def changeEvent(self, event: QEvent) -> None:
        """Follow the font."""
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self._fit(self.topLevelItemCount())

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Leave room for a scroll bar where the lines are wider."""
        super().resizeEvent(event)
        self._fit(self.topLevelItemCount())

    @property
    def whole_width(self) -> int:
        """As wide as its lines."""
        return self.header().length() + 2 * self.frameWidth() + 4

    def _fit(self, lines: int) -> None:
        self.setMaximumWidth(self.whole_width)
        row = self.sizeHintForRow(0) if lines else 0
        bar = self.horizontalScrollBar().sizeHint().height() if self.width() < self.whole_width else 0
        height = self.header().sizeHint().height() + lines * row + bar + 2 * self.frameWidth() + 2
        if height != self.height():
            self.setFixedHeight(height)


class SecondTable(TableView):
    """The chosen second, session beside session; its stages carry the meters' colours, and so are their legend."""

    def __init__(self) -> None:
        super().__init__("The chosen second")
        self._stages = 0

    def show_model(self, model: CompareModel) -> None:
        """Show the column that is told."""
        lines = words.rows(model)
        names = [printable(lane.measured.name) for lane in model.lanes]
        self.show_lines(("", *names), [(name, *cells) for name, cells in lines])
        if self._stages != len(model.stages):
            self._stages = len(model.stages)
        self._dress()

    def changeEvent(self, event: QEvent) -> None:
        """Follow the theme."""
        super().changeEvent(event)
        if event.type() is QEvent.Type.PaletteChange:
            self._dress()

    def _dress(self) -> None:
        """Put each stage's swatch before its name."""
        colours, first = theme.colours(self.window().palette()), self.topLevelItemCount() - self._stages
        for number in range(self._stages):
            item = self.topLevelItem(first + number)
            if item is not None:
                item.setIcon(0, _swatch(colours, number, self.devicePixelRatioF()))


class AllFigures(TableView):
    """All figures, as `duplexcadence compare` prints them."""

    def __init__(self) -> None:
        super().__init__("All figures")

    def show_comparison(self, comparison: Comparison, *, everything: bool) -> None:
        """Show the figures, or the main ones alone."""
        sessions = comparison.sessions
        names = [printable(session.name) for session in sessions]
        heads = ["", names[0]]
        for name in names[1:]:
            heads += [name, f"{name} against {names[0]}"]
        lines = []
        for figure in comparison.figures:
            if everything or figure.main:
                cells = [figure.label, figure.texts[0]]
                for told, against in zip(figure.texts[1:], figure.against[1:], strict=True):
                    cells += [told, against]
                lines.append(cells)
        self.show_lines(heads, lines)


def _swatch(colours: theme.Colours, number: int, ratio: float) -> QIcon:
    pixmap = QPixmap(round(SWATCH * ratio), round(SWATCH * ratio))
    pixmap.setDevicePixelRatio(ratio)
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    painter.setPen(Qt.PenStyle.NoPen)
    paint_pieces(painter, [QRectF(0, 0, SWATCH, SWATCH)], colours, number)
    painter.end()
    return QIcon(pixmap)
