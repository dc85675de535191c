"""The contract between a model, a runtime and the session: a model yields steps, a runtime executes them.

`Model.unit` is a generator. It yields a `Step`, is sent that step's result, and at last returns an `Outcome`. So a
model's control flow reads as plain Python, and timing, replay and fallback stay out of it. Entered by [engine].
"""

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from engine.chunk import Chunk
from engine.plan import Plan

Key = tuple[str, tuple[int, ...], bool]  # a stage, its exact shape, whether it is a turn's last launch

AUDIBLE_LEVEL = 0.01  # of full scale: what is quieter counts as silence


class Event(StrEnum):
    """What a unit was: it listened, it spoke, or it closed a turn."""

    LISTEN = "LISTEN"
    SPEAK = "SPEAK"
    FLUSH = "FLUSH"


@dataclass(frozen=True)
class Step:
    """One stage's work in one unit.

    Args:
        stage: The timeline's name.
        shape: The exact shape, as the plan knows it.
        ticks: Ticks that the stage takes for good; or, where only the result tells, what counts them.
        run: Does the work, eagerly, when called with `inputs`.
        inputs: Tensors that it is handed.
        last: Of a launch that a turn's end leaves without look-ahead, as the plan tells them apart.
        captures: Whether it may run from a graph: beside its inputs and the states in the arena, its key decides all
            that it does, and nothing of it is Python's to remember.
        seamed: Run, it replays graphs of its own between launches at their exact length.
    """

    stage: str
    shape: tuple[int, ...]
    ticks: int | Callable[[Any], int]
    run: Callable[..., Any]
    inputs: tuple[Any, ...] = ()
    last: bool = False
    captures: bool = False
    seamed: bool = False

    @property
    def key(self) -> "Key":
        """What a graph of it is found by."""
        return self.stage, self.shape, self.last

    def eagerly(self) -> Any:
        """Its result, worked out by Python."""
        return self.run(*self.inputs)

    def taken(self, result: Any) -> int:
        """Ticks taken by the run that gave `result`."""
        return self.ticks if isinstance(self.ticks, int) else self.ticks(result)


@dataclass(frozen=True)
class Said:
    """A line of the transcript."""

    who: str  # "user" | "agent"
    text: str
    kind: str  # "heard" | "said" | "unsaid"
    source: str = ""  # of an answer: "intent" | "model"


@dataclass(frozen=True)
class SoFar:
    """What the session tells a model as a unit begins.

    Args:
        unplayed_samples: Samples of the model's audio not yet played when the chunk ended.
        units: Units done.
        overruns: How many of them finished after their deadline.
        slack_ms: The median of what was left at their end.
        interrupted: The user has cut the agent short since the last unit: it is silent already, and what was left
            unsaid is among `unplayed_samples`. A model that was speaking ends its turn, as if the user's voice had cut
            in; nothing has been said that it should hear out.
    """

    unplayed_samples: int = 0
    units: int = 0
    overruns: int = 0
    slack_ms: float = 0.0
    interrupted: bool = False


@dataclass(frozen=True)
class Outcome:
    """What a unit came to.

    Args:
        event: LISTEN, SPEAK or FLUSH.
        audio: float32 mono at the model's output rate, at most one cadence long; empty where nothing is said.
        transcript: New lines, in order.
        flush: Drop what is queued for playing, with a fade: the user has barged in.
        forgets: What belongs to a turn was brought back to its start in this unit, before anything else ran.
        last_voiced_sample: Session sample (input rate) at which the user's turn, now answered, last had voice; only on
            the unit whose audio begins an answer.
    """

    event: Event
    audio: NDArray[np.float32] = field(default_factory=lambda: np.zeros(0, np.float32))
    transcript: tuple[Said, ...] = ()
    flush: bool = False
    forgets: bool = False
    last_voiced_sample: int | None = None


UnitSteps = Generator[Step, Any, Outcome]
Done = TypeVar("Done")


def carry_out(steps: Generator[Step, Any, Done], execute: Callable[[Step], Any] = Step.eagerly) -> Done:
    """Go through a model's steps, and give what they come to.

    Args:
        steps: As a model yields them.
        execute: What a step comes to; eagerly where not given.
    """
    result = None
    while True:
        try:
            step = steps.send(result)
        except StopIteration as done:
            came: Done = done.value
            return came
        result = execute(step)


class Model(Protocol):
    """What a session runs: a model bound to one runtime's stages, its weights and its arena."""

    name: str
    input_rate_hz: int
    output_rate_hz: int
    plan: Plan

    def prepare(self) -> None:
        """Load, warm up and fill what is constant; after this no unit meets a first time."""
        ...

    def begin(self) -> None:
        """A session begins, its first chunk at sample 0: whatever was heard and said before is forgotten."""
        ...

    def unit(self, chunk: Chunk, so_far: SoFar) -> UnitSteps:
        """One cadence: `chunk` at `input_rate_hz`; where it starts after the last one's end, chunks were dropped."""
        ...

    def end_turn(self) -> None:
        """Forget the turn at hand, after a stage raised."""
        ...

    @property
    def idle(self) -> bool:
        """Whether nothing is being heard out or answered."""
        ...

    @property
    def awaited_since(self) -> int | None:
        """Session sample at which the user's voice ended, who now waits for an answer; None where nobody waits."""
        ...
