"""Where a benchmark runs: a CPU, where every step runs eagerly, or a CUDA device. Nothing else tells the two apart.

Entered by the engine thread.
"""

import gc
import platform
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Protocol

import psutil
import torch

from engine.arena import Arena, DeviceArena, HostArena
from engine.builds.capturing import Capturing, CudaCapturing
from engine.clock import Clock, WallClock
from engine.cuda_graphs import CudaGraphs, SetAside
from engine.cuda_vmm import CudaDriver
from engine.errors import AskedWrongly, CadenceError
from engine.plan import Plan
from engine.replay import Rehearse, ReplayRuntime
from engine.runtime import EagerRuntime, Runtime


class Place(Protocol):
    """A device and its machine.

    Attributes:
        device: torch's.
        name: As its maker calls it.
        is_gpu: Whether times on it mean anything beyond this machine.
        granule_bytes: Of its memory.
        activity: What its work is to torch's profiler.
        clock: The host's.
    """

    device: torch.device
    name: str
    is_gpu: bool
    granule_bytes: int
    activity: torch.profiler.ProfilerActivity
    clock: Clock

    def arena(self, plan: Plan) -> Arena:
        """An arena for a plan."""
        ...

    def runtime(self, arena: Arena, rehearse: Rehearse) -> Runtime:
        """Ours."""
        ...

    def capturing(self, state: torch.Tensor, set_aside: SetAside) -> Capturing | None:
        """What captures beside whole steps; None where everything runs eagerly.

        Args:
            state: Any of the arena's.
            set_aside: Of a stage; while it is entered, all of its states may be written and nothing of it stays.
        """
        ...

    def synchronize(self) -> None:
        """Wait until the device has done all that it was asked."""
        ...

    def used_bytes(self) -> int:
        """Memory in use: of the whole device, as its driver tells; on a CPU, of this process."""
        ...

    def torch_bytes(self) -> int | None:
        """Memory in torch's tensors; None where torch keeps no count."""
        ...

    def torch_peak_bytes(self) -> int | None:
        """The most of it since the count began; None where torch keeps no count."""
        ...

    def count_anew(self) -> None:
        """Begin to count the peak anew."""
        ...

    def graph_bytes(self) -> int:
        """Memory that graphs hold for themselves."""
        ...

    def forget(self) -> None:
        """Wait, give back what nobody holds, and begin to count the peak anew."""
        ...

    def left_free(self, size: int) -> AbstractContextManager[None]:
        """While entered, but `size` bytes of the device's memory are free, beside what torch keeps to give out again.

        A GPU's alone: a CPU's memory is not this program's to take.
        """
        ...


class CpuPlace:
    """This machine's processor; see `Place`."""

    def __init__(self) -> None:
        self.device, self.is_gpu, self.name = torch.device("cpu"), False, _processor()
        self.granule_bytes = 4096
        self.activity = torch.profiler.ProfilerActivity.CPU
        self.clock: Clock = WallClock()

    def arena(self, plan: Plan) -> Arena:
        return HostArena(plan)

    def runtime(self, arena: Arena, rehearse: Rehearse) -> Runtime:
        return EagerRuntime("cadence", self.clock)

    def capturing(self, state: torch.Tensor, set_aside: SetAside) -> Capturing | None:
        return None

    def synchronize(self) -> None:
        pass

    def used_bytes(self) -> int:
        used: int = psutil.Process().memory_info().rss
        return used

    def torch_bytes(self) -> int | None:
        return None

    def torch_peak_bytes(self) -> int | None:
        return None

    def count_anew(self) -> None:
        pass

    def graph_bytes(self) -> int:
        return 0

    def forget(self) -> None:
        gc.collect()

    def left_free(self, size: int) -> AbstractContextManager[None]:
        raise NotImplementedError


class CudaPlace:
    """A CUDA device; see `Place`.

    Raises:
        AskedWrongly: There is none.
        MissingPart: cuda-bindings is not installed.
    """

    def __init__(self) -> None:
        if not torch.cuda.is_available():
            raise AskedWrongly("there is no CUDA device here that torch can use", "one", "measure with --device cpu")
        self.device, self.is_gpu = torch.device("cuda", torch.cuda.current_device()), True
        self._driver = CudaDriver(self.device)
        self.name, self.granule_bytes = torch.cuda.get_device_name(self.device), self._driver.granule_bytes
        self.activity = torch.profiler.ProfilerActivity.CUDA
        self.clock: Clock = WallClock()

    def arena(self, plan: Plan) -> Arena:
        return DeviceArena(plan, self._driver)

    def runtime(self, arena: Arena, rehearse: Rehearse) -> Runtime:
        assert isinstance(arena, DeviceArena), "an arena of this place"
        return ReplayRuntime(self.clock, CudaGraphs(self.device, arena.set_aside, self.clock), rehearse)

    def capturing(self, state: torch.Tensor, set_aside: SetAside) -> Capturing | None:
        return CudaCapturing(self.device, self.clock, state, set_aside)

    def synchronize(self) -> None:
        torch.cuda.synchronize(self.device)

    def used_bytes(self) -> int:
        free, total = torch.cuda.mem_get_info(self.device)
        return int(total - free)

    def torch_bytes(self) -> int | None:
        return int(torch.cuda.memory_allocated(self.device))

    def torch_peak_bytes(self) -> int | None:
        return int(torch.cuda.max_memory_allocated(self.device))

    def count_anew(self) -> None:
        torch.cuda.reset_peak_memory_stats(self.device)

    def graph_bytes(self) -> int:
        segments = torch.cuda.memory_snapshot()
        return sum(int(one["total_size"]) for one in segments if tuple(one["segment_pool_id"]) != (0, 0))

    def forget(self) -> None:
        gc.collect()
        self.synchronize()
        torch.cuda.empty_cache()
        self.count_anew()

    @contextmanager
    def left_free(self, size: int) -> Iterator[None]:
        free, _ = torch.cuda.mem_get_info(self.device)
        held = [torch.empty(max(0, free - size), dtype=torch.uint8, device=self.device)]
        try:
            yield
        finally:
            held.clear()
            self.forget()


def find_place(name: str) -> Place:
    """The place of that name, "cpu" or "cuda".

    Raises:
        AskedWrongly: There is no such device here.
    """
    return CudaPlace() if name == "cuda" else CpuPlace()


@contextmanager
def quiet() -> Iterator[None]:
    """While entered, no garbage is collected, and none of what is there now is looked through afterwards."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.collect()


def one_line(error: BaseException) -> str:
    """What went wrong, for a record."""
    text = next((" ".join(line.split()) for line in str(error).splitlines() if line.strip()), "")
    return text if isinstance(error, CadenceError) else f"{type(error).__name__}: {text}"


def _processor() -> str:
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
