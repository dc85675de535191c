"""A model at a size that is tried in a second: what a room hands over for the laws that every model must keep.

The laws (`engine.laws`) drive a course of units over an arena of their own and compare what comes of it. Most rooms
need nothing but their declarations and a step: `stepped` makes a course of those. Entered by whoever holds the laws.
"""

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import torch
from torch import Tensor

from engine.errors import AskedWrongly
from engine.plan import Launch, Plan
from engine.stage import After, Lifetime, Span, Timeline
from engine.step import Step

Views = Mapping[str, Tensor]  # the arena's, by "stage.state"


class Course(Protocol):
    """A tiny model at work, unit by unit, over the arena's views."""

    def begin(self) -> None:
        """A session begins: whatever was before is forgotten."""
        ...

    def unit(self, event: str, index: int) -> Generator[Step, Any, Tensor]:
        """One unit, of an event of the script, as steps that a runtime executes; what it put out, at last."""
        ...

    def rehearse(self, stage: str, shape: tuple[int, ...], last: bool) -> Step:
        """A step to be captured, of a key that the course has met and that may run from a graph."""
        ...

    @property
    def beside(self) -> tuple[Tensor, ...]:
        """What steps write beside the arena's states: put back after a capture."""
        ...

    def whole(self) -> Tensor | None:
        """What the units of the first turn put out, worked out in one launch a stage; None where nothing says so."""
        ...


@dataclass(frozen=True)
class Specimen:
    """What a room hands over.

    Args:
        timelines: The declarations, at the size of the specimen.
        course: Makes a course of a plan and the arena's views; what holds from the start is committed.
        script: What the units are, in letters; a turn ends in it.
        session_s: Where the session ends, in seconds; None where nothing needs an end.
        tolerance: How far the whole may be from the units together; zero means to the bit.
    """

    timelines: tuple[Timeline, ...]
    course: Callable[[Plan, Views], Course]
    script: str = "LLSSSFLSF"
    session_s: int | None = None
    tolerance: float = 0.0


StepFunction = Callable[[str, Launch, Tensor, Views], Tensor]


def stepped(
    timelines: tuple[Timeline, ...],
    step: StepFunction,
    inputs: Mapping[str, tuple[int, ...]],
    *,
    script: str = "LLSSSFLSF",
    session_s: int | None = None,
    tolerance: float = 0.0,
    eager: frozenset[str] = frozenset(),
) -> Specimen:
    """A specimen of declarations and a step.

    Args:
        timelines: The declarations. States are of exact or whole span.
        step: One launch of a stage: `step(stage, launch, fed, states)`. `fed` is `[launch.fed, ...]`, time first;
            `states` are the stage's own by name, `[max_ticks, ...]`, to be written in place; it returns what the stage
            puts out, `[launch.yields, ...]`. Beside its arguments it may remember nothing.
        inputs: Of each stage that no other one feeds, the shape of one tick; its ticks are made up.
        script: As `Specimen`.
        session_s: As `Specimen`.
        tolerance: As `Specimen`.
        eager: Stages whose steps no graph may run.

    Raises:
        AskedWrongly: The declarations are of a kind that needs a course of its own.
    """
    fed_by = {line.name for line in timelines if isinstance(line.drive, After)}
    if unlike := {line.name for line in timelines} - fed_by ^ set(inputs):
        raise AskedWrongly(f"inputs for {', '.join(sorted(inputs))}, not {', '.join(sorted(unlike))}",
                           "the shape of a tick of each stage that no other one feeds")  # fmt: skip
    for line in timelines:
        ratio = line.drive.ratio if isinstance(line.drive, After) else 1
        if ratio.denominator != 1 or line.shares or any(spec.span is Span.CLOCKED for spec in line.states):
            raise AskedWrongly(
                f"stage {line.name} shares states, is clocked, or follows by a fraction", "a course of its own"
            )

    def course(plan: Plan, views: Views) -> Course:
        return _Stepped(plan, views, step, inputs, eager)

    return Specimen(timelines, course, script, session_s, tolerance)


def made_up_codes(stage: str, launch: Launch, shape: tuple[int, ...], codes: int, index: int) -> Step:
    """A step in a talker's place: random codes, int64 of a shape, below `codes`; the same for the same unit."""
    generator = torch.Generator().manual_seed(index)
    return Step(stage, launch.shape, launch.takes, lambda: torch.randint(0, codes, shape, generator=generator))


