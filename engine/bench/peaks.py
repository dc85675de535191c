"""What a runtime takes of the device's memory at most, in a process of its own, and what it takes it for.

The total is the driver's figure above what the context alone takes. State is what is carried from unit to unit, the
arena's memory among it; weights are what else lies in torch's tensors while nothing runs, activations what comes on top
while a unit or the prompt is worked out; graphs have memory that is theirs alone. What is left of the total is torch's
cache, the libraries' own, and rounding. Loading is over when the count begins. Entered by the main thread of a process
that measures nothing else.
"""

import multiprocessing
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from itertools import islice
from typing import Any, Protocol

from engine.arena import Arena
from engine.bench.columns import CADENCE, GRAPHS, Cadence
from engine.bench.course import course, for_ever
from engine.bench.place import Place, find_place
from engine.bench.rig import Asked, Rig
from engine.bench.tails import GRAPHS_TOKENS
from engine.layout import lay_out
from engine.plan import Plan

SCRIPT, GRAPHS_SCRIPT = f"(S17 {'S ' * 5}F13)", f"(S{GRAPHS_TOKENS})"
UNITS = 10  # a turn, and the beginning of another
GRANULES = 4  # beyond the plan's bytes, for each group of states that grow together


def measure_alone(asked: Asked, name: str, prompt_s: float) -> dict[str, Any]:
    """A column's peak, measured by a fresh process; see `measure`.

    Raises:
        RuntimeError: It failed there, or the process died.
    """
    return alone(measure, asked, name, prompt_s)


def alone(work: Callable[..., dict[str, Any]], *inputs: Any) -> dict[str, Any]:
    """What some work finds in a fresh process.

    Raises:
        RuntimeError: It failed there, or the process died.
    """
    forks = "forkserver" in multiprocessing.get_all_start_methods()
    context = multiprocessing.get_context("forkserver" if forks else "spawn")
    if forks:  # from a server that has loaded torch already, and has not touched the device
        context.set_forkserver_preload([__name__])
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(work, *inputs).result()


def measure(asked: Asked, name: str, prompt_s: float) -> dict[str, Any]:
    """A column's peak and its parts, in bytes; of ours, whether the arena keeps to the plan as well."""
    place = find_place(asked.device)
    place.forget()
    baseline = place.used_bytes()
    rig = Rig(asked, place)
    prompt = rig.prompt(prompt_s)
    column = rig.column(name, prompt)
    weight_bytes = rig.weight_bytes
    rig.let_go()
    place.forget()

    column.prepare(prompt)
    place.synchronize()
    used = [place.used_bytes()]
    watch = Watch(column, place)
    watch.prepared()
    place.forget()
    column.capture()
    used.append(place.used_bytes())
    place.forget()

    tail = asked.tail.eager_to_start() if name == GRAPHS else asked.tail
    plan = tail.plan(tail.lines(prompt.tokens.shape[1], rig.sizes))
    script = GRAPHS_SCRIPT if name == GRAPHS else SCRIPT
    column.begin()
    kept = Kept(column.arena, column.plan, place) if isinstance(column, Cadence) and name == CADENCE else None
    for unit in course(plan, islice(for_ever(script), UNITS), rig.sizes.flow.vocabulary, place.device):
        watch.before()
        column.say(unit)
        place.synchronize()
        watch.after()
        column.rest(unit)
        if kept is not None:
            kept.look(unit)
        used.append(place.used_bytes())
    found = watch.figures(max(used) - baseline, weight_bytes, column.graph_bytes)
    return found | (kept.figures() if kept is not None else {})


class Holds(Protocol):
    """Carries something from unit to unit; see `engine.bench.columns.Column`."""

    @property
    def held_bytes(self) -> int:
        """Bytes of it."""
        ...

    @property
    def in_torch_bytes(self) -> int:
        """Of those, bytes in torch's tensors."""
        ...


class Said(Protocol):
    """What a unit was, as far as memory goes; see `engine.bench.course.BenchUnit`."""

    @property
    def ends(self) -> bool:
        """A turn ends with it."""
        ...

    @property
    def ahead(self) -> Mapping[str, int]:
        """The most ticks that each state may need in the next."""
        ...


class Watch:
    """Torch's count of a column's tensors, read before and after each unit, where torch keeps one."""

    def __init__(self, column: Holds, place: Place) -> None:
        self._column, self._place = column, place
        self._weight_bytes = self._base = self.state_bytes = self._in_torch = 0
        self._beyond: list[int] = []  # at the most, above weights and whatever else is neither state nor activation

    def prepared(self) -> None:
        """The column has taken in a voice since the count began, and rests."""
        self._weight_bytes = self._base = (self._place.torch_bytes() or 0) - self._column.in_torch_bytes
        self.after()

    def before(self) -> None:
        """A unit is about to be said."""
        self._base = (self._place.torch_bytes() or 0) - self._column.in_torch_bytes
        self._place.count_anew()

    def after(self) -> None:
        """It has been said."""
        self._beyond.append((self._place.torch_peak_bytes() or 0) - self._base)
        self.state_bytes = max(self.state_bytes, self._column.held_bytes)
        self._in_torch = max(self._in_torch, self._column.in_torch_bytes)

    def split(self) -> tuple[int, int] | None:
        """Bytes of weights and of activations; None where torch keeps no count."""
        if self._place.torch_bytes() is None:
            return None
        return self._weight_bytes, max(0, max(self._beyond) - self._in_torch)

    def figures(self, peak_bytes: int, weight_bytes: int, graph_bytes: int) -> dict[str, Any]:
        """A peak and its parts, for the record; `weight_bytes` where torch keeps no count of its own."""
        found = {"peak_bytes": peak_bytes, "weight_bytes": weight_bytes}
        found |= {"state_bytes": self.state_bytes, "graph_bytes": graph_bytes}
        if (split := self.split()) is not None:
            found["weight_bytes"], found["activation_bytes"] = split
            parts = ("weight_bytes", "state_bytes", "activation_bytes", "graph_bytes")
            found["other_bytes"] = peak_bytes - sum(found[part] for part in parts)
        return found


class Kept:
    """Whether the arena's committed memory keeps to the plan: its bytes, and some granules a group."""

    def __init__(self, arena: Arena, plan: Plan, place: Place) -> None:
        self._arena = arena
        self._item_bytes = {state.name: state.item_bytes for state in plan.states}
        growing = [block for block in lay_out(plan.states, place.granule_bytes).blocks if block.grows]
        self._groups = len(growing) + 1  # those that do not grow lie together
        self._room = GRANULES * place.granule_bytes * self._groups
        self._demanded: dict[str, int] = dict(plan.ahead(plan.start))
        self._most_committed = self._most_planned = 0
        self._within = True

    def look(self, unit: Said) -> None:
        """A unit has been said, and memory is committed for the next; in a turn none goes back."""
        before = {} if unit.ends else self._demanded
        self._demanded = {name: max(ticks, before.get(name, 0)) for name, ticks in unit.ahead.items()}
        planned = sum(ticks * self._item_bytes[name] for name, ticks in self._demanded.items())
        self._within &= self._arena.committed_bytes <= planned + self._room
        self._most_planned = max(self._most_planned, planned)
        self._most_committed = max(self._most_committed, self._arena.committed_bytes)

    def figures(self) -> dict[str, Any]:
        """For the record."""
        return {
            "committed_bytes": self._most_committed,
            "planned_bytes": self._most_planned,
            "groups": self._groups,
            "within_plan": self._within,
        }
