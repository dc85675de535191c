"""What painted widgets are to a screen reader: a chart whose parts are its bars, levels and memory with a value.

Installed once, as the application's factory. A part's interface stands for a place in the chart, not for a unit, so
that a minute of bars needs no more interfaces than there are places. [ui]
"""

from typing import Protocol

from PySide6.QtCore import QObject, QPoint, QPointF, QRect, QRectF
from PySide6.QtGui import QAccessible, QAccessibleInterface, QWindow
from PySide6.QtWidgets import QAccessibleWidget, QWidget

from app.window import cadence_words as words
from app.window import compare_words
from app.window.cadence_meter import CadenceMeter
from app.window.cadence_model import Bar
from app.window.compare_meters import CompareMeters
from app.window.figures import in_words
from app.window.level_meter import LevelMeter
from app.window.memory_strip import MemoryStrip


def interface(class_name: str, thing: QObject) -> QAccessibleInterface | None:
    """For `QAccessible.installFactory`."""
    match thing:
        case CadenceMeter():
            return ChartInterface(thing, Bars(thing))
        case CompareMeters():
            return ChartInterface(thing, Columns(thing))
        case LevelMeter() | MemoryStrip():
            return ValueInterface(thing)
        case _:
            return None


class ValueInterface(QAccessibleWidget):
    """An indicator with a value in words.

    Args:
        widget: Tells its value.
    """

    def __init__(self, widget: LevelMeter | MemoryStrip) -> None:
        super().__init__(widget, QAccessible.Role.Indicator)
        self._widget = widget

    def text(self, kind: QAccessible.Text) -> str:
        return self._widget.value if kind is QAccessible.Text.Value else super().text(kind)


class Chart(Protocol):
    """What a painted chart tells of itself, and of the parts that one can go through."""

    help: str

    @property
    def value(self) -> str:
        """All of it in words."""
        ...

    @property
    def told(self) -> str:
        """The part whose figures are told, in words; empty where none is."""
        ...

    @property
    def count(self) -> int:
        """How many parts there are."""
        ...

    @property
    def chosen(self) -> int | None:
        """The part that is chosen."""
        ...

    def name(self, index: int) -> str:
        """A part in words."""
        ...

    def figures(self, index: int) -> str:
        """Its figures."""
        ...

    def box(self, index: int) -> QRectF:
        """Where it is painted."""
        ...

    def at(self, position: QPointF) -> int | None:
        """The part that is there."""
        ...


class Bars:
    """The cadence meter: its bars are its parts.

    Args:
        meter: The widget.
    """

    help = "Arrow keys go from bar to bar; End goes back to the newest."

    def __init__(self, meter: CadenceMeter) -> None:
        self._meter = meter

    @property
    def value(self) -> str:
        model = self._meter.model
        return ". ".join(part for part in (words.summary(model), in_words(model.figures)) if part)

    @property
    def told(self) -> str:
        bar = self._meter.model.told
        return "" if bar is None else f"{words.headline(bar)}: {words.in_figures(bar)}"

    @property
    def count(self) -> int:
        return len(self._meter.model.bars)

    @property
    def chosen(self) -> int | None:
        return self._index(self._meter.model.chosen)

    def name(self, index: int) -> str:
        return words.headline(self._meter.model.bars[index])

    def figures(self, index: int) -> str:
        return words.in_figures(self._meter.model.bars[index])

    def box(self, index: int) -> QRectF:
        return self._meter.bar_box(index)

    def at(self, position: QPointF) -> int | None:
        return self._index(self._meter.bar_at(position))

    def _index(self, bar: Bar | None) -> int | None:
        return None if bar is None else self._meter.model.bars.index(bar)


class Columns:
    """Sessions over one time axis: the columns in view, each over all sessions, are its parts.

    Args:
        meters: The widget.
    """

    help = "Arrow keys go from second to second; plus and minus look from nearer and farther; 0 shows the whole."

    def __init__(self, meters: CompareMeters) -> None:
        self._meters = meters

    @property
    def value(self) -> str:
        return compare_words.summary(self._meters.model)

    @property
    def told(self) -> str:
        return compare_words.told(self._meters.model)

    @property
    def count(self) -> int:
        return self._meters.model.axis.columns if self._meters.model.lanes else 0

    @property
    def chosen(self) -> int | None:
        return self._meters.chosen_column

    def name(self, index: int) -> str:
        return compare_words.side_by_side(self._meters.model, index)

    def figures(self, index: int) -> str:
        return compare_words.in_figures(self._meters.model, index)

    def box(self, index: int) -> QRectF:
        return self._meters.column_box(index)

    def at(self, position: QPointF) -> int | None:
        return self._meters.column_at(position)


