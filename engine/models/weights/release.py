"""Fetches a model's released files as they are: which, how large and of which hash the hub tells, at a pinned commit.

Nothing is invented: what a file must hash to is what the hub says of that commit, SHA-256 for large files and the git
object's name for small ones. Files grow in `<root>/downloads`, are checked there, and appear in `<root>/releases` by
one rename, with their list. One fetch at a time a cache. Entered by one thread.
"""

import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

from engine.errors import AskedWrongly, BadWeights, MissingWeights, NoRoom
from engine.models.weights.fetching import only_one
from engine.models.weights.files import disk_errors_in_words, git_sha1_of, make_durable, sha256_of
from engine.models.weights.hub import HubFiles
from engine.models.weights.manifest import Release
from engine.models.weights.progress import Progress
from engine.models.weights.sources import NotHere, phase
from engine.models.weights.store import Store
from engine.phrases import readable

RECORD = "release.json"
_SPARE_BYTES = 16_000_000
_CHECKED = "checked.json"  # of a download under way: files whose hash was right, by size and time of their last change


@dataclass(frozen=True)
class Listed:
    """A file as the hub lists it.

    Args:
        name: Its path.
        bytes: Its size.
        sha256: Its hash; empty where the hub keeps it as a plain git object.
        git_sha1: That object's name.
    """

    name: str
    bytes: int
    sha256: str
    git_sha1: str

    def is_in(self, path: Path) -> bool:
        """Whether a file holds it."""
        if not path.is_file() or path.stat().st_size != self.bytes:
            return False
        return sha256_of(path) == self.sha256 if self.sha256 else git_sha1_of(path) == self.git_sha1


@dataclass(frozen=True)
class ReleaseOutlook:
    """What a fetch would take.

    Args:
        files: All of them.
        download_bytes: What is still to come.
    """

    files: tuple[Listed, ...]
    download_bytes: int

    @property
    def kept_bytes(self) -> int:
        """What stays on the disk."""
        return sum(file.bytes for file in self.files)


def place_of(store: Store, release: Release) -> Path:
    """Where a release is, or will be."""
    return store.root / "releases" / f"{release.model}-{release.hub.revision[:12]}"


def locate_release(store: Store, release: Release) -> Path:
    """The folder of a release that has been fetched.

    Raises:
        MissingWeights: It has not.
    """
    place = place_of(store, release)
    if not (place / RECORD).is_file():
        raise MissingWeights(
            f"{release.model} is not on this machine", "", f"run: duplexcadence models fetch {release.model}"
        )
    return place


def verify_release(store: Store, release: Release) -> int:
    """Read every byte of a release that was fetched and compare its hash; returns how many bytes there are.

    Raises:
        MissingWeights: It was not fetched.
        BadWeights: A file of it is gone, or holds something else.
    """
    place, mend = locate_release(store, release), f"run: duplexcadence models fetch {release.model}"
    try:
        files = [Listed(**entry) for entry in json.loads((place / RECORD).read_text(encoding="utf-8"))["files"]]
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise BadWeights(f"{release.model}: its record {RECORD} cannot be read", "", mend) from error
    for file in files:
        if not file.is_in(place / file.name):
            raise BadWeights(f"{release.model}: {file.name} is gone, or holds something else", "", mend)
    return sum(file.bytes for file in files)


def release_outlook(store: Store, release: Release, hub: HubFiles) -> ReleaseOutlook:
    """What fetching a release would take; asks the hub.

    Raises:
        MissingWeights: The hub cannot be asked, or lacks a file.
        BadWeights: What it tells is not to be trusted.
    """
    try:
        files = _listed(release, hub.listing(release.hub))
    except NotHere as error:
        raise MissingWeights(
            f"{release.model} could not be fetched: {error}", "a network", f"or download {release.origin} yourself and "
            f"run: duplexcadence models check FOLDER"
        ) from error  # fmt: skip
    growing = _growing(store, release)
    if not growing.exists():
        growing = place_of(store, release)  # what is there stays, or is what a damaged one begins from
    left = sum(max(0, file.bytes - _size(growing / file.name)) for file in files)
    return ReleaseOutlook(files, left)


def fetch_release(
    store: Store, release: Release, hub: HubFiles, progress: Progress, accepts: Callable[[Release], bool]
) -> Path:
    """Bring a release into the cache, where it is not there whole.

    Args:
        store: The cache.
        release: Which.
        hub: Asked.
        progress: Told of everything.
        accepts: Whether its licence is accepted; asked once the size is known and before anything is fetched.

    Returns:
        Its folder.

    Raises:
        AskedWrongly: The licence was not accepted.
        MissingWeights, BadWeights: It could not be had, or is not what the hub lists; what came right is kept.
        NoRoom: The disk is too small, or the cache cannot be written.
    """
    try:
        verify_release(store, release)
    except (MissingWeights, BadWeights):
        pass
    else:
        return place_of(store, release)
    ahead = release_outlook(store, release, hub)
    progress.say(
        f"to fetch: {release.what}: {readable(ahead.download_bytes)} to download, {readable(ahead.kept_bytes)} kept on "
        f"disk in {store.root}, from {release.origin} at {release.hub.revision[:12]}"
    )
    progress.say(f"its licence: {release.licence} ({release.licence_url})")
    if not accepts(release):
        raise AskedWrongly(
            f"the licence of {release.model} was not accepted", release.licence, "read it, then add --accept-licence"
        )
    with disk_errors_in_words(store.root):
        store.root.mkdir(parents=True, exist_ok=True)
        with only_one(store, progress):
            _require_room(store, release, ahead)
            _grow(store, release, ahead.files, hub, progress)
            return _install(store, release, ahead.files)


