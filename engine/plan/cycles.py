"""Where the shapes of a plan begin to repeat, and which graphs that makes.

A stage's shapes repeat once everything that shapes them stands as it stood before: its clock and those of the stages
it follows, the lengths that enter a shape, and, where a turn's course matters to it, the place in the script. Found by
walking the plan; every bounded plan gets there.
"""

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from engine.plan.advance import follows_turns, reads
from engine.stage import After, Lifetime, Span

if TYPE_CHECKING:
    from collections.abc import Hashable

    from engine.plan import Plan


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
        first_unit: The unit that meets it first.
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
    return {name: cycles.get(name, Cycle(index - 1, 0)) for name in seen}


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
        shapes += [
            GraphShape(name, shape, Fraction(late[shape], max(1, cycle.length)), early[shape], unit)
            for shape, unit in first.items()
        ]
    return tuple(sorted(shapes, key=lambda one: (-one.a_unit, -one.early, one.first_unit)))


def _shapers(plan: "Plan", name: str) -> tuple[list[str], list[str], bool]:
    """What shapes a stage: stages whose clocks matter, states whose lengths do, and whether turns do."""
    lines = {line.name: line for line in plan.timelines}
    stages: list[str] = []
    states: dict[str, bool] = {}  # name: whether a turn's end resets it
    queue = [name]
    while queue:
        line = lines[queue.pop()]
        if line.name in stages:
            continue
        stages.append(line.name)
        if isinstance(line.drive, After):
            queue.append(line.drive.stage)
        exact = {state: spec for state, spec in reads(line, plan.specs) if spec.span is Span.EXACT}
        states |= {state: spec.reset is Lifetime.TURN for state, spec in exact.items()}
        queue += [
            other.name for other in plan.timelines if exact.keys() & {state for state, _ in reads(other, plan.specs)}
        ]
    return stages, list(states), any(states.values()) or any(follows_turns(lines[stage], lines) for stage in stages)
