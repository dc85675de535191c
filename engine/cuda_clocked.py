"""Clocked graphs on CUDA: captured by way of torch, read and written through the driver.

A regime's graph is captured at some of its ticks; `engine.clocked` tells what of it follows the clock. From then on the
very graph of the regime's first tick is launched at any tick, its clock's words written before: launches that are
already asked for keep the words that they were asked with. Entered by [engine].
"""

import ctypes
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

import torch

from engine.clocked import Node, NotClocked, Word, clock_words, regimes
from engine.cuda_driver import Cuda, DriverFailed
from engine.errors import NoRoom
from engine.replay import CannotCapture

Run = Callable[[int], Any]  # does the work of a tick; its result stays at one address
PROBE_STRIDE = 8  # kernels and grids are chosen by blocks of at least so many ticks


class ClockedStep:
    """A step that is run at one tick after the other, from one graph a regime.

    Args:
        run: The step at a tick. All that a tick changes in it must be numbers and addresses in the arena that follow
            the tick, and the kernels that a regime divides.
        probe: As little of the step as decides its kernels and grids: captured at many ticks to find the regimes.
        ticks: All ticks that may come.
        arena: Addresses of the states.
        set_aside: While it is entered, all states may be written and nothing of it stays.
        stream: On which it is captured.
    """

    def __init__(
        self, run: Run, probe: Run, ticks: range, arena: range, set_aside: Callable[[], AbstractContextManager[Any]],
        stream: torch.cuda.Stream,
    ) -> None:  # fmt: skip
        self._run, self._arena, self._set_aside = run, arena, set_aside
        self._capturer = _Capturer(Cuda(), stream)
        self._graphs: dict[range, ClockedGraph] = {}
        with set_aside():
            self._capturer.warm_up(probe, ticks[0])
        self.regimes = regimes(lambda tick: self._capturer.signature(probe, tick), ticks, PROBE_STRIDE)

    def regime(self, tick: int) -> range:
        """The lengths of one graph, this one among them."""
        return next(one for one in self.regimes if tick in one)

    def is_ready(self, tick: int) -> bool:
        """Whether the graph of this tick has been captured."""
        return self.regime(tick) in self._graphs

    def prepare(self, tick: int) -> "ClockedGraph":
        """Capture the graph of a tick's regime, where it has not been.

        Raises:
            NotClocked: A word of it follows no known clock, or the driver does not tell all of it.
        """
        regime = self.regime(tick)
        if regime not in self._graphs:
            with self._set_aside():
                self._capturer.warm_up(self._run, regime[0])
            self._graphs[regime] = self._capturer.clocked(self._run, regime, self._arena)
        return self._graphs[regime]

    def launch(self, tick: int) -> Any:
        """Run the step at a tick whose graph is ready, on the current stream; what `run` gave when it was captured."""
        return self._graphs[self.regime(tick)].launch(tick)


class ClockedStage:
    """A stage's steps of one tick each, from clocked graphs; see `engine.replay.Clocked`.

    Args:
        make: Makes the step, which takes its inputs at `places`; called when a graph is first wanted.
        places: Where its inputs are copied to.
        ticks: All lengths that may come.
    """

    def __init__(self, make: Callable[[], ClockedStep], places: tuple[torch.Tensor, ...], ticks: range) -> None:
        self._make, self._places, self._ticks = make, places, ticks
        self._step: ClockedStep | None = None

    def covers(self, shape: tuple[int, ...]) -> bool:
        return shape[0] == 1 and shape[-1] in self._ticks

    def is_ready(self, tick: int) -> bool:
        return self._step is not None and self._step.is_ready(tick)

    def prepare(self, tick: int) -> None:
        try:
            self._step = self._step or self._make()
            self._step.prepare(tick)
        except (NotClocked, DriverFailed, RuntimeError, NoRoom) as error:
            raise CannotCapture(" ".join(str(error).split("\n", 1)[0].split())) from error

    def launch(self, tick: int, inputs: tuple[torch.Tensor, ...]) -> Any:
        assert self._step is not None, "what is ready has been made"
        for place, given in zip(self._places, inputs, strict=True):
            place.copy_(given, non_blocking=True)
        found = self._step.launch(tick)
        return tuple(each.clone() for each in found) if isinstance(found, tuple) else found.clone()


