"""Files that others can get at: opened only where they are plain, and known to be where they were put. Any thread."""

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

# A pipe is opened without waiting for whoever writes to it; a plain file takes no notice.
_AT_ONCE = getattr(os, "O_NONBLOCK", 0)


def open_plain(path: Path) -> BinaryIO:
    """Open a file to read, whoever put it there; a pipe, a device or a folder, which may keep its reader, is none.

    Raises:
        OSError: The system refuses, or what is there is no plain file.
    """
    file = open(path, "rb", opener=lambda name, flags: os.open(name, flags | _AT_ONCE))  # noqa: SIM115  the caller's
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "it is no plain file")
    return file


def in_place(path: Path, descriptor: int) -> bool:
    """Whether an open file is still the one at `path`: neither removed, nor moved, nor another in its place."""
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except OSError:
        return False
