"""Captures steps as CUDA graphs, by way of torch.

A step is first run once on the capturing stream, so that libraries load, plan and reserve what may not be made while
capturing; that run writes states, so it happens while the arena is set aside. All graphs of a pool share its memory,
since they never run at once. One stream captures, so that the libraries' workspaces are made once.

Everything else runs on the current stream of the engine thread, which enters this alone.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import torch
from torch import Tensor

from engine.clock import Clock
from engine.errors import NoRoom
from engine.replay import CannotCapture, Timed
from engine.step import Step

SetAside = Callable[[str], AbstractContextManager[Any]]  # of a stage


class CudaGraph:
    """One captured step; see `engine.replay.Graph`."""

    def __init__(self, graph: torch.cuda.CUDAGraph, inputs: tuple[Tensor, ...], result: Any) -> None:
        self._graph, self._inputs, self._result = graph, inputs, result

    def replay(self, inputs: tuple[Tensor, ...]) -> Any:
        for place, given in zip(self._inputs, inputs, strict=True):
            place.copy_(given, non_blocking=True)
        self._graph.replay()
        return self._result


class CudaPool:
    """Graphs that share memory; see `engine.replay.Pool`."""

    def __init__(self, stream: torch.cuda.Stream, set_aside: SetAside) -> None:
        self._stream, self._set_aside = stream, set_aside
        self._handle: Any = torch.cuda.graph_pool_handle()
        self._graphs: list[torch.cuda.CUDAGraph] = []
        self._inputs_bytes = 0

    @property
    def held_bytes(self) -> int:
        segments = torch.cuda.memory_snapshot()
        mine: int = sum(one["total_size"] for one in segments if tuple(one["segment_pool_id"]) == tuple(self._handle))
        return mine + self._inputs_bytes

    def capture(self, step: Step) -> CudaGraph:
        inputs = tuple(given.clone() for given in step.inputs)
        self._stream.wait_stream(torch.cuda.current_stream())
        try:
            with self._set_aside(step.stage), torch.cuda.stream(self._stream):
                step.run(*inputs)
                self._stream.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, pool=self._handle, stream=self._stream, capture_error_mode="thread_local"):
                result = step.run(*inputs)
        except (
            RuntimeError,
            NoRoom,
        ) as error:  # torch's out of memory is one, as is an operation that no graph can hold
            raise CannotCapture(" ".join(str(error).split("\n", 1)[0].split())) from error
        torch.cuda.current_stream().wait_stream(self._stream)
        self._graphs.append(graph)
        self._inputs_bytes += sum(given.nbytes for given in inputs)
        return CudaGraph(graph, inputs, result)

    def retire(self) -> None:
        torch.cuda.synchronize(self._stream.device)
        for graph in self._graphs:
            graph.reset()
        self._graphs.clear()
        self._inputs_bytes = 0


class CudaGraphs:
    """Captures and times; see `engine.replay.Capturer`.

    Args:
        device: Where the work is.
        set_aside: Of a stage; while it is entered, all of its states may be written and nothing of it stays, as the
            device arena's `set_aside`.
        clock: The host's.
    """

    def __init__(self, device: torch.device, set_aside: SetAside, clock: Clock) -> None:
        self._set_aside, self._clock = set_aside, clock
        self._stream = torch.cuda.Stream(device)
        # Once, the two clocks side by side, so that the device's times can be told in the host's.
        self._mark = torch.cuda.Event(enable_timing=True)
        torch.cuda.synchronize(device)
        self._mark.record()
        self._mark.synchronize()
        self._mark_ns = clock.now_ns()

    def pool(self) -> CudaPool:
        return CudaPool(self._stream, self._set_aside)

    def timed(self, work: Callable[[], Any]) -> tuple[Any, Callable[[], Timed]]:
        began, ended = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        began.record()
        result = work()
        ended.record()

        def timing() -> Timed:
            ended.synchronize()
            start_ns = self._mark_ns + int(self._mark.elapsed_time(began) * 1e6)
            return Timed(start_ns, int(began.elapsed_time(ended) * 1e6))

        return result, timing
