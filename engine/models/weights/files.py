"""Files by size and hash, and disk errors in words. Knows no weight, no source."""

import errno
import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from engine.errors import BadWeights, CadenceError, NoRoom

BLOCK_BYTES = 1 << 20
_FULL = {errno.ENOSPC, errno.EDQUOT}
_ELSEWHERE = "set DUPLEXCADENCE_CACHE to a folder"


def sha256_of(path: Path) -> str:
    """The file's hash, in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def git_sha1_of(path: Path) -> str:
    """The file's name as a git object, in hexadecimal: what a hub tells of files too small for large storage."""
    digest = hashlib.sha1(f"blob {path.stat().st_size}\0".encode(), usedforsecurity=False)
    with path.open("rb") as stream:
        while block := stream.read(BLOCK_BYTES):
            digest.update(block)
    return digest.hexdigest()


def holds(path: Path, size: int, sha256: str) -> bool:
    """Whether a file is there, of that size and hash; cheap where the size already tells."""
    return path.is_file() and path.stat().st_size == size and sha256_of(path) == sha256


def copy_known(stream: IO[bytes], to: Path, size: int, sha256: str, moved: Callable[[int], None]) -> None:
    """Write a stream of which size and hash are known; never more than `size` bytes reach the disk.

    Args:
        stream: Read to its end.
        to: A file that does not exist yet.
        size: Bytes that must come.
        sha256: The hash that they must have.
        moved: Told of each block's bytes.

    Raises:
        BadWeights: Something else came; `to` is removed.
    """
    digest, count = hashlib.sha256(), 0
    try:
        with to.open("xb") as out:
            while block := stream.read(BLOCK_BYTES):
                count += len(block)
                if count > size:
                    raise BadWeights(f"{to.name} is longer than its {size} bytes")
                digest.update(block)
                out.write(block)
                moved(len(block))
        if count < size:
            raise BadWeights(f"{to.name} ended after {count} bytes", f"{size} bytes")
        if digest.hexdigest() != sha256:
            raise BadWeights(f"{to.name} has sha256 {digest.hexdigest()}", sha256)
    except BaseException:
        to.unlink(missing_ok=True)
        raise


def bytes_under(folder: Path, counts: Callable[[Path], bool] = lambda _: True) -> int:
    """Size of all files below a folder, now, that count; files that come and go meanwhile do no harm."""
    total = 0
    for parent, _, names in os.walk(folder):
        for path in (Path(parent, name) for name in names):
            if counts(path.relative_to(folder)):
                try:
                    total += path.lstat().st_size
                except FileNotFoundError:
                    continue
    return total


def make_durable(folder: Path) -> None:
    """Have the disk hold every file before a rename says that they are there."""
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("rb+") as stream:
                os.fsync(stream.fileno())


@contextmanager
def disk_errors_in_words(cache: Path) -> Iterator[None]:
    """Turn what the disk refuses, while the cache is written, into one line."""
    try:
        yield
    except OSError as error:
        raise _in_words(error, cache) from error


def _in_words(error: OSError, cache: Path) -> CadenceError:
    if error.errno in _FULL:
        return NoRoom(
            f"the disk is full ({cache})", "", f"free some space and run it again, or {_ELSEWHERE} on a larger disk"
        )
    reason = error.strerror or str(error)
    if isinstance(error.filename, str) and not Path(error.filename).is_relative_to(cache):
        return CadenceError(f"{error.filename}: {reason}")
    return NoRoom(f"the cache {cache} cannot be written ({reason})", "", f"mend that, or {_ELSEWHERE} you can write to")
