"""Where the shapes of a plan begin to repeat, and which graphs that makes.

A stage's shapes repeat once everything that shapes them stands as it stood before: its clock and those of the stages
it follows, the lengths that enter a shape, and, where a turn's course matters to it, the place in the script. Found by
walking the plan; every bounded plan gets there.
"""

from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING

from engine.plan.advance import SessionFull
from engine.stage import After, Lifetime, Quota, Span

if TYPE_CHECKING:
    from collections.abc import Hashable

    from engine.plan.planned import Plan


NEVER = -1
_Key = tuple[tuple[int, ...], bool]  # shape, and whether it, or what handed on to it, lacks look-ahead


@dataclass(frozen=True)
class Cycle:
    """Units before a stage's shapes repeat, and the units of one repetition.

    Args:
        warm_up: Units before.
        length: Units of the cycle; zero where the session ends before anything repeats.
    """

    warm_up: int
    length: int


@dataclass(frozen=True)
class GraphShape:
    """One exact shape of a stage: one graph.

    Args:
        stage: The stage.
        shape: Ticks fed, then the ticks of each state whose length is part of it.
        last: For launches that a turn's end leaves without look-ahead.
        a_unit: Launches a unit in the long run; zero for a shape that only the stage's warm-up meets.
        early: Launches in the stage's warm-up.
        first_unit: The unit that meets it first; `NEVER` for one that the script does not meet but the input may.
    """

    stage: str
    shape: tuple[int, ...]
    last: bool
    a_unit: Fraction
    early: int
    first_unit: int


def find_cycles(plan: "Plan") -> dict[str, Cycle]:
    """Each stage's cycle, by walking the script until all have come round or the session ends."""
    seen: dict[str, dict[Hashable, int]] = {line.name: {} for line in plan.timelines}
    shapers = {name: _shapers(plan, name) for name in seen}
    cycles: dict[str, Cycle] = {}
    index = 0
    with suppress(SessionFull):
        while len(cycles) < len(seen):
            position = plan.position(index)
            for name, (stages, states, by_turn) in shapers.items():
                clocks = tuple(position.clocks[stage] for stage in stages)
                held = tuple(position.held[state] for state in states)
                first = seen[name].setdefault((clocks, held, plan.script.phase(index) if by_turn else None), index)
                if first < index:
                    cycles.setdefault(name, Cycle(first, index - first))
            plan.unit(index)
            index += 1
    return {name: _shortest(plan, name, cycles[name]) if name in cycles else Cycle(index, 0) for name in seen}


def _shortest(plan: "Plan", name: str, cycle: Cycle) -> Cycle:
    """The same course with nothing said twice: what shapes a stage may repeat later than its shapes do."""
    course = [plan.unit(index).stages[name].launches for index in range(cycle.warm_up + cycle.length)]
    once = course[cycle.warm_up :]
    length = next(
        length
        for length in range(1, len(once) + 1)
        if len(once) % length == 0 and once == once[:length] * (len(once) // length)
    )
    warm_up = cycle.warm_up
    while warm_up and course[warm_up - 1] == course[warm_up - 1 + length]:
        warm_up -= 1
    return Cycle(warm_up, length)


def rank_shapes(plan: "Plan") -> tuple[GraphShape, ...]:
    """Every exact shape, the most frequent in the long run first, then the most frequent in the warm-up."""
    shapes = []
    for line in plan.timelines:
        cycle = plan.cycles[line.name]
        early, late = Counter[_Key](), Counter[_Key]()
        first: dict[_Key, int] = {}
        for index in range(cycle.warm_up + cycle.length):
            counts = early if index < cycle.warm_up else late
            for launch in plan.unit(index).stages[line.name].launches:
                counts[launch.shape, launch.last] += 1
                first.setdefault((launch.shape, launch.last), index)
        sizes = line.drive.sizes if isinstance(line.drive, Quota) else ()
        for size, (shape, last) in product(sizes, tuple(first)):  # the plan reckons with the largest
            first.setdefault(((size, *shape[1:]), last), NEVER)
        shapes += [
            GraphShape(line.name, *key, Fraction(late[key], max(1, cycle.length)), early[key], unit)
            for key, unit in first.items()
        ]
    return tuple(sorted(shapes, key=lambda one: (-one.a_unit, -one.early, one.first_unit)))


def _shapers(plan: "Plan", name: str) -> tuple[list[str], list[str], bool]:
    """What shapes a stage: stages whose clocks matter, its own states whose lengths do, and whether turns do."""
    lines = {line.name: line for line in plan.timelines}
    reads = plan.declared.reads
    own = {state: spec for state, spec in reads[name] if spec.span is Span.EXACT}
    queue = [name, *(stage for stage, states in reads.items() if own.keys() & dict(states).keys())]
    stages: list[str] = []
    while queue:
        line = lines[queue.pop()]
        if line.name not in stages:
            stages.append(line.name)
            queue += [line.drive.stage] if isinstance(line.drive, After) else []
    by_turn = any(spec.reset is Lifetime.TURN for spec in own.values())
    return stages, list(own), by_turn or not plan.declared.turns.isdisjoint(stages)
