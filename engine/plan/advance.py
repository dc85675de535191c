"""The arithmetic of one unit: ticks that arrive, launches they are cut into, and what each launch does to a state.

Everything is an integer or an exact fraction, and nothing is kept between calls: a `Position` goes in and the next one
comes out. The whole plan, the arena's look ahead and a running session all go through `advance`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from types import MappingProxyType

from engine.clock import Rate
from engine.errors import AskedWrongly
from engine.plan.script import FLUSH, LISTEN, SPEAK, ScriptUnit
from engine.stage import After, AtLimit, Lifetime, Order, Quota, Ring, Span, StateSpec, Tail, Ticking, Timeline, Trim

SHIFT = ".shift"  # a state's planned second buffer, where a shift overlaps itself


@dataclass(frozen=True)
class Declared:
    """A model's stages as they were declared, and what follows from that for every unit.

    Args:
        timelines: The stages, each after those it depends on.
        specs: Their states, by "stage.state".
        cadence: Units a second.
    """

    timelines: tuple[Timeline, ...]
    specs: Mapping[str, StateSpec]
    cadence: Rate

    @cached_property
    def reads(self) -> Mapping[str, tuple[tuple[str, StateSpec], ...]]:
        """By stage, the states that it reads and grows: its own, then those it shares."""
        named = {
            line.name: [*(f"{line.name}.{spec.name}" for spec in line.states), *line.shares] for line in self.timelines
        }
        return {stage: tuple((name, self.specs[name]) for name in names) for stage, names in named.items()}

    @cached_property
    def turns(self) -> frozenset[str]:
        """The stages that a turn's end ends: all that do not follow from a clock of the session's own."""
        turns: set[str] = set()
        for line in self.timelines:
            drive = line.drive
            if drive.stage in turns if isinstance(drive, After) else not isinstance(drive, Ticking) or drive.speech:
                turns.add(line.name)
        return frozenset(turns)


@dataclass(frozen=True)
class Launch:
    """One run of a stage.

    Args:
        shape: The ticks fed, then the ticks held of each state whose length is part of the shape.
        takes: Input ticks taken for good.
        yields: Output ticks.
        last: It, or the launch that handed on to it, is fed without the look-ahead that there would be, because the
            turn ends: not the graph of that shape.
    """

    shape: tuple[int, ...]
    takes: int
    yields: int
    last: bool = False

    @property
    def fed(self) -> int:
        """Ticks that the launch is fed, look-ahead and context among them."""
        return self.shape[0]


@dataclass(frozen=True)
class StageUnit:
    """What a stage does in one unit: its launches, in order; none where it rests."""

    stage: str
    launches: tuple[Launch, ...] = ()

    @property
    def ticks(self) -> int:
        """Output ticks of the unit."""
        return sum(launch.yields for launch in self.launches)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the first launch; empty where the stage rests."""
        return self.launches[0].shape if self.launches else ()


@dataclass(frozen=True)
class StageClock:
    """Where a stage stands between two units.

    Args:
        waiting: Input ticks that have come and are not taken.
        before: Ticks taken that can be handed over again, at most the stage's context.
        owed: Ticks taken whose output is held back, at most the stage's lag.
        phase: The part of a tick that its clock has run beyond the last whole one.
        started: Whether its first unit is past, where that one differs: the session's, or the turn's.
    """

    waiting: int = 0
    before: int = 0
    owed: int = 0
    phase: Fraction = Fraction(0)
    started: bool = False


@dataclass(frozen=True)
class Position:
    """Where a session stands between two units: each stage's clock, each state's ticks, by name."""

    clocks: Mapping[str, StageClock]
    held: Mapping[str, int]


class SessionFull(AskedWrongly):
    """A unit that the session cannot have: a state, or the session, would pass the limit that it declares."""


@dataclass(frozen=True)
class Grown:
    """A state's ticks through one launch: at the most, afterwards, and in the buffer that a shift goes through."""

    most: int
    after: int
    shift: int


