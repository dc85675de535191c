"""CUDA's virtual memory, as the arena asks for it.

Addresses are reserved once and granules of memory mapped behind them, as the CUDA Driver API's "Virtual Memory
Management" lays it down. Entered by [engine].
"""

from collections.abc import Callable
from typing import Any

import torch

from engine.cuda_driver import Cuda, DriverFailed
from engine.errors import MissingPart, NoRoom
from engine.memory.device import DeviceMemory


class CudaDriver:
    """One CUDA device; see `engine.memory.device.Driver`.

    What is ordered is ordered on torch's current stream of the calling thread.

    Args:
        device: Which one.

    Raises:
        MissingPart: cuda-bindings is not installed, or this machine has no CUDA device that torch can use.
        DriverFailed: The device cannot map memory at addresses of our choice.
    """

    def __init__(self, device: torch.device) -> None:
        self._cuda = Cuda()
        if not torch.cuda.is_available():
            raise MissingPart("no CUDA device that torch can use", "one", "run on the CPU, or mend the GPU's driver")
        self._device = torch.device("cuda", torch.cuda.current_device() if device.index is None else device.index)
        torch.zeros(1, device=self._device)  # torch makes the context that everything here is of
        cuda = self._cuda.names
        location = cuda.CUmemLocation()
        location.type, location.id = cuda.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE, self._device.index
        self._kind = cuda.CUmemAllocationProp()
        self._kind.type = cuda.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
        self._kind.location = location
        self._access = cuda.CUmemAccessDesc()
        self._access.location = location
        self._access.flags = cuda.CUmemAccess_flags.CU_MEM_ACCESS_FLAGS_PROT_READWRITE
        least = cuda.CUmemAllocationGranularity_flags.CU_MEM_ALLOC_GRANULARITY_MINIMUM
        self.granule_bytes = int(self._cuda.cuMemGetAllocationGranularity(self._kind, least))

    def reserve(self, size: int) -> int:
        return int(self._had(lambda: self._cuda.cuMemAddressReserve(size, 0, 0, 0), size, "addresses"))

    def free(self, address: int, size: int) -> None:
        self._cuda.cuMemAddressFree(address, size)

    def create(self) -> Any:
        size = self.granule_bytes
        return self._had(lambda: self._cuda.cuMemCreate(size, self._kind, 0), size, "memory")

    def destroy(self, granule: Any) -> None:
        self._cuda.cuMemRelease(granule)

    def map(self, address: int, granule: Any) -> None:
        self._cuda.cuMemMap(address, self.granule_bytes, 0, granule, 0)
        self._cuda.cuMemSetAccess(address, self.granule_bytes, [self._access], 1)

    def unmap(self, address: int) -> None:
        self._cuda.cuMemUnmap(address, self.granule_bytes)

    def zero(self, address: int, size: int) -> None:
        self._cuda.cuMemsetD8Async(address, 0, size, torch.cuda.current_stream(self._device).cuda_stream)

    def mark(self) -> Callable[[], bool]:
        event = torch.cuda.Event()
        event.record(torch.cuda.current_stream(self._device))
        return event.query

    def wait(self) -> None:
        torch.cuda.synchronize(self._device)

    def available_bytes(self) -> int:
        free, _ = torch.cuda.mem_get_info(self._device)
        return free

    def tensor(self, memory: DeviceMemory) -> torch.Tensor:
        """The whole of a range, uint8 `[size]`, of which only what is committed may be touched.

        Something must be behind its first address: torch asks the driver which device that is on. Every type is a view
        of bytes, since the array interface has no name for some (bfloat16).
        """
        return torch.as_tensor(_Bytes(memory), device=self._device)

    def _had(self, ask: Callable[[], Any], size: int, of: str) -> Any:
        """What was asked for, or an error that says how much of what was not to be had."""
        try:
            return ask()
        except DriverFailed as error:
            if error.code != "CUDA_ERROR_OUT_OF_MEMORY":
                raise
            raise NoRoom(
                f"the GPU refuses {size:,} more bytes of {of}; {self.available_bytes():,} bytes of memory are free",
                f"{of} for the session's state",
                "close what else runs on the GPU, or declare a shorter session",
            ) from error


class _Bytes:
    """Reserved memory as CUDA's array interface (version 3) describes it; held by every view, and holds the memory."""

    def __init__(self, memory: DeviceMemory) -> None:
        self._memory = memory
        self.__cuda_array_interface__ = {
            "shape": (memory.size,),
            "typestr": "|u1",
            "data": (memory.address, False),
            "version": 3,
        }
