"""Reserved memory on Linux and macOS: one private anonymous mapping, committed by touch, given back with madvise."""

import ctypes
import errno
import mmap
import sys
from collections.abc import Callable
from contextlib import suppress

import numpy as np

from engine.errors import NoRoom
from engine.memory.spare import available_bytes

# Python names this flag from 3.13 on; the numbers are from Linux's <asm-generic/mman.h> and macOS's <sys/mman.h>.
NO_RESERVE = getattr(mmap, "MAP_NORESERVE", {"linux": 0x4000, "darwin": 0x40}.get(sys.platform, 0))
POPULATE_WRITE = 23  # MADV_POPULATE_WRITE of Linux's <asm-generic/mman-common.h>; 2.5 us a page, touching takes 6
ASKED_AT_ONCE = 1 << 30  # bytes whose pages are asked about in one call: a vector of 256 KiB


class PosixMemory:
    """A private anonymous mapping; see `engine.memory.Memory`.

    Args:
        size: Bytes wanted; rounded up to whole pages.
        available_bytes: Tells how much memory can be had.

    Raises:
        NoRoom: There are not that many addresses to be had.
    """

    def __init__(self, size: int, available_bytes: Callable[[], int] = available_bytes) -> None:
        self.page_bytes = mmap.PAGESIZE
        self.size = max(1, -(-size // self.page_bytes)) * self.page_bytes
        self.available_bytes = available_bytes
        try:
            # Private, since a shared mapping is a file in memory, which MADV_DONTNEED does not shrink.
            self._mapping = mmap.mmap(-1, self.size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANON | NO_RESERVE)
        except (OSError, OverflowError, ValueError) as error:
            raise NoRoom(
                f"the system refuses {self.size:,} bytes of address space ({error})",
                "addresses for the plan's maximum",
                "declare a shorter session, or raise the limit (ulimit -v)",
            ) from error
        with suppress(AttributeError, OSError):  # a huge page would back 2 MiB where a page was asked for
            self._mapping.madvise(mmap.MADV_NOHUGEPAGE)
        self.data = np.frombuffer(self._mapping, np.uint8)  # [size]
        self._mincore = ctypes.CDLL(None, use_errno=True).mincore
        self._mincore.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)

    def commit(self, start: int, end: int) -> None:
        if end - start > (available := self.available_bytes()):
            raise _no_room(end - start, f"{available:,} are to be had")
        try:
            self._mapping.madvise(POPULATE_WRITE, start, end - start)
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise _no_room(end - start, f"the system refuses them ({error.strerror})") from error
            # Linux before 5.14, macOS: touch each page, by writing what is there, which costs two faults
            touched = self.data[start : end : self.page_bytes]
            np.bitwise_or(touched, 0, out=touched)

    def release(self, start: int, end: int) -> None:
        if sys.platform == "linux":
            self._mapping.madvise(mmap.MADV_DONTNEED, start, end - start)  # at once; reads as zero afterwards
        else:
            self.data[start:end] = 0  # elsewhere a page that nobody wanted meanwhile may come back as it was
            self._mapping.madvise(mmap.MADV_FREE, start, end - start)

    def resident_bytes(self) -> int:
        pages = 0
        for start in range(0, self.size, ASKED_AT_ONCE):
            length = min(ASKED_AT_ONCE, self.size - start)
            told = np.empty(length // self.page_bytes, np.uint8)
            if self._mincore(self.data.ctypes.data + start, length, told.ctypes.data):
                raise OSError(ctypes.get_errno(), "mincore did not tell which pages are resident")
            pages += int(np.count_nonzero(told & 1))
        return pages * self.page_bytes


def _no_room(count: int, why: str) -> NoRoom:
    return NoRoom(
        f"the session's state needs {count:,} more bytes of memory; {why}",
        "memory for the unit that comes next",
        "close other programs, or declare a shorter session",
    )
