"""Several sessions over one time axis: their bars at any zoom, where the axis begins and ends, and the chosen column.

A column is a power of two of seconds; it shows the tightest second of each session that lies in it, so that no zoom
hides an overrun. Figures come from `engine.comparison`. Knows no Qt and paints nothing. `Close.of` is entered by any
thread, all else by [ui].
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from app.window.cadence_model import SCALES, Bar, bars_of, tightest
from engine.cadence.rows import NS_PER_SECOND as NS
from engine.cadence.rows import folded
from engine.comparison import Comparison, Measured
from engine.timing import UnitRecord

MOST_BARS = 2048  # of a session; a longer one has bars of several seconds
MOST_COLUMNS = 120
LEAST_COLUMNS = 16
HIGHER = (2.6, 3.2)  # cadences that the axis holds beside a live meter's; what is higher is cut, and marked
TICK_BARS = 500


@dataclass(frozen=True)
class Close:
    """One session, to be looked at closely.

    Args:
        finest: Its narrowest columns are two to the power of this many seconds.
        levels: For each power of two, bars by the number of their column, which is its first second over its seconds.
    """

    finest: int
    levels: list[dict[int, Bar]]

    @classmethod
    def of(cls, units: Iterable[UnitRecord], tick: Callable[[], None]) -> "Close":
        """Go through a session.

        Args:
            units: All of it.
            tick: Called now and then; what it raises ends the work.
        """

        def ticking() -> Iterable[Bar]:
            for number, bar in enumerate(bars_of(units)):
                if number % TICK_BARS == 0:
                    tick()
                yield bar

        bars, group = folded(ticking(), MOST_BARS, tightest)
        by_second: dict[int, list[Bar]] = {}
        for bar in bars:
            by_second.setdefault(bar.arrival_ns // NS, []).append(bar)
        close = cls(group.bit_length() - 1, [{second: tightest(bars) for second, bars in by_second.items()}])
        close.level(close.finest)
        return close

    def level(self, power: int) -> dict[int, Bar]:
        """Bars in columns of so many seconds."""
        while len(self.levels) <= power:
            wider: dict[int, list[Bar]] = {}
            for number, bar in self.levels[-1].items():
                wider.setdefault(number >> 1, []).append(bar)
            self.levels.append({number: tightest(bars) for number, bars in wider.items()})
        return self.levels[power]

    @property
    def bars(self) -> Iterable[Bar]:
        """All, as closely as can be."""
        return self.levels[self.finest].values()


@dataclass(frozen=True)
class Axis:
    """What of the time axis is in view.

    Args:
        first: The first column's number.
        columns: How many there are.
        power: A column is two to the power of this many seconds.
    """

    first: int = 0
    columns: int = LEAST_COLUMNS
    power: int = 0

    @property
    def begin_s(self) -> int:
        """Where it begins."""
        return self.first << self.power

    @property
    def seconds(self) -> int:
        """How long it is."""
        return self.columns << self.power

    def column_of(self, second: int) -> int | None:
        """The column of a second; None where it is not in view."""
        column = (second >> self.power) - self.first
        return column if 0 <= column < self.columns else None

    def share(self, at_ns: int) -> float:
        """How far along the axis a moment lies: 0 where it begins, 1 where it ends."""
        return (at_ns / NS - self.begin_s) / self.seconds


class Lane:
    """One session's bars in view; what `cadence_painting` paints.

    Args:
        measured: The session.
        close: Its bars.
        stages: All sessions' stages, by whose order each has its colour.
    """

    def __init__(self, measured: Measured, close: Close, stages: Sequence[str]) -> None:
        self.measured, self._close, self._stages = measured, close, stages
        self.bars: tuple[Bar, ...] = ()
        self.chosen: Bar | None = None
        self.pointed: Bar | None = None

    def number(self, stage: str) -> int | None:
        """A stage's number; None for what is no stage."""
        return self._stages.index(stage) if stage in self._stages else None

    def look(self, axis: Axis, chosen: int | None, pointed: int | None) -> None:
        """Show what of it lies on the axis."""
        level = self._close.level(axis.power)
        self.bars = tuple(self._bar(level, axis, column) for column in range(axis.columns))
        self.chosen, self.pointed = (None if column is None else self.bars[column] for column in (chosen, pointed))

    def at(self, axis: Axis, second: int) -> Bar | None:
        """The bar of a second, in view or not; None where there was no unit."""
        return self._close.level(axis.power).get(second >> axis.power)

    def _bar(self, level: dict[int, Bar], axis: Axis, column: int) -> Bar:
        number = axis.first + column
        nothing = Bar(number, number, (number << axis.power) * NS, self.measured.figures.cadence_ms, "", (), (), None)
        return level.get(number, nothing)


