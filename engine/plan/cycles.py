"""Where the shapes of a plan begin to repeat, and which graphs that makes.

A stage's shapes repeat once everything that shapes them stands as it stood before: its clock and those of the stages
it follows, the lengths that enter a shape, and, where a turn's course matters to it, the place in the script. Found by
walking the plan; every bounded plan gets there.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from engine.plan.advance import follows_turns, reads
from engine.stage import After, Lifetime, Quota, Span

if TYPE_CHECKING:
    from collections.abc import Hashable

    from engine.plan import Plan


NEVER = -1


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
        a_unit: Launches a unit in the long run; zero for a shape that only the stage's warm-up meets.
        early: Launches in the stage's warm-up.
        first_unit: The unit that meets it first; `NEVER` for one that the script does not meet but the input may.
    """

    stage: str
    shape: tuple[int, ...]
    a_unit: Fraction
    early: int
    first_unit: int


def find_cycles(plan: "Plan") -> dict[str, Cycle]:
    """Each stage's cycle, by walking the script until all have come round or the session ends."""
    seen: dict[str, dict[Hashable, int]] = {line.name: {} for line in plan.timelines}
    shapers = {name: _shapers(plan, name) for name in seen}
    cycles: dict[str, Cycle] = {}
    index = 0
    while len(cycles) < len(seen) and (plan.session_units is None or index <= plan.session_units):
        position = plan.position(index)
        for name, (stages, states, by_turn) in shapers.items():
            if name not in cycles:
                clocks = tuple(position.clocks[stage] for stage in stages)
                held = tuple(position.held[state] for state in states)
                first = seen[name].setdefault((clocks, held, plan.script.phase(index) if by_turn else None), index)
                if first < index:
                    cycles[name] = Cycle(first, index - first)
        index += 1
    return {name: _shortest(plan, name, cycles[name]) if name in cycles else Cycle(index - 1, 0) for name in seen}


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
    for name, cycle in plan.cycles.items():
        counts = [Counter[tuple[int, ...]](), Counter[tuple[int, ...]]()]
        first: dict[tuple[int, ...], int] = {}
        for index in range(cycle.warm_up + cycle.length):
            for launch in plan.unit(index).stages[name].launches:
                counts[index >= cycle.warm_up][launch.shape] += 1
                first.setdefault(launch.shape, index)
        early, late = counts
        for shape in _sizes(plan, name, first):
            first.setdefault(shape, NEVER)
        shapes += [
            GraphShape(name, shape, Fraction(late[shape], max(1, cycle.length)), early[shape], unit)
            for shape, unit in first.items()
        ]
    return tuple(sorted(shapes, key=lambda one: (-one.a_unit, -one.early, one.first_unit)))


def _sizes(plan: "Plan", name: str, met: Iterable[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Shapes of every size that a stage's launches may have, beside the largest, which the plan reckons with."""
    drive = next(line.drive for line in plan.timelines if line.name == name)
    sizes = drive.sizes if isinstance(drive, Quota) else ()
    return sorted({(size, *shape[1:]) for size in sizes for shape in met}, reverse=True)


def _shapers(plan: "Plan", name: str) -> tuple[list[str], list[str], bool]:
    """What shapes a stage: stages whose clocks matter, its own states whose lengths do, and whether turns do."""
    lines = {line.name: line for line in plan.timelines}
    own = {state: spec for state, spec in reads(lines[name], plan.specs) if spec.span is Span.EXACT}
    queue = [
        name,
        *(line.name for line in plan.timelines if own.keys() & {state for state, _ in reads(line, plan.specs)}),
    ]
    stages: list[str] = []
    while queue:
        line = lines[queue.pop()]
        if line.name not in stages:
            stages.append(line.name)
            queue += [line.drive.stage] if isinstance(line.drive, After) else []
    by_turn = any(spec.reset is Lifetime.TURN for spec in own.values())
    return stages, list(own), by_turn or any(follows_turns(lines[stage], lines) for stage in stages)
