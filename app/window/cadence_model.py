"""What the cadence meter shows of a snapshot: bars of stages, the scale in cadences, and what is chosen.

A bar is a unit, or a second of units where those are short. Bars are kept from snapshot to snapshot, so that a model
with many units a second has a minute of history too. Knows no Qt and paints nothing. [ui]
"""

import math
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from app.live.snapshot import SHOWN_UNITS, Running, Snapshot
from engine.cadence import Statistics
from engine.cadence.rows import OTHER, SHORT_UNIT_NS, WAITING, Row, Span, rows_of, second_of
from engine.cadence.statistics import stage_times_ms
from engine.clock import NS
from engine.timing import SessionHeader, UnitRecord

SCALES = (1.06, 1.3, 1.6, 2.0)  # how many cadences the axis holds; what is higher is cut, and marked


@dataclass(frozen=True, slots=True)
class StageTime:
    """One stage's work in a bar.

    Args:
        name: The stage.
        ms: Its host time, its runs added up.
        paths: How they ran: "graph", "eager" ...
    """

    name: str
    ms: float
    paths: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Bar:
    """One column of the meter.

    Args:
        first: The first unit that it stands for.
        last: The last.
        arrival_ns: When its chunk came, in the session's time.
        cadence_ms: From there to its deadline.
        event: "LISTEN", "SPEAK" or "FLUSH"; empty where it is not known yet.
        spans: Work, in ms since arrival, disjoint and in order: stages, OTHER, WAITING.
        stages: The same by stage, in the order they began.
        slack_ms: Deadline minus finish, of its tightest unit; None of a unit under way.
        overruns: How many of its units were late.
        gap_ms: Silence that was heard where speech was due.
        dropped_ms: Microphone audio that was lost.
        delay_ms: From the user's last word to the answer that begins in it; None where none begins.
        elapsed_ms: How much of its cadence has gone by; None once it is over.
    """

    first: int
    last: int
    arrival_ns: int
    cadence_ms: float
    event: str
    spans: tuple[Span, ...]
    stages: tuple[StageTime, ...]
    slack_ms: float | None
    overruns: int = 0
    gap_ms: float = 0.0
    dropped_ms: float = 0.0
    delay_ms: float | None = None
    elapsed_ms: float | None = None

    @property
    def units(self) -> int:
        """How many units it stands for."""
        return self.last - self.first + 1

    @property
    def height(self) -> float:
        """Where its work ends, in cadences after its chunk came."""
        return self.fraction(self.spans[-1].end_ms) if self.spans else 0.0

    @property
    def late(self) -> bool:
        """Whether any of its units was late, or the one under way is."""
        return bool(self.overruns) or (self.slack_ms is None and self.height > 1)

    def fraction(self, ms: float) -> float:
        """A time after its arrival, in cadences."""
        return ms / max(self.cadence_ms, 1e-6)