def grow(spec: StateSpec, held: int, new: int, *, trims: bool = True) -> Grown:
    """What a launch that brings `new` ticks does to a state that holds `held`.

    A ring is written in place; a tail is joined with the launch's input in the launch's own workspace. Of the others,
    new ticks that stand after the old are joined to them in place, and then trimmed; those that stand before the old
    are joined in the shift buffer, and so the state itself never holds more than is left.

    Args:
        spec: The state.
        held: Ticks before the launch.
        new: Ticks that the launch brings.
        trims: What is not kept is dropped after this launch.
    """
    if isinstance(spec.keep, Ring | Tail):
        after = min(spec.keep.ticks, held + new)
        return Grown(max(held, after), after, 0)
    joined = held + new
    sources = spec.keep.sources(joined) if spec.keep and trims else (range(joined),)
    after = sum(len(piece) for piece in sources)
    if spec.order is Order.BEFORE:
        return Grown(max(held, after), after, joined if held else 0)
    moved, overlaps, to = 0, False, 0
    for number, piece in enumerate(sources):
        end = to + len(piece)
        if piece.start != to:
            moved += len(piece)
            overlaps |= any(other.start < end and to < other.stop for other in sources[number:])
        to = end
    return Grown(joined, after, moved if overlaps else 0)


def launches(line: Timeline, waiting: int, last: bool) -> Iterator[tuple[int, int, bool]]:
    """Cut `waiting` ticks into launches: (fed, taken, last) each; what is left waits."""
    if line.chunk is None:
        if takes := waiting // line.grain * line.grain:
            yield takes, takes, last
        return
    least = line.least or line.chunk
    while waiting - line.look_ahead >= least:
        takes = min(line.chunk, waiting - line.look_ahead)
        yield takes + line.look_ahead, takes, False
        waiting -= takes
    if last and waiting:
        yield waiting, waiting, True


