"""Holds a specimen to the laws that every model keeps, on the CPU, and says of each whether it is kept, and how far.

- plan: a course's steps are the launches that were planned, and nothing is written where the plan foresees nothing;
- streamed equals whole: a turn in units is the turn in one launch a stage;
- replay equals eager: from recorded graphs every unit and every state is the same, to the bit;
- addresses: no view has moved after the script, resets and a second session, and that session is as the first.

Entered by one thread.
"""

from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction

import torch
from torch import Tensor

from engine.arena import HostArena
from engine.clock import WallClock
from engine.errors import CadenceError
from engine.laws.recorded import Recorder
from engine.models.specimen import Course, Specimen, Views
from engine.plan import GraphShape, Plan, plan
from engine.replay import ReplayRuntime
from engine.runtime import EagerRuntime, Runtime
from engine.stage import Lifetime, Quota, Span
from engine.step import Key, Step

PLAN, WHOLE, REPLAY, ADDRESSES = "plan", "streamed equals whole", "replay equals eager", "addresses"


@dataclass(frozen=True)
class Law:
    """A law, tried.

    Args:
        name: Which.
        kept: Whether; None where the specimen gives nothing to try it on.
        words: How far it was tried, or what broke it.
    """

    name: str
    kept: bool | None
    words: str


def hold(specimen: Specimen) -> list[Law]:
    """Try every law; what raises breaks the law at hand."""
    torch.manual_seed(0)
    laws = ((PLAN, _plan), (WHOLE, _whole), (REPLAY, _replay), (ADDRESSES, _addresses))
    found = []
    for name, law in laws:
        try:
            with torch.no_grad():
                found.append(law(specimen))
        except _Broken as broken:
            found.append(Law(name, False, str(broken)))
        except CadenceError as error:
            found.append(Law(name, False, str(error)))
        except Exception as error:  # noqa: BLE001  a model from outside may raise anything; the other laws go on
            found.append(Law(name, False, f"{type(error).__name__}: {' '.join(str(error).split())}"))
    return found


class _Broken(Exception):
    """What broke a law, in words."""


@dataclass
class _Table:
    """A specimen on a plan and an arena of its own.

    Args:
        specimen: It.
    """

    specimen: Specimen
    steps: list[Step] = field(default_factory=list)

    def __post_init__(self) -> None:
        specimen = self.specimen
        self.plan: Plan = plan(specimen.timelines, script=specimen.script, session_s=specimen.session_s)
        self.arena = HostArena(self.plan)
        self.arena.commit_needed(self.plan.ahead(self.plan.start))
        self.views: Views = {state.name: self.arena.view(state.name) for state in self.plan.states}
        self.course: Course = specimen.course(self.plan, self.views)
        self.paths = Counter[str]()
        self.met: dict[Key, None] = {}  # keys of steps that may run from a graph, in the order they were met

    @property
    def units(self) -> range:
        return range(len(self.specimen.script))

    @property
    def addresses(self) -> dict[str, int]:
        return {state.name: self.arena.view(state.name).data_ptr() for state in self.plan.states}

    def run(self, index: int, runtime: Runtime) -> Tensor:
        """A unit; what it put out. Its steps are kept."""
        self.arena.commit_needed(self.plan.unit(index).needed)
        event = self.specimen.script[index]
        steps, result, self.steps = self.course.unit(event, index), None, []
        while True:
            try:
                step = steps.send(result)
            except StopIteration as done:
                out: Tensor = done.value
                break
            self.steps.append(step)
            if step.captures:
                self.met[step.key] = None
            result, record = runtime.execute(step, 0)
            self.paths[record.path] += 1
        out = out.clone()
        if event == "F":
            self.arena.reset(Lifetime.TURN)
        return out

    def begin(self) -> None:
        """A session begins."""
        for lifetime in Lifetime:
            self.arena.reset(lifetime)
        self.arena.commit_needed(self.plan.ahead(self.plan.start))
        self.course.begin()

    def session(self, runtime: Runtime) -> list[Tensor]:
        """The script from its start."""
        self.begin()
        return [self.run(index, runtime) for index in self.units]


def _eager() -> EagerRuntime:
    return EagerRuntime("cadence", WallClock())


