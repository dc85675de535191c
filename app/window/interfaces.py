"""What painted widgets are to a screen reader: a chart whose parts are its bars, levels and memory with a value.

Installed once, as the application's factory. A bar's interface stands for a place in the meter, not for a unit, so
that a minute of bars needs no more interfaces than there are places. [ui]
"""

from PySide6.QtCore import QObject, QPoint, QRect
from PySide6.QtGui import QAccessible, QAccessibleInterface, QWindow
from PySide6.QtWidgets import QAccessibleWidget

from app.window import cadence_words as words
from app.window.cadence_meter import CadenceMeter
from app.window.cadence_model import Bar
from app.window.figures import in_words
from app.window.level_meter import LevelMeter
from app.window.memory_strip import MemoryStrip


def interface(class_name: str, thing: QObject) -> QAccessibleInterface | None:
    """For `QAccessible.installFactory`."""
    match thing:
        case CadenceMeter():
            return MeterInterface(thing)
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


class MeterInterface(QAccessibleWidget):
    """The meter: its summary is its value, the bar that is told its description, its bars its children.

    Args:
        meter: The widget.
    """

    def __init__(self, meter: CadenceMeter) -> None:
        super().__init__(meter, QAccessible.Role.Chart)
        self._meter = meter
        self._bars: dict[int, BarInterface] = {}

    def text(self, kind: QAccessible.Text) -> str:
        model = self._meter.model
        match kind:
            case QAccessible.Text.Value:
                return ". ".join(part for part in (words.summary(model), in_words(model.figures)) if part)
            case QAccessible.Text.Description if model.told is not None:
                return f"{words.headline(model.told)}: {words.in_figures(model.told)}"
            case QAccessible.Text.Help:
                return "Arrow keys go from bar to bar; End goes back to the newest."
            case _:
                return super().text(kind)

    def childCount(self) -> int:
        return len(self._meter.model.bars)

    def child(self, index: int) -> QAccessibleInterface | None:  # type: ignore[override]  # stubs know no null
        if not 0 <= index < self.childCount():
            return None
        if index not in self._bars:
            self._bars[index] = BarInterface(self._meter, index)
        return self._bars[index]

    def indexOfChild(self, child: QAccessibleInterface) -> int:
        return next((index for index, each in self._bars.items() if each is child), -1)

    def childAt(self, x: int, y: int) -> QAccessibleInterface | None:  # type: ignore[override]  # stubs know no null
        bar = self._meter.bar_at(self._meter.mapFromGlobal(QPoint(x, y)).toPointF())
        return None if bar is None else self.child(self._meter.model.bars.index(bar))

    def focusChild(self) -> QAccessibleInterface | None:  # type: ignore[override]  # stubs know no null
        chosen = self._meter.model.chosen
        if chosen is None or not self._meter.hasFocus():
            return None
        return self.child(self._meter.model.bars.index(chosen))


class BarInterface(QAccessibleInterface):
    """One place of the meter, and the bar that stands there now.

    Args:
        meter: The widget.
        index: Which place, from the oldest.
    """

    def __init__(self, meter: CadenceMeter, index: int) -> None:
        super().__init__()
        self._meter, self._index = meter, index

    @property
    def bar(self) -> Bar | None:
        """What stands there."""
        bars = self._meter.model.bars
        return bars[self._index] if self._index < len(bars) else None

    def isValid(self) -> bool:
        return self.bar is not None

    def object(self) -> QObject | None:  # type: ignore[override]  # stubs know no null
        return None

    def window(self) -> QWindow | None:  # type: ignore[override]  # stubs know no null
        return self._meter.window().windowHandle()

    def parent(self) -> QAccessibleInterface:
        return QAccessible.queryAccessibleInterface(self._meter)

    def child(self, index: int) -> QAccessibleInterface | None:  # type: ignore[override]  # stubs know no null
        return None

    def childAt(self, x: int, y: int) -> QAccessibleInterface | None:  # type: ignore[override]  # stubs know no null
        return None

    def childCount(self) -> int:
        return 0

    def indexOfChild(self, child: QAccessibleInterface) -> int:
        return -1

    def rect(self) -> QRect:
        box = self._meter.bar_box(self._index).toAlignedRect()
        return QRect(self._meter.mapToGlobal(box.topLeft()), box.size())

    def role(self) -> QAccessible.Role:
        return QAccessible.Role.ListItem

    def state(self) -> QAccessible.State:
        state = QAccessible.State()
        state.readOnly = True
        state.selectable = True
        state.focusable = True
        chosen = self.bar is not None and self.bar == self._meter.model.chosen
        state.selected = chosen
        state.focused = chosen and self._meter.hasFocus()
        state.invisible = not self._meter.isVisible()
        return state

    def text(self, kind: QAccessible.Text) -> str:
        bar = self.bar
        if bar is None:
            return ""
        match kind:
            case QAccessible.Text.Name:
                return words.headline(bar)
            case QAccessible.Text.Value | QAccessible.Text.Description:
                return words.in_figures(bar)
            case _:
                return ""

    def setText(self, kind: QAccessible.Text, text: str) -> None:
        """Nothing here is written."""
