"""A session as rows of about a second each, few enough to draw: what the meter and the picture paint.

Units shorter than half a second (Moshi's 80 ms) are folded into the second they arrive in, their work pushed together
stage by stage, so that a row shows how much of its second was used. Where there are more rows
than can be drawn, neighbours become one row that shows the tightest of them, so that thinning never hides an overrun.
One pass, bounded memory. Pure; any thread.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain, groupby
from typing import TypeVar

from engine.timing import UnitRecord

NS_PER_SECOND = 1_000_000_000
Number = TypeVar("Number", int, float)
Thing = TypeVar("Thing")
SHORT_UNIT_NS = NS_PER_SECOND // 2
WAITING = "(waiting)"  # the chunk is there, the engine is still at the unit before
OTHER = "(other)"  # the engine's own work between stages


@dataclass(frozen=True, slots=True)
class Span:
    """What the engine did from one moment to another, in ms after the row's arrival: a stage, WAITING or OTHER."""

    name: str
    start_ms: float
    end_ms: float


@dataclass(frozen=True)
class Row:
    """One drawn row: the tightest of the seconds it stands for.

    Args:
        first: The first unit it stands for.
        last: The last one.
        begin_ns: When the first unit's chunk came.
        end_ns: The last unit's deadline.
        shown: The unit (the first of the second) that is painted.
        event: SPEAK where any unit of the painted second spoke, else FLUSH where one closed a turn, else LISTEN.
        arrival_ns: When the painted second's first chunk came.
        deadline_ns: When it had to be.
        slack_ms: The least slack of its units.
        spans: What is painted, disjoint and in order; what lies between spans is idle.
        worst_delay_ms: The longest response delay of the answers that began in it; None where none began.
        events: All units it stands for, by event.
        overruns: Units late, of all it stands for.
        rss: The most resident memory of all it stands for, bytes; None where the system gave none.
        committed: The most arena memory committed of all it stands for, bytes.
    """

    first: int
    last: int
    begin_ns: int
    end_ns: int
    shown: int
    event: str
    arrival_ns: int
    deadline_ns: int
    slack_ms: float
    spans: tuple[Span, ...]
    worst_delay_ms: float | None
    events: tuple[tuple[str, int], ...]
    overruns: int
    rss: int | None
    committed: int

    @property
    def cadence_ms(self) -> float:
        """From arrival to deadline."""
        return (self.deadline_ns - self.arrival_ns) / 1e6

    @property
    def units(self) -> int:
        """How many units it stands for."""
        return sum(count for _, count in self.events)

    @property
    def used_ms(self) -> float:
        """Where the last span ends."""
        return self.spans[-1].end_ms if self.spans else 0.0


def rows_of(units: Iterable[UnitRecord]) -> Iterator[Row]:
    """A row a unit, or a row a second where units are short."""
    for _, group in groupby(_painted(units), key=lambda pair: second_of(pair[0])):
        yield _row(*zip(*group, strict=True))


def thinned(rows: Iterable[Row], most: int) -> tuple[list[Row], int]:
    """At most `most` rows, and how many of the given each stands for (a power of two).

    Args:
        rows: Given rows, in order.
        most: At least 2.
    """
    return folded(rows, most, _tightest)


def folded(things: Iterable[Thing], most: int, fold: Callable[[list[Thing]], Thing]) -> tuple[list[Thing], int]:
    """At most `most` things, and how many of the given each stands for (a power of two).

    Args:
        things: In order.
        most: At least 2.
        fold: Makes one of neighbours.
    """
    kept: list[Thing] = []
    pending: list[Thing] = []  # of the group that is not full yet: one, and how many it stands for
    waiting, group = 0, 1
    for thing in things:
        pending = [fold([*pending, thing])]
        waiting += 1
        if waiting < group:
            continue
        kept += pending
        pending, waiting = [], 0
        if len(kept) > most:
            pending, waiting = ([kept.pop()], group) if len(kept) % 2 else ([], 0)
            kept, group = _paired(kept, fold), group * 2
    kept += pending
    return (kept, group) if len(kept) <= most else (_paired(kept, fold), group * 2)


