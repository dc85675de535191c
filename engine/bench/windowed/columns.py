"""Who says it: the released modules, as they come and with the backends' settings pinned, and ours.

A column says a second (that is timed) and then gets ready for the next (that is the slack). Entered by the engine
thread.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from engine.arena import DeviceArena
from engine.bench.columns import CADENCE, SLACK_NS, graph_figures
from engine.bench.place import Place
from engine.bench.windowed.tails import SPEECH, STREAM, WINDOW, Second, WindowedTail
from engine.builds.pinning import pinned
from engine.replay import Prepared, ReplayRuntime
from engine.stage import Lifetime
from engine.step import Step, carry_out

if TYPE_CHECKING:
    from engine.timing import StageRecord


class Released:
    """The released modules in windows.

    Args:
        name: Of the column.
        tail: Whose.
        weights: On the place's device.
        settings: The backends'.
    """

    def __init__(
        self,
        name: str,
        tail: WindowedTail,
        weights: Mapping[str, Tensor],
        settings: Callable[[], AbstractContextManager[None]],
    ) -> None:
        self.name, self._settings, self.graph_bytes = name, settings, 0
        self.stock = tail.stock(weights)

    @property
    def held_bytes(self) -> int:
        """Bytes of what it carries from second to second."""
        return self.stock.state_bytes

    @property
    def in_torch_bytes(self) -> int:
        """Of those, bytes in torch's tensors."""
        return self.stock.state_bytes

    def capture(self) -> None:
        """It has nothing to capture."""

    def begin(self) -> None:
        """Begin a turn, whatever the last one was."""
        self.stock.reset()

    @torch.no_grad()
    def say(self, second: Second) -> list[Tensor]:
        """A second's sound, window by window, on the host."""
        with self._settings():
            return [self.stock(window) for window in second.windows]

    def rest(self, second: Second) -> None:
        """Get ready for what comes after."""
        if second.ends:
            self.stock.reset()

    def figures(self) -> dict[str, Any]:
        """What else is to be told of it."""
        return {}

    def close(self) -> None:
        """There is nothing to give back."""


class Cadence:
    """Ours: exact-shape graphs over the arena where there is a GPU.

    Args:
        tail: Whose.
        weights: On the place's device.
        place: Where it runs.
        way: How it is driven.
        script: What the session is planned for.
    """

    def __init__(
        self, tail: WindowedTail, weights: Mapping[str, Tensor], place: Place, way: str = WINDOW, script: str = "(S)"
    ) -> None:
        self.name, self._way, self._place = CADENCE if way == WINDOW else STREAM, way, place
        self.plan = tail.plan(way, script)
        self.arena = place.arena(self.plan)
        self.arena.commit_needed(self.plan.ahead(self.plan.start))
        with torch.no_grad(), pinned():
            self.ours = tail.ours(weights, {state.name: self.arena.view(state.name) for state in self.plan.states})
        self.runtime = place.runtime(self.arena, self._rehearse)
        self.prepared: Prepared | None = None
        self._graphs_in_slack = 0
        self._records: list[StageRecord] = []

    @property
    def held_bytes(self) -> int:
        """Bytes of what it carries from second to second."""
        return self.arena.committed_bytes

    @property
    def in_torch_bytes(self) -> int:
        """Of those, bytes in torch's tensors."""
        return 0

    @property
    def graph_bytes(self) -> int:
        """Bytes that graphs hold."""
        return self.runtime.held_bytes if isinstance(self.runtime, ReplayRuntime) else 0

    @property
    def addresses(self) -> dict[str, int]:
        """Where each state is, by name, asked of the arena anew."""
        return {state.name: self.arena.view(state.name).data_ptr() for state in self.plan.states}

    @torch.no_grad()
    def capture(self) -> None:
        """Capture its graphs, where it has any: the last that comes before a session."""
        if isinstance(self.runtime, ReplayRuntime):
            with pinned():
                self.prepared = self.runtime.prepare(one for one in self.plan.shapes if one.stage != SPEECH)

    def begin(self) -> None:
        """Begin a turn, whatever the last one was."""
        self.arena.reset(Lifetime.TURN)
        self.arena.commit_needed(self.plan.ahead(self.plan.start))
        self.ours.reset()

    @torch.no_grad()
    def say(self, second: Second) -> list[Tensor]:
        """A second's sound, window by window, on the host."""
        with pinned():
            return [carry_out(self.ours.steps(window), self._execute).cpu() for window in second.windows]

    @torch.no_grad()
    def rest(self, second: Second) -> None:
        """Get ready for what comes after."""
        self.runtime.settle(self._records, 0)
        self._records.clear()
        if second.ends:
            self.arena.reset(Lifetime.TURN)
        self.arena.commit_needed(second.ahead_by_way[self._way])
        if second.ends:
            self.ours.reset()
        with pinned():
            self._graphs_in_slack += self.runtime.use_slack(self._place.clock.now_ns() + SLACK_NS)

    def figures(self) -> dict[str, Any]:
        """What else is to be told of it."""
        return graph_figures(self.runtime, self.prepared, self._graphs_in_slack)

    def close(self) -> None:
        """Give the arena's memory back, where it does not go with the last view."""
        if isinstance(self.arena, DeviceArena):
            self.arena.close()

    def _rehearse(self, stage: str, shape: tuple[int, ...], last: bool) -> Step:
        return self.ours.rehearse(stage, shape, last=last)

    def _execute(self, step: Step) -> Any:
        result, record = self.runtime.execute(step, 0)
        self._records.append(record)
        return result