def _require_room(store: Store, release: Release, ahead: ReleaseOutlook) -> None:
    free, needed = shutil.disk_usage(store.root).free, ahead.download_bytes + _SPARE_BYTES
    if free < needed:
        raise NoRoom(
            f"{readable(free)} free on the disk of {store.root}",
            f"{readable(needed)} for {release.model}",
            "free some space and run it again, or set DUPLEXCADENCE_CACHE to a folder on a larger disk",
        )


def _grow(store: Store, release: Release, files: tuple[Listed, ...], hub: HubFiles, progress: Progress) -> None:
    growing, place = _growing(store, release), place_of(store, release)
    growing.parent.mkdir(parents=True, exist_ok=True)
    if place.exists() and not growing.exists():
        place.rename(growing)  # damaged: what of it is right is not fetched again
    growing.mkdir(exist_ok=True)
    checked, before = _read_checked(growing), 0
    with phase(progress, f"{release.model} from Hugging Face", sum(file.bytes for file in files)):
        for file in files:
            path = growing / file.name
            path.parent.mkdir(parents=True, exist_ok=True)
            if not path.is_file() or checked.get(file.name) != _stamp(path):
                _bring(release, file, path, hub, partial(_at, progress, before))
                checked[file.name] = _stamp(path)
                (growing / _CHECKED).write_text(json.dumps(checked), encoding="utf-8")
            before += file.bytes
            progress.at(before)


def _bring(release: Release, file: Listed, path: Path, hub: HubFiles, at: Callable[[int], None]) -> None:
    """One file, checked. What was there before and is wrong goes, and the file is fetched from its start."""
    resumed = path.exists()
    try:
        path.touch()
        hub.grow(release.hub, file.name, file.bytes, path, at)
        if resumed and not file.is_in(path):
            path.unlink()
            hub.grow(release.hub, file.name, file.bytes, path, at)
    except NotHere as error:
        raise MissingWeights(
            f"{release.model} could not be fetched: {error}", "", "run it again: it goes on where it stopped"
        ) from error
    if not file.is_in(path):
        path.unlink()
        raise BadWeights(f"{file.name} is not what the hub lists", file.sha256 or file.git_sha1, "run it again")


def _install(store: Store, release: Release, files: tuple[Listed, ...]) -> Path:
    growing, place = _growing(store, release), place_of(store, release)
    (growing / _CHECKED).unlink()
    record = {
        "model": release.model,
        "licence": release.licence,
        "origin": release.origin,
        "revision": release.hub.revision,
        "files": [vars(file) for file in files],
    }
    (growing / RECORD).write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    make_durable(growing)
    place.parent.mkdir(parents=True, exist_ok=True)
    if place.exists():
        shutil.rmtree(place)
    growing.rename(place)
    return place


def _listed(release: Release, told: Mapping[str, Any]) -> tuple[Listed, ...]:
    """The files that are needed, of those that the hub lists."""
    if told.get("sha") != release.hub.revision:
        raise BadWeights(f"the hub lists commit {told.get('sha')!r}", release.hub.revision)
    card = told.get("cardData")
    licence = card.get("license") if isinstance(card, dict) else None
    if isinstance(licence, str) and licence.lower() != release.licence.lower():
        raise BadWeights(f"the hub gives {release.model} the licence {licence!r}", release.licence, "see its page")
    siblings = told.get("siblings")
    try:
        found = [_file(entry) for entry in siblings] if isinstance(siblings, list) else []
    except (LookupError, TypeError, ValueError) as error:
        raise BadWeights(
            f"the hub's list of {release.model} cannot be read", "its files with sizes and hashes"
        ) from error
    wanted = [file for file in found if any(fnmatchcase(file.name, pattern) for pattern in release.files)]
    for pattern in release.files:
        if not any(fnmatchcase(file.name, pattern) for file in wanted):
            raise MissingWeights(f"the hub lists no {pattern} of {release.model}")
    for file in wanted:
        posix, windows = PurePosixPath(file.name), PureWindowsPath(file.name)
        if posix.is_absolute() or windows.drive or windows.root or ".." in windows.parts:
            raise BadWeights(f"the hub lists a file outside of the folder: {file.name!r}")
    return tuple(wanted)


def _file(entry: Mapping[str, Any]) -> Listed:
    large = entry.get("lfs") or {}
    listed = Listed(str(entry["rfilename"]), int(entry["size"]), str(large.get("sha256", "")), str(entry["blobId"]))
    if listed.bytes < 0 or (large and len(listed.sha256) != 64):
        raise ValueError(listed.name)
    return listed


def _growing(store: Store, release: Release) -> Path:
    return store.downloads / f"release-{release.model}-{release.hub.revision[:12]}"


def _read_checked(growing: Path) -> dict[str, list[int]]:
    try:
        read = json.loads((growing / _CHECKED).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return read if isinstance(read, dict) else {}


def _stamp(path: Path) -> list[int]:
    """What tells that a checked file has not been touched since."""
    return [path.stat().st_size, path.stat().st_mtime_ns] if path.is_file() else []


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0


def _at(progress: Progress, before: int, count: int) -> None:
    progress.at(before + count)