class CompareModel:
    """Sessions side by side, and how they are looked at.

    Attributes:
        comparison: Their figures; None before there are any.
        lanes: The sessions.
        stages: All their stages.
        axis: What is in view.
        top: How many cadences a meter is high.
        chosen_s: The chosen column's first second; None without.
    """

    def __init__(self) -> None:
        self.comparison: Comparison | None = None
        self.lanes: tuple[Lane, ...] = ()
        self.stages: tuple[str, ...] = ()
        self.axis, self.top = Axis(), SCALES[0]
        self.chosen_s: int | None = None
        self._pointed_s: int | None = None
        self._begin_s, self._end_s, self._finest = 0, LEAST_COLUMNS, 0

    def show(self, comparison: Comparison, closes: Sequence[Close]) -> None:
        """Show other sessions, whole, the worst second chosen.

        Args:
            comparison: Their figures.
            closes: One for each of its sessions.
        """
        sessions = comparison.sessions
        self.comparison = comparison
        self.stages = tuple(dict.fromkeys(stage.name for each in sessions for stage in each.figures.stages))
        self.lanes = tuple(Lane(one, close, self.stages) for one, close in zip(sessions, closes, strict=True))
        bars = [bar for close in closes for bar in close.bars]
        ends = [bar.arrival_ns + round(bar.cadence_ms * 1e6) for bar in bars]
        ends += [each.end_ns for session in sessions for each in session.stretches]
        self._finest = max((close.finest for close in closes), default=0)
        begin_s = min((bar.arrival_ns for bar in bars), default=0) // NS
        end_s = max(-(-max(ends, default=0) // NS), begin_s + (LEAST_COLUMNS << self._finest))
        power = _power(end_s - begin_s, self._finest) + 1
        self._begin_s, self._end_s = begin_s >> power << power, end_s  # the widest columns begin where it does
        tallest = max((bar.height for bar in bars), default=0.0)
        scales = (*SCALES, *HIGHER)
        self.top = next((scale for scale in scales if tallest <= scale), scales[-1])
        worst = min(bars, key=lambda bar: bar.slack_ms or 0.0, default=None)
        self.chosen_s, self._pointed_s = (None if worst is None else worst.arrival_ns // NS), None
        self.whole()

    @property
    def told_s(self) -> int | None:
        """The first second of the column whose figures are to be told: under the mouse, or chosen."""
        return self.chosen_s if self._pointed_s is None else self._pointed_s

    @property
    def told(self) -> tuple[Bar | None, ...]:
        """What each session did there; None where it had no unit."""
        at_s = self.told_s
        return tuple(None if at_s is None else lane.at(self.axis, at_s) for lane in self.lanes)

    @property
    def zoomed(self) -> tuple[bool, bool]:
        """Whether it can be looked at from nearer, and from farther."""
        seconds = self.axis.seconds
        return seconds > LEAST_COLUMNS << self._finest, seconds < self._end_s - self._begin_s

    @property
    def columns(self) -> tuple[int, int]:
        """The numbers of the first column of all, and of the one past the last, at this zoom."""
        power = self.axis.power
        return self._begin_s >> power, -(-self._end_s >> power)

    def whole(self) -> None:
        """All of the axis in view."""
        self._look(self._begin_s, self._end_s - self._begin_s)

    def zoom(self, nearer: bool, about: int | None = None) -> None:
        """Half as much in view, or twice as much.

        Args:
            nearer: Half as much.
            about: The column that stays where it is; None: the chosen one, or the middle.
        """
        axis, before_s = self.axis, self.axis.seconds
        chosen = None if self.chosen_s is None else axis.column_of(self.chosen_s)
        column = next(each for each in (about, chosen, axis.columns // 2) if each is not None)
        least, most = LEAST_COLUMNS << self._finest, self._end_s - self._begin_s
        seconds = max(least, min(before_s // 2 if nearer else before_s * 2, most))
        fixed_s, share = (axis.first + column) << axis.power, column / axis.columns
        self._look(fixed_s - round(share * seconds), seconds)

    def pan(self, columns: int) -> None:
        """Move on along the axis, as far as it goes."""
        first, past = self.columns
        last = max(first, past - self.axis.columns)
        self.axis = replace(self.axis, first=min(max(self.axis.first + columns, first), last))
        self._refresh()

    def choose(self, column: int | None) -> None:
        """Choose a column in view, or none."""
        self.chosen_s = None if column is None else (self.axis.first + column) << self.axis.power
        self._refresh()

    def point(self, column: int | None) -> bool:
        """Put the mouse over a column, or over none; returns whether that is another one."""
        at_s = None if column is None else (self.axis.first + column) << self.axis.power
        changed, self._pointed_s = at_s != self._pointed_s, at_s
        if changed:
            self._refresh()
        return changed

    def move(self, columns: int) -> None:
        """Choose the column so many further on, and bring it into view; stops at both ends."""
        power, (first, past) = self.axis.power, self.columns
        now = self.axis.first if self.chosen_s is None else self.chosen_s >> power
        number = min(max(now + columns, first), past - 1)
        self.chosen_s = number << power
        column = number - self.axis.first
        beyond = min(column, 0) + max(column - self.axis.columns + 1, 0)
        self.pan(beyond)

    def _look(self, begin_s: int, seconds: int) -> None:
        power = _power(seconds, self._finest)
        first, last = self._begin_s >> power, -(-(self._end_s - seconds) >> power)
        number = min(max(begin_s >> power, first), max(first, last))
        self.axis = Axis(number, -(-seconds >> power), power)
        self._refresh()

    def _refresh(self) -> None:
        chosen, pointed = (
            None if second is None else self.axis.column_of(second) for second in (self.chosen_s, self._pointed_s)
        )
        for lane in self.lanes:
            lane.look(self.axis, chosen, pointed)


def _power(seconds: int, finest: int) -> int:
    """How wide columns must be, as a power of two of seconds, so that there are not too many."""
    power = finest
    while -(-seconds >> power) > MOST_COLUMNS:
        power += 1
    return power
