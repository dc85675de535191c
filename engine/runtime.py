"""Runtimes: who executes the steps that a model yields, and times them.

On a CPU every step runs eagerly; graphs (`engine.replay`), clocked graphs and seams are the GPU's. The three
names of a CPU session (`cadence`, `library`, `stock`) differ in the stages that the model was built from, not in how a
step is executed: so a comparison is one argument. Entered by the engine thread.
"""

from collections.abc import Iterable
from typing import Any, Protocol

from engine.clock import Clock
from engine.step import Step
from engine.timing import StageRecord

RUNTIMES = ("cadence", "library", "stock")


class Runtime(Protocol):
    """Executes steps."""

    name: str

    def execute(self, step: Step, origin_ns: int) -> tuple[Any, StageRecord]:
        """Run one step.

        Args:
            step: The work.
            origin_ns: The session's start, which the record's times are counted from.

        Returns:
            The step's result, and how long it took.
        """
        ...

    def settle(self, records: Iterable[StageRecord], origin_ns: int) -> list[StageRecord]:
        """A unit's records once all of its work is done, the device's times in them where there is a device."""
        ...

    def use_slack(self, until_ns: int) -> int:
        """Get ready for what may come, as far as time allows before `until_ns`; how much was."""
        ...


class EagerRuntime:
    """Runs every step as Python calls it.

    Args:
        name: "cadence", "library" or "stock": whose stages the model was built from.
        clock: Read before and after each step.
    """

    def __init__(self, name: str, clock: Clock) -> None:
        assert name in RUNTIMES, name
        self.name = name
        self._clock = clock
        self._path = "stock" if name == "stock" else "eager"

    def execute(self, step: Step, origin_ns: int) -> tuple[Any, StageRecord]:
        start_ns = self._clock.now_ns()
        result = step.eagerly()
        wall_ns = self._clock.now_ns() - start_ns
        return result, StageRecord(
            name=step.stage,
            start_ns=start_ns - origin_ns,
            wall_ms=wall_ns / 1e6,
            device_start_ns=None,
            device_ms=None,
            ticks=step.taken(result),
            shape=step.shape,
            path=self._path,
        )

    def settle(self, records: Iterable[StageRecord], origin_ns: int) -> list[StageRecord]:
        return list(records)

    def use_slack(self, until_ns: int) -> int:
        return 0
