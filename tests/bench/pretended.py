"""A place that says it is a GPU and is not: its graphs run their steps eagerly, its memory is counted out to it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from engine.arena import Arena, HostArena
from engine.bench.place import CpuPlace
from engine.plan import Plan
from engine.replay import Rehearse, ReplayRuntime, Timed
from engine.runtime import Runtime
from engine.step import Step

HELD, PEAK, USED = 5_000_000, 7_000_000, 11_000_000


class AtOnePlace:
    """Work whose result stays at one address and is written over when it is done again, as a graph's is."""

    def __init__(self, work: Callable[..., Any]) -> None:
        self._work, self.result = work, None

    def __call__(self, *inputs: Any) -> Any:
        result = self._work(*inputs)
        if self.result is None:
            self.result = result
        else:
            _write_over(self.result, result)
        return self.result


def _write_over(place: Any, result: Any) -> None:
    if isinstance(place, torch.Tensor):
        place.copy_(result)
    else:
        for one, other in zip(place, result, strict=True):
            _write_over(one, other)


class EagerGraph:
    def __init__(self, step: Step) -> None:
        self._run = AtOnePlace(step.run)

    def replay(self, inputs: tuple[Any, ...]) -> Any:
        return self._run(*inputs)


class EagerPool:
    """Notes what is captured, and runs none of it, as if states were set aside."""

    def __init__(self) -> None:
        self.captured: list[Step] = []

    @property
    def held_bytes(self) -> int:
        return 1000 * len(self.captured)

    def capture(self, step: Step) -> EagerGraph:
        self.captured.append(step)
        return EagerGraph(step)

    def retire(self) -> None:
        self.captured.clear()


class EagerCapturer:
    def pool(self) -> EagerPool:
        return EagerPool()

    def timed(self, work: Callable[[], Any]) -> tuple[Any, Callable[[], Timed]]:
        return work(), lambda: Timed(0, 1)


class EagerClocked:
    """Regimes of sixteen lengths, each with a result at an address of its own."""

    def __init__(self, run: Callable[[int], Any], ticks: range, places: tuple[torch.Tensor, ...]) -> None:
        self._run, self._ticks, self._places = run, ticks, places
        self.ready: dict[int, AtOnePlace] = {}

    def covers(self, shape: tuple[int, ...]) -> bool:
        return shape[0] == 1 and shape[-1] in self._ticks

    def is_ready(self, tick: int) -> bool:
        return tick // 16 in self.ready

    def prepare(self, tick: int) -> None:
        self.ready.setdefault(tick // 16, AtOnePlace(self._run))

    def launch(self, tick: int, inputs: tuple[torch.Tensor, ...]) -> Any:
        for place, given in zip(self._places, inputs, strict=True):
            place.copy_(given)
        found = self.ready[tick // 16](tick)
        return tuple(each.clone() for each in found) if isinstance(found, tuple) else found.clone()


class EagerCapturing:
    def __init__(self) -> None:
        self.capturer = EagerCapturer()

    def clocked(self, stage: str, run: Any, probe: Any, ticks: range, places: tuple[torch.Tensor, ...]) -> EagerClocked:
        probe(ticks[0])
        return EagerClocked(run, ticks, places)

    def graphed(self, work: Callable[[], Any]) -> tuple[Callable[[], Any], Any]:
        again = AtOnePlace(work)
        return again, again()


class SparingArena(HostArena):
    """One whose states may be written before a session, when nothing is in them."""

    @contextmanager
    def set_aside(self, stage: str) -> Iterator[None]:
        assert stage in {state.name.partition(".")[0] for state in self._plan.states}, stage
        yield

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        super().__init__(plan)


class PretendedGpu(CpuPlace):
    def __init__(self) -> None:
        super().__init__()
        self.is_gpu, self.name = True, "A Card"
        self.left: list[int] = []  # bytes that were to be left free

    def runtime(self, arena: Arena, rehearse: Rehearse) -> Runtime:
        return ReplayRuntime(self.clock, EagerCapturer(), rehearse)

    def arena(self, plan: Plan) -> SparingArena:
        return SparingArena(plan)

    def capturing(self, state: torch.Tensor, set_aside: Any) -> EagerCapturing:
        return EagerCapturing()

    def used_bytes(self) -> int:
        return USED

    def torch_bytes(self) -> int | None:
        return HELD

    def torch_peak_bytes(self) -> int | None:
        return PEAK

    @contextmanager
    def left_free(self, size: int) -> Iterator[None]:
        self.left.append(size)
        yield
