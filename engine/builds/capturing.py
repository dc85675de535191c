"""Captures steps, clocked steps and seams on a device. Entered by the engine thread."""

from collections.abc import Callable
from typing import Any, Protocol

import torch

from engine.clock import Clock
from engine.cuda_clocked import ClockedStage, ClockedStep, Run
from engine.cuda_graphs import CudaGraphs, SetAside
from engine.replay import Capturer, Clocked


class Capturing(Protocol):
    """Captures steps, clocked steps and seams on a device.

    Attributes:
        capturer: Of steps at their exact shape.
    """

    capturer: Capturer

    def clocked(self, stage: str, run: Run, probe: Run, ticks: range, places: tuple[torch.Tensor, ...]) -> Clocked:
        """A stage's steps of one tick.

        Args:
            stage: Whose states are written.
            run: The step at a tick, its inputs taken from `places`.
            probe: As little of it as decides its kernels.
            ticks: All that may come.
            places: Where inputs are copied to.
        """
        ...

    def graphed(self, work: Callable[[], Any]) -> tuple[Callable[[], Any], Any]:
        """A graph of work, and its result; see `engine.models.layers.seams`. States may be written meanwhile."""
        ...


class CudaCapturing:
    """See `Capturing`."""

    def __init__(self, device: torch.device, clock: Clock, state: torch.Tensor, set_aside: SetAside) -> None:
        self.capturer: Capturer = CudaGraphs(device, set_aside, clock)
        self._state, self._set_aside = state, set_aside
        self._stream, self._pool = torch.cuda.Stream(device), torch.cuda.graph_pool_handle()

    def clocked(self, stage: str, run: Run, probe: Run, ticks: range, places: tuple[torch.Tensor, ...]) -> Clocked:
        whole = self._state.untyped_storage()
        addresses = range(whole.data_ptr(), whole.data_ptr() + whole.nbytes())

        def make() -> ClockedStep:
            return ClockedStep(run, probe, ticks, addresses, lambda: self._set_aside(stage), self._stream)

        return ClockedStage(make, places, ticks)

    def graphed(self, work: Callable[[], Any]) -> tuple[Callable[[], Any], Any]:
        self._stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self._stream):
            work()
        self._stream.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self._pool, stream=self._stream, capture_error_mode="thread_local"):
            result = work()
        torch.cuda.current_stream().wait_stream(self._stream)
        return graph.replay, result
