"""A device made of this machine's memory: real addresses, granules in a file in memory, work that is done when told."""

import ctypes
import itertools
import mmap
import os
import weakref

import numpy as np
import torch

from engine.errors import NoRoom

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long)
LIBC.mmap.restype = ctypes.c_void_p
LIBC.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
NOTHING, MAP_FIXED, NO_RESERVE = 0, 0x10, 0x4000


class MadeUpDevice:
    """Granules of two pages; see `engine.memory.device.Driver`.

    Args:
        granules: How many it has.
        most_addresses: Bytes of addresses that it has.
    """

    granule_bytes = 2 * mmap.PAGESIZE

    def __init__(self, granules: int = 1 << 20, most_addresses: int = 1 << 46) -> None:
        self.granules, self.most_addresses = granules, most_addresses
        self.created: set[int] = set()
        self.mapped: dict[int, int] = {}
        self.reserved: dict[int, int] = {}
        self.waits = 0
        self._file = os.memfd_create("granules")
        weakref.finalize(self, os.close, self._file)
        self._numbers = itertools.count()
        self._spare: list[int] = []
        self._asked = self._done = 0

    def reserve(self, size: int) -> int:
        if size > self.most_addresses:
            raise NoRoom(f"the device refuses {size:,} more bytes of addresses")
        address = LIBC.mmap(None, size, NOTHING, mmap.MAP_PRIVATE | mmap.MAP_ANON | NO_RESERVE, -1, 0)
        self.reserved[address] = size
        return address

    def free(self, address: int, size: int) -> None:
        assert self.reserved.pop(address) == size
        assert not any(address <= each < address + size for each in self.mapped)
        LIBC.munmap(address, size)

    def create(self) -> int:
        if len(self.created) >= self.granules:
            raise NoRoom("the device refuses 1 more granule", "memory", "have more")
        granule = self._spare.pop() if self._spare else next(self._numbers)
        os.pwrite(self._file, b"\xa5" * self.granule_bytes, granule * self.granule_bytes)  # as somebody left it
        self.created.add(granule)
        return granule

    def destroy(self, granule: int) -> None:
        self.created.remove(granule)
        self._spare.append(granule)

    def map(self, address: int, granule: int) -> None:
        assert address not in self.mapped
        assert granule in self.created
        rights, flags, offset = (
            mmap.PROT_READ | mmap.PROT_WRITE,
            mmap.MAP_SHARED | MAP_FIXED,
            granule * self.granule_bytes,
        )
        assert LIBC.mmap(address, self.granule_bytes, rights, flags, self._file, offset) == address
        self.mapped[address] = granule

    def unmap(self, address: int) -> None:
        del self.mapped[address]
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANON | MAP_FIXED | NO_RESERVE
        assert LIBC.mmap(address, self.granule_bytes, NOTHING, flags, -1, 0) == address

    def zero(self, address: int, size: int) -> None:
        ctypes.memset(address, 0, size)

    def ask(self) -> None:
        """Give it work that takes until somebody waits."""
        self._asked += 1

    def mark(self):
        here = self._asked
        return lambda: self._done >= here

    def wait(self) -> None:
        self.waits += 1
        self._done = self._asked

    def available_bytes(self) -> int:
        return (self.granules - len(self.created)) * self.granule_bytes

    def tensor(self, memory) -> torch.Tensor:
        assert memory.address in self.mapped
        held = (ctypes.c_uint8 * memory.size).from_address(memory.address)
        held.memory = memory
        return torch.from_numpy(np.ctypeslib.as_array(held))
