"""What Windows does with VirtualAlloc and its like, played by this machine: what is not committed cannot be touched."""

import ctypes
import mmap

import numpy as np

from engine.memory import windows

PROT_NONE, PROT_READ_WRITE = 0, 3


def load_libc():
    """This machine's own functions, their arguments declared."""
    libc, pointer, size = ctypes.CDLL(None, use_errno=True), ctypes.c_void_p, ctypes.c_size_t
    libc.mmap.argtypes = (pointer, size, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long)
    libc.mmap.restype = pointer
    libc.mprotect.argtypes = libc.madvise.argtypes = (pointer, size, ctypes.c_int)
    libc.munmap.argtypes = (pointer, size)
    libc.mincore.argtypes = (pointer, size, pointer)
    return libc


class MadeUpWindows:
    """The five functions that the back end calls.

    Args:
        commit_limit: Bytes that may be committed at once.
    """

    def __init__(self, commit_limit=1 << 40):
        self.commit_limit, self.reserved, self.libc = commit_limit, {}, load_libc()

    def VirtualAlloc(self, address, size, kind, protection):
        if kind == windows.MEM_RESERVE:
            assert (address, protection) == (None, windows.PAGE_NOACCESS)
            flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000
            address = self.libc.mmap(None, size, PROT_NONE, flags, -1, 0)
            if address in (None, ctypes.c_void_p(-1).value):
                return None
            self.reserved[address] = size
            return address
        assert (kind, protection) == (windows.MEM_COMMIT, windows.PAGE_READWRITE)
        if size > self.commit_limit:
            return None
        assert self.libc.mprotect(address, size, PROT_READ_WRITE) == 0
        return address

    def VirtualFree(self, address, size, kind):
        if kind == windows.MEM_RELEASE:
            assert size == 0, "Windows wants 0 bytes here"
            return self.libc.munmap(address, self.reserved.pop(address)) == 0
        assert kind == windows.MEM_DECOMMIT
        return (
            self.libc.madvise(address, size, mmap.MADV_DONTNEED) == 0
            and self.libc.mprotect(address, size, PROT_NONE) == 0
        )

    def GetCurrentProcess(self):
        return -1

    def K32QueryWorkingSetEx(self, process, asked, size):
        assert process == -1
        pairs = np.frombuffer((ctypes.c_uint8 * size).from_address(asked), np.uintp).reshape(-1, 2)
        told = (ctypes.c_uint8 * len(pairs))()
        assert self.libc.mincore(int(pairs[0, 0]), len(pairs) * mmap.PAGESIZE, told) == 0
        pairs[:, 1] = np.frombuffer(told, np.uint8) & 1
        return 1