def _plan(specimen: Specimen) -> Law:
    table, launches = _Table(specimen), 0
    runtime = _eager()
    most = dict.fromkeys(table.views, 0)
    for index in table.units:
        table.run(index, runtime)
        planned = table.plan.unit(index)
        most = {name: max(ticks, planned.needed[name]) for name, ticks in most.items()}
        for line in specimen.timelines:
            came = [step for step in table.steps if step.stage == line.name]
            foreseen = planned.stages[line.name].launches
            launches += len(came)
            if line.eager and not came:
                continue  # the host's own work
            where = f"unit {index}, stage {line.name}"
            if isinstance(line.drive, Quota):
                bound, ran = sum(launch.takes for launch in foreseen), sum(launch.shape[0] for launch in came)
                if ran > bound:
                    raise _Broken(f"{where}: {ran} ticks, over its quota of {bound}")
                continue
            reads = [*line.states, *(table.plan.specs[name] for name in line.shares)]
            clocked = any(spec.span is Span.CLOCKED for spec in reads)
            own = [(step.shape[:1] if clocked else step.shape, step.last) for step in came]
            theirs = [(launch.shape[:1] if clocked else launch.shape, launch.last) for launch in foreseen]
            if own != theirs:
                raise _Broken(f"{where}: launches of {_shapes(own)}, planned were {_shapes(theirs)}")
        for name, view in table.views.items():
            if view[most[name] :].any():
                raise _Broken(f"unit {index}: {name} was written past the {most[name]} ticks that it ever needed")
    return Law(PLAN, True, f"{len(table.units)} units, {launches} launches as planned")


def _shapes(launches: list[tuple[tuple[int, ...], bool]]) -> str:
    return ", ".join("x".join(map(str, shape)) + (" (last)" if last else "") for shape, last in launches) or "none"


def _whole(specimen: Specimen) -> Law:
    table = _Table(specimen)
    units = table.session(_eager())
    first_turn = specimen.script.find("F") + 1
    spoken = [out for out in units[:first_turn] if len(out)]
    table.arena.commit_needed({state.name: state.max_ticks for state in table.plan.states})
    whole = table.course.whole()
    if whole is None:
        return Law(WHOLE, None, "the specimen says of no whole")
    streamed = torch.cat(spoken)
    if streamed.shape != whole.shape:
        raise _Broken(f"in units {list(streamed.shape)}, whole {list(whole.shape)}")
    furthest = float((streamed - whole).abs().max()) if len(whole) else 0.0
    if not furthest <= specimen.tolerance:
        raise _Broken(f"units and whole are {furthest:.3g} apart, of {specimen.tolerance:.3g} allowed")
    how = "to the bit" if furthest == 0 else f"within {furthest:.3g}"
    return Law(WHOLE, True, f"{len(whole)} ticks in {first_turn} units, {how}")


def _replay(specimen: Specimen) -> Law:
    eager, replayed = _Table(specimen), _Table(specimen)
    eager.session(_eager())
    replayed.session(_eager())  # a course may first come to know its shapes
    clock, written = WallClock(), (*replayed.views.values(), *replayed.course.beside)
    runtime = ReplayRuntime(clock, Recorder(written, clock), replayed.course.rehearse)
    replayed.arena.commit_needed({state.name: state.max_ticks for state in replayed.plan.states})
    prepared = runtime.prepare(GraphShape(*key, Fraction(1), 0, 0) for key in replayed.met)
    if prepared.refused:
        (stage, shape, _), reason = next(iter(prepared.refused.items()))
        raise _Broken(f"stage {stage} of shape {shape} cannot be captured: {reason}")
    for table in (eager, replayed):
        table.begin()
        table.paths.clear()
    for index in eager.units:
        own, theirs = replayed.run(index, runtime), eager.run(index, _eager())
        if not torch.equal(own, theirs):
            raise _Broken(f"unit {index} puts out something else when replayed")
        if unlike := [name for name, view in eager.views.items() if not torch.equal(view, replayed.views[name])]:
            raise _Broken(f"unit {index} leaves something else in {unlike[0]} when replayed")
    ran = replayed.paths["graph"]
    words = f"{prepared.graphs} graphs, {ran} of {replayed.paths.total()} launches replayed, to the bit"
    return Law(REPLAY, True, words) if ran else Law(REPLAY, None, "no step of the specimen may run from a graph")


def _addresses(specimen: Specimen) -> Law:
    table = _Table(specimen)
    before, runtime = table.addresses, _eager()
    first, second = table.session(runtime), table.session(runtime)
    moved = [name for name, address in table.addresses.items() if before[name] != address]
    if moved:
        raise _Broken(f"{moved[0]} has moved")
    for index, (one, other) in enumerate(zip(first, second, strict=True)):
        if not torch.equal(one, other):
            raise _Broken(f"unit {index} of a second session is not the first's: something was not forgotten")
    return Law(ADDRESSES, True, f"{len(before)} views stand still over two sessions and their resets")