class Unit:
    """One unit under way: built for a position and a script unit, run once, then read."""

    def __init__(self, declared: Declared, position: Position, unit: ScriptUnit, ran: Mapping[str, int]) -> None:
        self._declared, self._unit, self._ran = declared, unit, ran
        self.clocks = dict(position.clocks)
        self.held = dict(position.held)
        self.needed = dict(position.held)  # the most that each state, and each shift buffer, holds within the unit
        self.stages: dict[str, StageUnit] = {}
        for line in declared.timelines:
            self.stages[line.name] = StageUnit(line.name, tuple(self._run(line)))
        for name, spec in declared.specs.items():
            if isinstance(spec.keep, Trim) and spec.keep.each_unit:
                self._hold(name, grow(spec, self.held[name], 0))
        after = Position(MappingProxyType(self.clocks), MappingProxyType(self.held))
        self.after = end_turn(declared, after) if unit.event == FLUSH else after

    def _run(self, line: Timeline) -> Iterator[Launch]:
        parcels = list(self._arrivals(line))
        ends = self._unit.event == FLUSH and line.name in self._declared.turns
        if ends and not parcels:
            parcels = [(0, False)]  # nothing new, but what waits must go
        for number, (ticks, short) in enumerate(parcels, 1):
            waiting = self.clocks[line.name].waiting + ticks
            for fed, takes, last in launches(line, waiting, ends and number == len(parcels)):
                yield self._launch(line, fed, takes, last, short=short)
                waiting -= takes
            self.clocks[line.name] = replace(self.clocks[line.name], waiting=waiting)

    def _launch(self, line: Timeline, fed: int, takes: int, last: bool, *, short: bool) -> Launch:
        clock = self.clocks[line.name]
        owes = 0 if last else min(line.lag, clock.owed + takes)
        self.clocks[line.name] = replace(clock, before=min(line.context[0], clock.before + takes), owed=owes)
        lengths = []
        for name, spec in self._declared.reads[line.name]:
            new = whole(spec.growth * takes, f"{name} grows by {spec.growth} for each of {takes} ticks")
            held = self.held[name]
            if spec.limit is not None and held + new > spec.limit:
                if spec.at_limit is AtLimit.END:
                    raise SessionFull(
                        f"{held + new} ticks of {name}", f"at most {spec.limit}", "end the turn, or start a new session"
                    )
                held = spec.initial
            trims = not (isinstance(spec.keep, Trim) and spec.keep.each_unit)
            self._hold(name, grow(spec, held, new, trims=trims))
            if spec.span is Span.EXACT:
                lengths.append(held)
        done = clock.owed + takes - owes
        yields = whole(line.yields * done, f"stage {line.name} yields {line.yields} for each of {done} ticks")
        shape = clock.before + fed + line.context[1], *lengths
        return Launch(shape, takes, yields, short or (last and line.look_ahead > 0))

    def _hold(self, name: str, grown: Grown) -> None:
        self.held[name] = grown.after
        self.needed[name] = max(self.needed[name], grown.most)
        self.needed[name + SHIFT] = max(self.needed.get(name + SHIFT, 0), grown.shift)

    def _arrivals(self, line: Timeline) -> Iterator[tuple[int, bool]]:
        """Ticks that come, and whether the launch that hands them on had no look-ahead."""
        drive = line.drive
        if isinstance(drive, Quota):
            parcels = {LISTEN: drive.listen, SPEAK: drive.speak, FLUSH: drive.flush}[self._unit.event]
            clock = self.clocks[line.name]
            if drive.opens and self._unit.event != LISTEN and not clock.started:
                parcels = drive.opens + parcels
                self.clocks[line.name] = replace(clock, started=True)
            yield from ((ticks, False) for ticks in ((self._ran[line.name],) if line.name in self._ran else parcels))
        elif isinstance(drive, After):
            source = self.stages[drive.stage]
            whole_unit = [(source.ticks, False)] if source.ticks else []
            for count, short in [(one.yields, one.last) for one in source.launches] if drive.each else whole_unit:
                came = f"stage {line.name} takes {drive.ratio} of each of {count} ticks"
                yield whole(count * drive.ratio, came), short
        elif not (drive.speech and self._unit.event == LISTEN):
            yield self._tick(line, drive), False

    def _tick(self, line: Timeline, drive: Ticking) -> int:
        clock = self.clocks[line.name]
        run = clock.phase + drive.rate / self._declared.cadence
        ticks = int(run)
        if drive.first is not None and not clock.started:
            ticks, run = drive.first, Fraction(drive.first)  # its own unit, after which the clock starts even
        self.clocks[line.name] = replace(clock, phase=run - ticks, started=drive.first is not None)
        if drive.speech and self._unit.ticks is not None:
            if self._unit.ticks > ticks:
                raise AskedWrongly(
                    f"a script unit of {self._unit.ticks} speech ticks",
                    f"at most {ticks}, which is what {line.name} ticks in a unit",
                )
            return self._unit.ticks
        return ticks


def end_turn(declared: Declared, position: Position) -> Position:
    """Where a session stands once the turn at hand is over: what belongs to a turn is as it was before one."""
    clocks = {line.name: StageClock(waiting=line.primed) for line in declared.timelines if line.name in declared.turns}
    held = {name: spec.initial for name, spec in declared.specs.items() if spec.reset is Lifetime.TURN}
    return Position(MappingProxyType({**position.clocks, **clocks}), MappingProxyType({**position.held, **held}))


def whole(ticks: Fraction | int, came: str) -> int:
    """`ticks` as an integer.

    Raises:
        AskedWrongly: There is a part of a tick, so the declared ratio does not fit the declared chunks.
    """
    if ticks.denominator != 1:
        raise AskedWrongly(f"{came}, which makes {ticks}", "whole ticks", "correct the model's timelines")
    return int(ticks)