class _Fed:
    """What a stage has been handed in a turn, or in the session: ticks, and how many of them it has taken."""

    def __init__(self, line: Timeline, shape: tuple[int, ...] | None) -> None:
        self._line, self._shape = line, shape  # None: of what feeds it
        self.turn = 0
        self.begin()

    def begin(self) -> None:
        """Nothing has come but what it is primed with."""
        self._ticks: Tensor | None = None
        self.taken = 0
        if self._shape is not None:
            seed = sum(ord(sign) << (index % 8) for index, sign in enumerate(self._line.name)) + 1000 * self.turn
            self._generator = torch.Generator().manual_seed(seed)

    def hand(self, ticks: Tensor) -> None:
        """More ticks, `[n, ...]`."""
        if self._ticks is None:
            self._ticks = ticks.new_zeros(self._line.primed, *ticks.shape[1:])
        self._ticks = torch.cat((self._ticks, ticks))

    def take(self, fed: int, takes: int) -> Tensor:
        """The next launch's: context before, what it takes, and what it looks ahead."""
        start = self.taken - min(self._line.context[0], self.taken)
        if self._shape is not None:
            have = 0 if self._ticks is None else len(self._ticks)
            if (more := start + fed - have) > 0:
                self.hand(torch.randn(more, *self._shape, generator=self._generator))
        assert self._ticks is not None, "a stage is fed once something has come"
        self.taken += takes
        return self._ticks[start : start + fed]

    @property
    def all(self) -> Tensor:
        """Every tick that was taken."""
        assert self._ticks is not None, "something was taken"
        return self._ticks[: self.taken]


class _Stepped:
    """A course of declarations and a step; see `Course`."""

    def __init__(
        self, plan: Plan, views: Views, step: StepFunction, inputs: Mapping[str, tuple[int, ...]], eager: frozenset[str]
    ) -> None:
        self._plan, self._views, self._step = plan, views, step
        self._fed = {line.name: _Fed(line, inputs.get(line.name)) for line in plan.timelines}
        self._own = {
            line.name: {spec.name: views[f"{line.name}.{spec.name}"] for spec in line.states} for line in plan.timelines
        }
        self._launches: dict[tuple[str, tuple[int, ...], bool], tuple[Launch, Tensor]] = {}
        self._eager, self.beside = eager, tuple[Tensor, ...]()
        self._heard: dict[str, Tensor] = {}  # of sources, in the first turn
        self.begin()

    def begin(self) -> None:
        self._position = self._plan.start
        for fed in self._fed.values():
            fed.turn = 0
            fed.begin()
        self._forget(self._plan.specs)

    def _forget(self, names: Mapping[str, Any] | frozenset[str]) -> None:
        for name in names:
            self._views[name][: self._plan.specs[name].initial].zero_()

    def unit(self, event: str, index: int) -> Generator[Step, Any, Tensor]:
        planned, self._position = self._plan.advance(self._position, event, index=index)
        out = torch.zeros(0)
        for line in self._plan.timelines:
            made = []
            for launch in planned.stages[line.name].launches:
                fed = self._fed[line.name].take(launch.fed, launch.takes)
                self._launches[line.name, launch.shape, launch.last] = launch, torch.zeros_like(fed)
                given: Tensor = yield self._made(line.name, launch, fed)
                if len(given) != launch.yields:
                    came = f"stage {line.name} put out {len(given)} ticks"
                    raise AskedWrongly(came, f"{launch.yields}, as declared", "correct its step")
                made.append(given.clone())  # a graph's result is written over by its next launch
            if made:
                out = torch.cat(made)
                for after in self._plan.timelines:
                    if isinstance(after.drive, After) and after.drive.stage == line.name:
                        self._fed[after.name].hand(out.repeat_interleave(int(after.drive.ratio), 0))
        if event == "F":
            if not self._heard:
                self._heard = {name: fed.all.clone() for name, fed in self._fed.items() if fed.taken}
            self._end_turn()
        return out

    def _end_turn(self) -> None:
        for name in self._plan.declared.turns:
            self._fed[name].turn += 1
            self._fed[name].begin()
        self._forget(frozenset(name for name, spec in self._plan.specs.items() if spec.reset is Lifetime.TURN))

    def rehearse(self, stage: str, shape: tuple[int, ...], last: bool) -> Step:
        launch, fed = self._launches[stage, shape, last]
        return self._made(stage, launch, fed)

    def _made(self, stage: str, launch: Launch, fed: Tensor) -> Step:
        run = partial(self._run, stage, launch)
        return Step(stage, launch.shape, launch.takes, run, (fed,), launch.last, captures=stage not in self._eager)

    def _run(self, stage: str, launch: Launch, fed: Tensor) -> Tensor:
        return self._step(stage, launch, fed, self._own[stage])

    def whole(self) -> Tensor | None:
        """In one launch a stage, over states as they are at the start; what the last stage puts out."""
        self._forget(self._plan.specs)
        out: Tensor | None = None
        for line in self._plan.timelines:
            if isinstance(line.drive, After):
                assert out is not None, "a stage stands after what feeds it"
                fed = out.repeat_interleave(int(line.drive.ratio), 0)
                fed = torch.cat((fed.new_zeros(line.primed, *fed.shape[1:]), fed))
            elif line.name in self._heard:
                fed = self._heard[line.name]
            else:
                continue
            held = tuple(spec.initial for spec in line.states if spec.span is Span.EXACT)
            launch = Launch((len(fed), *held), len(fed), int(len(fed) * line.yields), last=True)
            out = self._step(line.name, launch, fed, self._own[line.name])
        return out
