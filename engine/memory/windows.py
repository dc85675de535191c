"""Reserved memory on Windows: VirtualAlloc and VirtualFree, which tell reserving from committing by themselves."""

import ctypes
import mmap
import sys
import weakref
from typing import Any

import numpy as np

from engine.errors import NoRoom
from engine.memory.spare import available_bytes

# <winnt.h>
MEM_COMMIT, MEM_RESERVE, MEM_DECOMMIT, MEM_RELEASE = 0x1000, 0x2000, 0x4000, 0x8000
PAGE_NOACCESS, PAGE_READWRITE = 0x01, 0x04
ASKED_AT_ONCE = 1 << 30  # bytes whose pages are asked about in one call: 4 MiB of answers


def kernel32() -> Any:
    """The system's own functions, their arguments declared so that no address is cut to 32 bits."""
    library = ctypes.WinDLL("kernel32", use_last_error=True)  # type: ignore[attr-defined, unused-ignore]
    size, word, pointer = ctypes.c_size_t, ctypes.c_uint32, ctypes.c_void_p
    library.VirtualAlloc.argtypes, library.VirtualAlloc.restype = (pointer, size, word, word), pointer
    library.VirtualFree.argtypes, library.VirtualFree.restype = (pointer, size, word), ctypes.c_int
    library.GetCurrentProcess.argtypes, library.GetCurrentProcess.restype = (), pointer
    library.K32QueryWorkingSetEx.argtypes = (pointer, pointer, word)
    library.K32QueryWorkingSetEx.restype = ctypes.c_int
    return library


class WindowsMemory:
    """A reserved range of the process's addresses; see `engine.memory.Memory`.

    Args:
        size: Bytes wanted; rounded up to whole pages.
        system: `kernel32()`, or what stands for it in a test.

    Raises:
        NoRoom: There are not that many addresses to be had.
    """

    def __init__(self, size: int, system: Any = None) -> None:
        self._system = kernel32() if system is None else system
        self.available_bytes = available_bytes
        self.page_bytes = mmap.PAGESIZE
        self.size = max(1, -(-size // self.page_bytes)) * self.page_bytes
        fits = self.size <= sys.maxsize  # past that ctypes would cut the number to 64 bits and reserve what is left
        address = self._system.VirtualAlloc(None, self.size, MEM_RESERVE, PAGE_NOACCESS) if fits else None
        if not address:
            raise NoRoom(
                f"Windows refuses {self.size:,} bytes of address space",
                "addresses for the plan's maximum",
                "declare a shorter session",
            )
        self._address = int(address)
        whole = (ctypes.c_uint8 * self.size).from_address(self._address)
        # Views hold this array, not the object that made it: the range goes with the last of them, and at the process's
        # end by itself, when threads may still hold some.
        weakref.finalize(whole, self._system.VirtualFree, self._address, 0, MEM_RELEASE).atexit = False
        self.data = np.ctypeslib.as_array(whole)  # [size]

    def commit(self, start: int, end: int) -> None:
        if not self._system.VirtualAlloc(self._address + start, end - start, MEM_COMMIT, PAGE_READWRITE):
            raise NoRoom(
                f"Windows refuses {end - start:,} more bytes of memory for the session's state",
                "memory for the unit that comes next",
                "close other programs, or declare a shorter session",
            )
        touched = self.data[start : end : self.page_bytes]
        np.bitwise_or(touched, 0, out=touched)  # writes what is there: promised memory becomes real

    def release(self, start: int, end: int) -> None:
        if not self._system.VirtualFree(self._address + start, end - start, MEM_DECOMMIT):
            raise OSError(f"Windows would not take back {end - start:,} bytes")

    def resident_bytes(self) -> int:
        pages = 0
        for start in range(0, self.size, ASKED_AT_ONCE):
            end = min(start + ASKED_AT_ONCE, self.size)
            asked = np.zeros(((end - start) // self.page_bytes, 2), np.uintp)  # address, then flags: bit 0 is "valid"
            asked[:, 0] = self._address + np.arange(start, end, self.page_bytes)
            if not self._system.K32QueryWorkingSetEx(self._system.GetCurrentProcess(), asked.ctypes.data, asked.nbytes):
                raise OSError("Windows did not tell which pages are resident")
            pages += int(np.count_nonzero(asked[:, 1] & 1))
        return pages * self.page_bytes
