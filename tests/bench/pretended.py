"""A place that says it is a GPU and is not: its graphs run their steps eagerly, its memory is counted out to it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from engine.arena import Arena
from engine.bench.place import CpuPlace
from engine.replay import Rehearse, ReplayRuntime, Timed
from engine.runtime import Runtime
from engine.step import Step

HELD, PEAK, USED = 5_000_000, 7_000_000, 11_000_000


class EagerGraph:
    def __init__(self, step: Step) -> None:
        self._step = step

    def replay(self, inputs: tuple[Any, ...]) -> Any:
        return self._step.run(*inputs)


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


class PretendedGpu(CpuPlace):
    def __init__(self) -> None:
        super().__init__()
        self.is_gpu, self.name = True, "A Card"
        self.left: list[int] = []  # bytes that were to be left free

    def runtime(self, arena: Arena, rehearse: Rehearse) -> Runtime:
        return ReplayRuntime(self.clock, EagerCapturer(), rehearse)

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