class CadenceModel:
    """Takes snapshots; tells bars.

    Attributes:
        bars: The newest bars that are done, at most `SHOWN_UNITS`, oldest first.
        running: The bar under way.
        stages: Names in the order in which they were met: a stage's number, by which it has its colour.
        top: How many cadences the axis holds.
    """

    def __init__(self) -> None:
        self.bars: tuple[Bar, ...] = ()
        self.running: Bar | None = None
        self.stages: tuple[str, ...] = ()
        self.top = SCALES[0]
        self._header: SessionHeader | None = None
        self._snapshot = Snapshot()
        self._history = _History()
        self._chosen: int | None = None  # a unit's index
        self._pointed: int | None = None

    def take(self, snapshot: Snapshot) -> bool:
        """Go by another snapshot.

        Returns:
            Whether anything but the running bar may look different.
        """
        before = (self.bars, self.stages, self.top)
        if snapshot.header is not self._snapshot.header and snapshot.header != self._header:
            self._header, self.stages = snapshot.header, ()
            self._history = _History()
        if snapshot.units is not self._snapshot.units:
            self._history.take(snapshot.units)
        self._snapshot = snapshot
        self.bars, self.running = self._history.split(snapshot.now_ns)
        self.running = self.running or _running(snapshot)
        self._meet_stages()
        self.top = self._scale()
        if self.chosen is None:
            self._chosen = None
        return before != (self.bars, self.stages, self.top)

    @property
    def figures(self) -> Statistics | None:
        """Of the whole session; None before its first unit."""
        return self._snapshot.figures

    @property
    def chosen(self) -> Bar | None:
        """The bar that the user has chosen; None where none is, or where it is no longer shown."""
        return self._of(self._chosen)

    @property
    def pointed(self) -> Bar | None:
        """The bar under the mouse."""
        return self._of(self._pointed)

    @property
    def told(self) -> Bar | None:
        """The bar whose figures are to be told: under the mouse, chosen, or the newest."""
        return self.pointed or self.chosen or (self.bars[-1] if self.bars else None)

    def number(self, stage: str) -> int | None:
        """A stage's number; None for what is no stage."""
        return self.stages.index(stage) if stage in self.stages else None

    def choose(self, bar: Bar | None) -> None:
        """Choose a bar, or none: the newest is told again, and goes on with time."""
        self._chosen = bar.first if bar else None

    def point(self, bar: Bar | None) -> None:
        """Put the mouse over a bar, or over none."""
        self._pointed = bar.first if bar else None

    def move(self, steps: int) -> Bar | None:
        """Choose the bar so many further on from the one chosen, or from the newest; stops at the oldest.

        Past the newest none is chosen, and the newest is told from then on.
        """
        if not self.bars:
            return None
        at = self.bars.index(self.chosen) if self.chosen else len(self.bars) - 1
        self.choose(self.bars[max(at + steps, 0)] if at + steps < len(self.bars) else None)
        return self.chosen

    def _of(self, index: int | None) -> Bar | None:
        return None if index is None else next((bar for bar in self.bars if bar.first <= index <= bar.last), None)

    def _meet_stages(self) -> None:
        met = [stage.name for stage in self.figures.stages] if self.figures else []
        met += [stage.name for bar in (*self.bars, self.running) if bar for stage in bar.stages]
        self.stages = tuple(dict.fromkeys([*self.stages, *met]))

    def _scale(self) -> float:
        """The first scale into which the tallest bar fits."""
        tallest = max((bar.height for bar in (*self.bars, self.running) if bar), default=0.0)
        return next((scale for scale in SCALES if tallest <= scale), SCALES[-1])


def bars_of(units: Iterable[UnitRecord]) -> Iterator[Bar]:
    """A whole session's bars, oldest first."""
    history, unit = _History(), None
    for unit in units:
        if (bar := history.add(unit)) is not None:
            yield bar
    if unit is not None:
        yield history.newest()


def tightest(bars: list[Bar]) -> Bar:
    """One bar for neighbours, so that no overrun and no gap is hidden: the tightest's work, and all their counts."""
    if len(bars) == 1:
        return bars[0]
    return replace(
        min(bars, key=lambda bar: math.inf if bar.slack_ms is None else bar.slack_ms),
        first=bars[0].first,
        last=bars[-1].last,
        overruns=sum(bar.overruns for bar in bars),
        gap_ms=sum(bar.gap_ms for bar in bars),
        dropped_ms=sum(bar.dropped_ms for bar in bars),
        delay_ms=max((bar.delay_ms for bar in bars if bar.delay_ms is not None), default=None),
    )