def second_of(unit: UnitRecord) -> tuple[int, int]:
    """What units of one row have in common, and no others."""
    if unit.deadline_ns - unit.arrival_ns >= SHORT_UNIT_NS:
        return (unit.index, -1)
    return (-1, unit.arrival_ns // NS_PER_SECOND)


def _painted(units: Iterable[UnitRecord]) -> Iterator[tuple[UnitRecord, list[Span]]]:
    """Each unit with its spans, which depend on when the unit before it was done."""
    before_ns = -math.inf
    for unit in units:
        yield unit, list(_spans(unit, before_ns))
        before_ns = unit.finish_ns


def _row(units: tuple[UnitRecord, ...], spans: tuple[list[Span], ...]) -> Row:
    events = Counter(str(unit.event) for unit in units)
    return Row(
        first=units[0].index,
        last=units[-1].index,
        begin_ns=units[0].arrival_ns,
        end_ns=units[-1].deadline_ns,
        shown=units[0].index,
        event=next(name for name in ("SPEAK", "FLUSH", "LISTEN") if name in events),
        arrival_ns=units[0].arrival_ns,
        deadline_ns=units[-1].deadline_ns,
        slack_ms=min(unit.slack_ms for unit in units),
        spans=tuple(spans[0] if len(units) == 1 else _load(chain.from_iterable(spans))),
        worst_delay_ms=_most(unit.response_delay_ms for unit in units),
        events=tuple(events.items()),
        overruns=sum(unit.overrun for unit in units),
        rss=_most(unit.memory.rss for unit in units),
        committed=max(unit.memory.arena_committed for unit in units),
    )


def _spans(unit: UnitRecord, before_ns: float) -> Iterator[Span]:
    """One unit's time from arrival to finish, each moment once; the unit before it was done at `before_ns`."""
    at = 0.0

    def until(name: str, end_ns: float) -> Iterator[Span]:
        nonlocal at
        start, at = at, max(at, (end_ns - unit.arrival_ns) / 1e6)
        if at > start:
            yield Span(name, start, at)

    yield from until(WAITING, min(before_ns, unit.start_ns))
    for stage in unit.stages:
        yield from until(OTHER, stage.start_ns)
        yield from until(stage.name, stage.start_ns + stage.wall_ms * 1e6)
    yield from until(OTHER, unit.finish_ns)


def _load(spans: Iterable[Span]) -> Iterator[Span]:
    """The work of several units, pushed together stage by stage; waiting is no work."""
    times: dict[str, float] = {}
    for span in spans:
        if span.name != WAITING:
            times[span.name] = times.get(span.name, 0.0) + span.end_ms - span.start_ms
    at = 0.0
    for name in sorted(times, key=lambda name: name == OTHER):
        yield Span(name, at, at + times[name])
        at += times[name]


def _paired(things: list[Thing], fold: Callable[[list[Thing]], Thing]) -> list[Thing]:
    return [fold(things[at : at + 2]) for at in range(0, len(things), 2)]


def _tightest(rows: list[Row]) -> Row:
    if len(rows) == 1:
        return rows[0]
    events: Counter[str] = Counter()
    for row in rows:
        events.update(dict(row.events))
    return replace(
        min(rows, key=lambda row: row.slack_ms),
        first=rows[0].first,
        last=rows[-1].last,
        begin_ns=rows[0].begin_ns,
        end_ns=rows[-1].end_ns,
        worst_delay_ms=_most(row.worst_delay_ms for row in rows),
        events=tuple(events.items()),
        overruns=sum(row.overruns for row in rows),
        rss=_most(row.rss for row in rows),
        committed=max(row.committed for row in rows),
    )


def _most(values: Iterable[Number | None]) -> Number | None:
    return max((value for value in values if value is not None), default=None)
