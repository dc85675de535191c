"""Memory at addresses that never move: reserved once, backed page by page as needed, given back page by page.

Each system has a back end of its own, imported only there. Knows nothing of states or plans. Entered by [engine].
"""

import sys
from typing import Protocol

import numpy as np
from numpy.typing import NDArray


class Memory(Protocol):
    """A range of addresses. Ranges are in bytes from its start, on page boundaries.

    Attributes:
        size: Bytes in the range.
        page_bytes: Bytes that are backed or given back at a time.
    """

    size: int
    page_bytes: int

    def commit(self, start: int, end: int) -> None:
        """Back a range with memory, its contents left as they are; what was never backed, or was released, is zero.

        Raises:
            NoRoom: The machine has not that much memory to spare; part of the range may be backed.
        """
        ...

    def release(self, start: int, end: int) -> None:
        """Give the memory of a range back, where it has any; its contents are gone."""
        ...

    def resident_bytes(self) -> int:
        """Bytes of the range that have memory behind them, as the system tells."""
        ...

    def available_bytes(self) -> int:
        """Bytes that could be committed now."""
        ...


class HostMemory(Memory, Protocol):
    """Memory of this machine's own.

    Attributes:
        data: The range itself, uint8 [size]; it lives for as long as anyone holds it or a view of it.
    """

    data: NDArray[np.uint8]


def reserve(size: int) -> HostMemory:
    """Reserve at least `size` bytes of addresses from this system; no memory yet.

    Raises:
        NoRoom: There are not that many addresses to be had.
    """
    if sys.platform == "win32":
        from engine.memory.windows import WindowsMemory

        return WindowsMemory(size)
    from engine.memory.posix import PosixMemory

    return PosixMemory(size)