class _History:
    """Bars of the units that were seen; a unit is looked at once."""

    def __init__(self) -> None:
        self._done: deque[Bar] = deque(maxlen=SHOWN_UNITS)
        self._open: list[UnitRecord] = []  # of the newest bar, which more units may still join
        self._before: UnitRecord | None = None  # the unit before those
        self._bar: Bar | None = None

    def take(self, units: tuple[UnitRecord, ...]) -> None:
        """Add what is new in them; where they do not go on from what is known (a replay was sought), begin again."""
        known = self._open[-1].index if self._open else None
        if known is not None and units and units[0].index <= known <= units[-1].index:
            units = tuple(unit for unit in units if unit.index > known)
        else:
            self._done.clear()
            self._open, self._before, self._bar = [], None, None
        for unit in units:
            if (bar := self.add(unit)) is not None:
                self._done.append(bar)
        if units:
            self._bar = self.newest()

    def split(self, now_ns: int) -> tuple[tuple[Bar, ...], Bar | None]:
        """The bars that are done, and the newest where it is a second of short units that is still going on."""
        if self._bar is None:
            return (), None
        second_ns = self._bar.arrival_ns // NS * NS
        if not _short(self._open[-1]) or now_ns >= second_ns + NS:
            return (*self._done, self._bar)[-SHOWN_UNITS:], None
        elapsed_ms = max(0, now_ns - self._bar.arrival_ns) / 1e6
        return tuple(self._done), replace(self._bar, cadence_ms=1000.0, elapsed_ms=elapsed_ms)

    def add(self, unit: UnitRecord) -> Bar | None:
        """Take in one unit; returns the bar that is done where the unit begins another."""
        done = None
        if self._open and second_of(self._open[0]) != second_of(unit):
            done = self.newest()
            self._before, self._open = self._open[-1], []
        self._open.append(unit)
        return done

    def newest(self) -> Bar:
        """The newest bar; whether its first unit had to wait, the unit before tells."""
        before = () if self._before is None else (self._before,)
        *_, row = rows_of((*before, *self._open))
        return _bar(row, self._open)


def _short(unit: UnitRecord) -> bool:
    return unit.deadline_ns - unit.arrival_ns < SHORT_UNIT_NS


def _bar(row: Row, units: list[UnitRecord]) -> Bar:
    times: dict[str, float] = {}
    paths: dict[str, dict[str, None]] = {}
    for unit in units:
        for name, ms in stage_times_ms(unit).items():
            times[name] = times.get(name, 0.0) + ms
        for stage in unit.stages:
            paths.setdefault(stage.name, {})[stage.path] = None
    return Bar(
        first=units[0].index,
        last=units[-1].index,
        arrival_ns=row.arrival_ns,
        cadence_ms=row.cadence_ms,
        event=row.event,
        spans=row.spans,
        stages=tuple(StageTime(name, ms, tuple(paths[name])) for name, ms in times.items()),
        slack_ms=row.slack_ms,
        overruns=row.overruns,
        gap_ms=sum(unit.audio.gap_ms for unit in units),
        dropped_ms=sum(unit.audio.dropped_ms for unit in units),
        delay_ms=row.worst_delay_ms,
    )


def _running(snapshot: Snapshot) -> Bar | None:
    """The unit under way as a bar; None where there is none, or where it is among the units already."""
    unit = snapshot.running
    if unit is None or (snapshot.units and unit.index <= snapshot.units[-1].index):
        return None
    now_ms = (snapshot.now_ns - unit.arrival_ns) / 1e6
    return Bar(
        first=unit.index,
        last=unit.index,
        arrival_ns=unit.arrival_ns,
        cadence_ms=(unit.deadline_ns - unit.arrival_ns) / 1e6,
        event="",
        spans=tuple(_filling(unit, now_ms)),
        stages=tuple(StageTime(name, ms) for name, ms in unit.stages.items()),
        slack_ms=None,
        elapsed_ms=max(0.0, now_ms),
    )


def _filling(unit: Running, now_ms: float) -> Iterator[Span]:
    """What the unit under way has done so far: waited, finished stages, the stage it is in."""
    start_ms = now_ms if unit.start_ns is None else (unit.start_ns - unit.arrival_ns) / 1e6
    at = 0.0
    for name, end_ms in _ends(unit, start_ms, now_ms):
        if end_ms > at:
            yield Span(name, at, end_ms)
            at = end_ms


def _ends(unit: Running, start_ms: float, now_ms: float) -> Iterable[tuple[str, float]]:
    yield WAITING, start_ms
    if unit.start_ns is None:
        return
    at = start_ms
    for name, ms in unit.stages.items():
        at += ms
        yield name, at
    if unit.stage:
        yield OTHER, (unit.stage_start_ns - unit.arrival_ns) / 1e6
        yield unit.stage, now_ms
    else:
        yield OTHER, now_ms