class ClockedGraph:
    """One regime's graph.

    Args:
        cuda: The driver.
        graph: Captured, and not instantiated by torch; it holds the memory that its kernels work in.
        nodes: Its nodes as the driver knows them, in order, and as they were read.
        words: What of them follows the clock.
        result: What the captured work gave.
    """

    def __init__(
        self, cuda: Cuda, graph: torch.cuda.CUDAGraph, nodes: "Sequence[_Read]", words: Sequence[Word], result: Any
    ) -> None:
        self._cuda, self._graph, self.result, self.words = cuda, graph, result, words
        self._patched = {index: _Patched(cuda, nodes[index]) for index in {word.node for word in words}}
        self._executable = cuda.cuGraphInstantiate(cuda.names.CUgraph(graph.raw_cuda_graph()), 0)

    def launch(self, tick: int) -> Any:
        """Write the clock's words and launch, on the current stream."""
        for word in self.words:
            self._patched[word.node].write(word.offset, word.at(tick))
        for patched in self._patched.values():
            self._cuda.cuGraphExecKernelNodeSetParams(self._executable, patched.node, patched.parameters)
        self._cuda.cuGraphLaunch(self._executable, torch.cuda.current_stream().cuda_stream)
        return self.result

    def close(self) -> None:
        """Give it back, once it no longer runs."""
        self._cuda.cuGraphExecDestroy(self._executable)
        self._graph.reset()


