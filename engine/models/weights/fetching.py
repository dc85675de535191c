"""Fetches weights: says what it will take, then brings, converts and installs one after the other.

One fetch at a time a cache: a second waits, and then finds done what the first did. Stopping it, at any moment and in
any way, leaves whole folders, and downloads that the next fetch resumes. Entered by one thread.
"""

import importlib
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from engine.errors import BadWeights, MissingWeights, NoRoom
from engine.models.weights.child import ChildBroke, in_child
from engine.models.weights.files import bytes_under, disk_errors_in_words
from engine.models.weights.manifest import Weight
from engine.models.weights.progress import Progress
from engine.models.weights.sources import NotHere, Source
from engine.models.weights.store import Store
from engine.phrases import readable

_SPARE_BYTES = 32_000_000  # folders, records, pip's own small files


@dataclass(frozen=True)
class Outlook:
    """What a fetch would take.

    Args:
        missing: Weights to be brought, in order.
        download_bytes: The most that will come over the network.
        kept_bytes: What stays on the disk.
        peak_bytes: Free space that the disk must have meanwhile.
    """

    missing: tuple[Weight, ...]
    download_bytes: int
    kept_bytes: int
    peak_bytes: int


def outlook(store: Store, names: Sequence[str], sources: Sequence[Source]) -> Outlook:
    """What fetching these weights would take now. Weights that are there are read and checked, byte by byte."""
    missing = tuple(store.manifest.weight(name) for name in names if not _whole(store, name))
    kept, peak, download = 0, 0, 0
    for weight in missing:
        to_download = _to_download(weight, sources)
        download += to_download
        peak = max(peak, kept + to_download + weight.file_bytes + weight.converted_bytes)
        kept += weight.converted_bytes
    return Outlook(missing, download, kept, peak + _SPARE_BYTES if missing else 0)


def _to_download(weight: Weight, sources: Sequence[Source]) -> int:
    """The most that a source may send; nothing where one, before any network is asked, has it all."""
    most = 0
    for source in sources:
        size = source.to_download(weight)
        if size == 0:
            return 0
        most = max(most, size or 0)
    return most


def fetch(store: Store, names: Sequence[str], sources: Sequence[Source], progress: Progress) -> None:
    """Bring every named weight into the cache that is not there, whole.

    Args:
        store: The cache.
        names: Weights.
        sources: Asked in this order for each.
        progress: Told of everything.

    Raises:
        MissingWeights: No source has one of them.
        BadWeights: What came is not what the manifest declares.
        NoRoom: The disk is too small, or the cache cannot be written.
        AskedWrongly: There are no weights of such a name.
    """
    if not outlook(store, names, sources).missing:
        return
    with disk_errors_in_words(store.root):
        store.root.mkdir(parents=True, exist_ok=True)
        with only_one(store, progress):
            try:
                shutil.rmtree(store.scratch, ignore_errors=True)  # of a fetch that was killed
                _fetch_locked(store, names, sources, progress)
            finally:
                shutil.rmtree(store.scratch, ignore_errors=True)


def _fetch_locked(store: Store, names: Sequence[str], sources: Sequence[Source], progress: Progress) -> None:
    ahead = outlook(store, names, sources)  # once more: another fetch may have just ended
    if not ahead.missing:
        return
    free = shutil.disk_usage(store.root).free
    progress.say(
        f"to fetch: {', '.join(weight.name for weight in ahead.missing)}: at most {readable(ahead.download_bytes)} to "
        f"download, {readable(ahead.kept_bytes)} kept on disk in {store.root}"
    )
    if free < ahead.peak_bytes:
        raise NoRoom(
            f"{readable(free)} free on the disk of {store.root}",
            f"{readable(ahead.peak_bytes)} while weights are fetched and converted",
            "free some space and run it again, or set DUPLEXCADENCE_CACHE to a folder on a larger disk",
        )
    store.scratch.mkdir(exist_ok=True)
    # A name of its own: what a killed fetch started may still write under the old one for a moment.
    work = Path(tempfile.mkdtemp(dir=store.scratch))
    told: set[str] = set()
    for weight in ahead.missing:
        files, made = work / f"{weight.name}-files", work / f"{weight.name}-made"
        source = _bring(weight, files, sources, progress, told)
        _convert(weight, files, made, progress)
        store.install(weight, made, source)
        for each in sources:
            each.forget(weight)
        size = readable(store.held_bytes(weight))
        caveat = f"; note: {weight.caveat}" if weight.caveat else ""
        progress.say(f"{weight.name}: ready, {size}, licence {weight.licence}, from {source}{caveat}")


def _bring(weight: Weight, files: Path, sources: Sequence[Source], progress: Progress, told: set[str]) -> str:
    """Have the first source that can fill the folder `files`; what others said, and was not `told` yet, is told."""
    reasons = []
    # What needs no network goes first: such as the whole package that a stopped fetch left.
    for source in sorted(sources, key=lambda source: source.to_download(weight) != 0):
        shutil.rmtree(files, ignore_errors=True)
        files.mkdir(parents=True)
        try:
            return source.bring(weight, files, progress)
        except NotHere as reason:
            if str(reason):
                reasons.append(str(reason))
            if str(reason) and str(reason) not in told:
                told.add(str(reason))
                progress.say(str(reason))
    raise MissingWeights(f"{weight.name} could not be fetched: {'; '.join(reasons) or 'no source has it'}")


def _convert(weight: Weight, files: Path, made: Path, progress: Progress) -> None:
    """Turn `files`, which go, into the folder `made`."""
    made.mkdir()
    progress.begin(f"{weight.name}: converting")
    try:
        in_child(
            convert, weight.convert, files / weight.convert_from, made, tick=lambda: progress.at(bytes_under(made))
        )
    except ChildBroke as error:
        raise BadWeights(f"{weight.name} could not be converted: {error}") from error
    finally:
        progress.end()
    shutil.rmtree(files)


def convert(module: str, source: Path, destination: Path) -> None:
    """In the child: run a converter."""
    importlib.import_module(module).convert(source, destination)


def _whole(store: Store, name: str) -> bool:
    try:
        store.verify(name)
    except (MissingWeights, BadWeights):
        return False
    return True


@contextmanager
def only_one(store: Store, progress: Progress) -> Iterator[None]:
    """While entered, nobody else fetches into the same cache; waits for who does."""
    lock = FileLock(store.root / "fetch.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        progress.say(f"another fetch is at work in {store.root}; waiting for it")
        lock.acquire(poll_interval=0.2)
    try:
        yield
    finally:
        lock.release()