class ChartInterface(QAccessibleWidget):
    """A painted chart: a summary is its value, the part that is told its description, its parts its children.

    Args:
        widget: The widget.
        chart: What it tells.
    """

    def __init__(self, widget: QWidget, chart: Chart) -> None:
        super().__init__(widget, QAccessible.Role.Chart)
        self._widget, self._chart = widget, chart
        self._parts: dict[int, PartInterface] = {}

    def text(self, kind: QAccessible.Text) -> str:
        match kind:
            case QAccessible.Text.Value:
                return self._chart.value
            case QAccessible.Text.Description if self._chart.told:
                return self._chart.told
            case QAccessible.Text.Help:
                return self._chart.help
            case _:
                return super().text(kind)

    def childCount(self) -> int:
        return self._chart.count

    def child(self, index: int) -> QAccessibleInterface | None:  # type: ignore[override]  # stubs know no null
        if not 0 <= index < self.childCount():
            return None
        if index not in self._parts:
            self._parts[index] = PartInterface(self._widget, self._chart, index)
        return self._parts[index]

    def indexOfChild(self, child: QAccessibleInterface) -> int:
        return next((index for index, each in self._parts.items() if each is child), -1)

    def childAt(self, x: int, y: int) -> QAccessibleInterface | None:  # type: ignore[override]  # stubs know no null
        index = self._chart.at(self._widget.mapFromGlobal(QPoint(x, y)).toPointF())
        return None if index is None else self.child(index)

    def focusChild(self) -> QAccessibleInterface | None:  # type: ignore[override]  # stubs know no null
        chosen = self._chart.chosen
        return None if chosen is None or not self._widget.hasFocus() else self.child(chosen)


class PartInterface(QAccessibleInterface):
    """One place of a chart, and what stands there now.

    Args:
        widget: The chart's.
        chart: Tells of it.
        index: Which place, from the oldest.
    """

    def __init__(self, widget: QWidget, chart: Chart, index: int) -> None:
        super().__init__()
        self._widget, self._chart, self._index = widget, chart, index

    def isValid(self) -> bool:
        return self._index < self._chart.count

    def object(self) -> QObject | None:  # type: ignore[override]  # stubs know no null
        return None

    def window(self) -> QWindow | None:  # type: ignore[override]  # stubs know no null
        return self._widget.window().windowHandle()

    def parent(self) -> QAccessibleInterface:
        return QAccessible.queryAccessibleInterface(self._widget)

    def child(self, index: int) -> QAccessibleInterface | None:  # type: ignore[override]  # stubs know no null
        return None

    def childAt(self, x: int, y: int) -> QAccessibleInterface | None:  # type: ignore[override]  # stubs know no null
        return None

    def childCount(self) -> int:
        return 0

    def indexOfChild(self, child: QAccessibleInterface) -> int:
        return -1

    def rect(self) -> QRect:
        box = self._chart.box(self._index).toAlignedRect()
        return QRect(self._widget.mapToGlobal(box.topLeft()), box.size())

    def role(self) -> QAccessible.Role:
        return QAccessible.Role.ListItem

    def state(self) -> QAccessible.State:
        state = QAccessible.State()
        state.readOnly = True
        state.selectable = True
        state.focusable = True
        chosen = self.isValid() and self._chart.chosen == self._index
        state.selected = chosen
        state.focused = chosen and self._widget.hasFocus()
        state.invisible = not self._widget.isVisible()
        return state

    def text(self, kind: QAccessible.Text) -> str:
        if not self.isValid():
            return ""
        match kind:
            case QAccessible.Text.Name:
                return self._chart.name(self._index)
            case QAccessible.Text.Value | QAccessible.Text.Description:
                return self._chart.figures(self._index)
            case _:
                return ""

    def setText(self, kind: QAccessible.Text, text: str) -> None:
        """Nothing here is written."""