class _Capturer:
    """Captures work and reads what was captured; all graphs share one pool, since no two run at once."""

    def __init__(self, cuda: Cuda, stream: torch.cuda.Stream) -> None:
        self._cuda, self._stream = cuda, stream
        self._pool: Any = torch.cuda.graph_pool_handle()

    def warm_up(self, run: Run, tick: int) -> None:
        """Let libraries load and plan, which they may not while capturing."""
        self._stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self._stream):
            run(tick)
        self._stream.synchronize()

    def signature(self, run: Run, tick: int) -> Hashable:
        """What stays the same throughout a regime."""
        graph, _ = self._capture(run, tick)
        found = tuple(each.node.signature for each in _read(self._cuda, graph))
        graph.reset()
        return found

    def clocked(self, run: Run, regime: range, arena: range) -> ClockedGraph:
        """The regime's graph, captured at its first tick; captures at others tell what follows the clock."""
        last = len(regime) - 1
        ticks = sorted({regime[at] for at in (0, min(1, last), last // 2, last)})
        while len(ticks) < 3:  # a regime of a tick or two: nothing in it has to move
            ticks.append(ticks[-1] + 1)
        first, result = self._capture(run, ticks[0])
        nodes = _read(self._cuda, first)
        captures = {ticks[0]: [each.node for each in nodes]}
        for tick in ticks[1:]:
            other, _ = self._capture(run, tick)
            captures[tick] = [each.node for each in _read(self._cuda, other)]
            other.reset()
        return ClockedGraph(self._cuda, first, nodes, clock_words(captures, [arena], self._scratch()), result)

    def _capture(self, run: Run, tick: int) -> tuple[torch.cuda.CUDAGraph, Any]:
        graph = torch.cuda.CUDAGraph(keep_graph=True)
        with torch.cuda.graph(graph, pool=self._pool, stream=self._stream, capture_error_mode="thread_local"):
            result = run(tick)
        return graph, result

    def _scratch(self) -> list[range]:
        """Where the graphs' own memory lies: torch's segments, the libraries' workspaces among them."""
        return [range(one["address"], one["address"] + one["total_size"]) for one in torch.cuda.memory_snapshot()]


class _Read:
    """A node as the driver knows it, and as `engine.clocked` does.

    Args:
        handle: The driver's.
        node: What was read of it.
        sizes: Offset and size of each of a kernel's parameters.
        parameters: A kernel's launch, as the driver tells it.
        function: The kernel.
    """

    def __init__(
        self, handle: Any, node: Node, sizes: list[tuple[int, int]], parameters: Any = None, function: Any = None
    ) -> None:
        self.handle, self.node, self.sizes = handle, node, sizes
        self.parameters, self.function = parameters, function


def _read(cuda: Cuda, graph: torch.cuda.CUDAGraph) -> list[_Read]:
    handle = cuda.names.CUgraph(graph.raw_cuda_graph())
    _, count = cuda.cuGraphGetNodes(handle, 0)
    nodes, _ = cuda.cuGraphGetNodes(handle, count)
    return [_read_node(cuda, each) for each in nodes[:count]]


def _read_node(cuda: Cuda, handle: Any) -> _Read:
    kinds = cuda.names.CUgraphNodeType
    kind = cuda.cuGraphNodeGetType(handle)
    if kind == kinds.CU_GRAPH_NODE_TYPE_KERNEL:
        return _read_kernel(cuda, handle)
    if kind == kinds.CU_GRAPH_NODE_TYPE_MEMSET:
        told = cuda.cuGraphMemsetNodeGetParams(handle)
        values = [int(told.dst), told.value, told.elementSize, told.width, told.height, told.pitch]
    elif kind == kinds.CU_GRAPH_NODE_TYPE_MEMCPY:
        told = cuda.cuGraphMemcpyNodeGetParams(handle)
        values = [int(told.srcDevice), int(told.dstDevice), told.WidthInBytes, told.Height, told.Depth]
    else:
        values = []
    arguments = b"".join((value % (1 << 64)).to_bytes(8, "little") for value in values)
    return _Read(handle, Node(kind.name, (), arguments, is_kernel=False), [])


def _read_kernel(cuda: Cuda, handle: Any) -> _Read:
    told = cuda.cuGraphKernelNodeGetParams(handle)
    function = told.func if int(told.func) else cuda.cuKernelGetFunction(told.kern)
    name = cuda.cuFuncGetName(function).decode(errors="replace")
    sizes = list(_parameters(cuda, function))
    if not sizes or not int(told.kernelParams):
        raise NotClocked(f"the driver does not tell the arguments of {name}")
    arguments = bytearray(max(offset + size for offset, size in sizes))
    addresses = ctypes.cast(int(told.kernelParams), ctypes.POINTER(ctypes.c_void_p))
    for number, (offset, size) in enumerate(sizes):
        arguments[offset : offset + size] = ctypes.string_at(addresses[number] or 0, size)
    grid = told.gridDimX, told.gridDimY, told.gridDimZ
    block = told.blockDimX, told.blockDimY, told.blockDimZ
    node = Node(name, (grid, block, told.sharedMemBytes), bytes(arguments))
    return _Read(handle, node, sizes, told, function)


def _parameters(cuda: Cuda, function: Any) -> Iterator[tuple[int, int]]:
    """Offset and size of each parameter; the driver says by an error that there are no more."""
    number = 0
    while True:
        try:
            offset, size = cuda.cuFuncGetParamInfo(function, number)
        except DriverFailed:
            return
        yield offset, size
        number += 1


class _Patched:
    """A kernel's node with arguments that can be written; as the driver wants it told."""

    def __init__(self, cuda: Cuda, read: _Read) -> None:
        self.node, told = read.handle, read.parameters
        self._arguments = ctypes.create_string_buffer(read.node.arguments, len(read.node.arguments))
        start = ctypes.addressof(self._arguments)
        self._addresses = (ctypes.c_void_p * len(read.sizes))(*(start + offset for offset, _ in read.sizes))
        self.parameters = cuda.names.CUDA_KERNEL_NODE_PARAMS()
        self.parameters.func = read.function
        for axis in "XYZ":
            setattr(self.parameters, f"gridDim{axis}", getattr(told, f"gridDim{axis}"))
            setattr(self.parameters, f"blockDim{axis}", getattr(told, f"blockDim{axis}"))
        self.parameters.sharedMemBytes = told.sharedMemBytes
        self.parameters.kernelParams = ctypes.addressof(self._addresses)

    def write(self, offset: int, value: bytes) -> None:
        """Overwrite bytes of the arguments."""
        ctypes.memmove(ctypes.addressof(self._arguments) + offset, value, len(value))
