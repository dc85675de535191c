"""A session as planned: its states, its units one by one, and the bounds of all of them.

Made by `engine.plan.plan`. Walks its script no further than it is asked to, or until everything has come round; knows
no device and no time. One thread at a time may ask it.
"""

from collections.abc import Hashable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from math import lcm, prod
from types import MappingProxyType

from engine.plan.advance import Declared, Position, SessionFull, StageClock, StageUnit, Unit, end_turn
from engine.plan.cycles import Cycle, GraphShape, find_cycles, rank_shapes
from engine.plan.script import FLUSH, LISTEN, SPEAK, Script, ScriptUnit
from engine.plan.table import describe
from engine.stage import DTYPE_BYTES, Lifetime


@dataclass(frozen=True)
class PlannedState:
    """Memory that the arena holds for a state, or for the second buffer that a shift goes through.

    Args:
        name: "stage.state", or "stage.state.shift".
        dtype: Element type.
        item_shape: The shape of one tick, without time.
        max_ticks: The most ticks it can hold, whatever is said.
        initial: Ticks at the start and after a reset.
        reset: Who resets it.
        group: States of one group are laid out together, time-major.
    """

    name: str
    dtype: str
    item_shape: tuple[int, ...]
    max_ticks: int
    initial: int = 0
    reset: Lifetime = Lifetime.SESSION
    group: str = ""

    @property
    def item_bytes(self) -> int:
        """Bytes of one tick."""
        return prod(self.item_shape) * DTYPE_BYTES[self.dtype]

    @property
    def max_bytes(self) -> int:
        """Bytes at the most."""
        return self.max_ticks * self.item_bytes


@dataclass(frozen=True)
class UnitPlan:
    """One unit, before it happens.

    Args:
        index: Which unit.
        event: `L`, `S` or `F`.
        stages: What each stage does, by name.
        needed: The most ticks each planned state holds within the unit, by name.
        held: Ticks each state holds after the unit, and after the reset that a turn's end brings, by name.
        bytes: Bytes that the unit needs: the sum over `needed`.
    """

    index: int
    event: str
    stages: Mapping[str, StageUnit]
    needed: Mapping[str, int]
    held: Mapping[str, int]
    bytes: int


class Plan:
    """What a session needs. Made by `plan`; what it works out, it keeps."""

    def __init__(
        self, declared: Declared, states: tuple[PlannedState, ...], script: Script, session_units: int | None
    ) -> None:
        self.declared, self.states, self.script, self.session_units = declared, states, script, session_units
        self.timelines, self.specs, self.cadence = declared.timelines, declared.specs, declared.cadence
        self.start = Position(
            MappingProxyType({line.name: StageClock(waiting=line.primed) for line in self.timelines}),
            MappingProxyType({name: spec.initial for name, spec in self.specs.items()}),
        )
        self._item_bytes = {state.name: state.item_bytes for state in states}
        self._units: list[UnitPlan] = []
        self._positions = [self.start]
        self._seen: dict[Hashable, int] = {}  # where the script's session stood, and before which unit
        self._round = 0  # units in which everything comes round, once it has

    def advance(
        self,
        position: Position,
        event: str,
        *,
        index: int = 0,
        speech_ticks: int | None = None,
        ran: Mapping[str, int] = MappingProxyType({}),
    ) -> tuple[UnitPlan, Position]:
        """One unit from `position`: what it needs, and where the session stands after it.

        Args:
            position: `start`, or what the unit before gave.
            event: LISTEN, SPEAK or FLUSH, or their first letters.
            index: The unit's number, for the record only.
            speech_ticks: Ticks of the speech clock in this unit, where they are fewer than the clock gives.
            ran: By stage, the input ticks that a stage with a quota took; its whole quota where it is not named.

        Raises:
            SessionFull: A limit that ends the session would be passed.
        """
        unit = Unit(self.declared, position, ScriptUnit(event[0], speech_ticks), ran)
        needed = {state.name: unit.needed.get(state.name, 0) for state in self.states}
        assert sum(needed.values()) == sum(unit.needed.values()), "a state needs more than the plan has memory for"
        size = sum(ticks * self._item_bytes[name] for name, ticks in needed.items())
        frozen = MappingProxyType
        planned = UnitPlan(index, event[0], frozen(unit.stages), frozen(needed), unit.after.held, size)
        return planned, unit.after

    def end_turn(self, position: Position) -> Position:
        """Where the session stands if the turn at hand is dropped: the user has barged in, or a stage has failed."""
        return end_turn(self.declared, position)

    def ahead(self, position: Position) -> dict[str, int]:
        """The most ticks of each planned state in the unit after `position`, whatever its event turns out to be.

        Raises:
            SessionFull: No unit can follow.
        """
        units = []
        for event in (LISTEN, SPEAK, FLUSH):
            with suppress(SessionFull):
                units.append(self.advance(position, event)[0].needed)
        if not units:
            self.advance(position, LISTEN)  # says which limit it is
        return {state.name: max(needed[state.name] for needed in units) for state in self.states}

    def unit(self, index: int) -> UnitPlan:
        """What unit `index` of the script needs.

        Raises:
            SessionFull: The session has ended by then.
        """
        if self.session_units is not None and index >= self.session_units:
            raise SessionFull(f"unit {index}", f"one of the {self.session_units} that the session declares")
        self._walk(index + 1)
        return replace(self._units[self._like(index)], index=index)

    def position(self, index: int) -> Position:
        """Where the script's session stands before unit `index`."""
        self._walk(index)
        return self._positions[self._like(index)]

    def _walk(self, units: int) -> None:
        """Walk the script as far as `units`, or until everything has come round."""
        while len(self._units) < units and not self._round:
            number = len(self._units)
            told = self.script.at(number)
            unit, position = self.advance(self._positions[-1], told.event, index=number, speech_ticks=told.ticks)
            self._units.append(unit)
            self._positions.append(position)
            stands = (self.script.phase(number + 1), *position.clocks.values(), *position.held.values())
            self._round = number + 1 - self._seen.setdefault(stands, number + 1)

    def _like(self, index: int) -> int:
        """The unit walked already that unit `index` is like."""
        past = index - len(self._units)
        return index if past < 0 or not self._round else len(self._units) - self._round + past % self._round

    def bytes_at(self, index: int) -> int:
        """Bytes that unit `index` of the script needs."""
        return self.unit(index).bytes

    @property
    def max_bytes(self) -> int:
        """Bytes that no session can exceed, whatever its script."""
        return sum(state.max_bytes for state in self.states)

    @cached_property
    def cycles(self) -> Mapping[str, Cycle]:
        """By stage, the units before its launches' shapes repeat, and the units after which they do."""
        return find_cycles(self)

    @property
    def warm_up(self) -> int:
        """Units before the shapes of all stages repeat."""
        return max(cycle.warm_up for cycle in self.cycles.values())

    @property
    def cycle(self) -> int:
        """Units after which the shapes of all stages repeat together; zero where the session ends before they do."""
        return lcm(*(cycle.length for cycle in self.cycles.values()))

    @cached_property
    def shapes(self) -> tuple[GraphShape, ...]:
        """Every exact shape that the script meets, the most frequent first."""
        return rank_shapes(self)

    def describe(self) -> str:
        """The plan as a table for a terminal."""
        return describe(self)
