"""Hugging Face as a source: files at a pinned commit over plain HTTP, resumed where an earlier fetch stopped.

The hub's own client is not used: since its version 2 it starts every file afresh. HF_ENDPOINT and HF_HUB_OFFLINE hold
as they do there; no account of the user's is used.
"""

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import IO, Any
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import Request, urlopen

from engine.errors import BadWeights
from engine.models.weights.files import BLOCK_BYTES
from engine.models.weights.manifest import Hub, Weight, WeightFile
from engine.models.weights.progress import Progress
from engine.models.weights.sources import NotHere, copy, phase

ATTEMPTS = 3  # a line that breaks off is taken up again so often


@dataclass(frozen=True)
class HubFiles:
    """Asks Hugging Face for what lies at a commit.

    Args:
        endpoint: Another hub; empty: HF_ENDPOINT, or the one that everybody knows.
        patience_s: How long to wait for a connection, and for the next byte.
    """

    endpoint: str = ""
    patience_s: float = 8.0

    def listing(self, hub: Hub) -> dict[str, Any]:
        """What the hub tells of a repository at its commit: its files with sizes and hashes, its licence.

        Raises:
            NotHere: It does not answer, or not in its own words.
        """
        path = f"api/models/{hub.repository}/revision/{hub.revision}?blobs=true"
        with self._ask(path, f"the list of {hub.repository}", 0) as answer:
            try:
                told = json.loads(answer.read())
            except (OSError, HTTPException, ValueError, RecursionError) as error:
                raise NotHere(f"Hugging Face sent no list of {hub.repository}") from error
        if not isinstance(told, dict):
            raise NotHere(f"Hugging Face sent no list of {hub.repository}")
        return told

    def grow(self, hub: Hub, name: str, size: int, to: Path, at: Callable[[int], None]) -> None:
        """Fetch what is missing at a file's end; a hash must tell whether it is the right file.

        Args:
            hub: Where.
            name: Its path there.
            size: Bytes that it has there.
            to: Where it grows.
            at: Told how many bytes are there.

        Raises:
            NotHere: It could not be had, or not all of it: what came is kept.
        """
        for _ in range(ATTEMPTS):
            at(_size(to))
            if _size(to) >= size:
                return
            path = f"{hub.repository}/resolve/{hub.revision}/{quote(name)}"
            with self._ask(path, name, _size(to)) as answer, _opened(to, resumed=answer.status == 206) as out:
                while block := _next_block(answer):
                    out.write(block)
                    at(out.tell())
                    if out.tell() > size:
                        return  # not what was declared: the hash will tell
        if _size(to) < size:
            raise NotHere(f"Hugging Face broke off {ATTEMPTS} times in {name}")

    def _ask(self, path: str, what: str, start: int) -> HTTPResponse:
        if os.environ.get("HF_HUB_OFFLINE", "0").upper() in ("1", "ON", "YES", "TRUE"):
            raise OutOfReach("Hugging Face is not asked: HF_HUB_OFFLINE is set")
        base = self.endpoint or os.environ.get("HF_ENDPOINT") or "https://huggingface.co"
        headers = {"User-Agent": "duplexcadence", **({"Range": f"bytes={start}-"} if start else {})}
        try:
            answer: HTTPResponse = urlopen(
                Request(f"{base.rstrip('/')}/{path}", headers=headers), timeout=self.patience_s
            )
        except HTTPError as error:
            error.close()
            raise NotHere(f"Hugging Face did not send {what} (it answered {error.code})") from error
        except (OSError, HTTPException) as error:
            raise OutOfReach(f"Hugging Face cannot be reached ({getattr(error, 'reason', error)})") from error
        return answer


class OutOfReach(NotHere):
    """Whatever is asked for, it will not come."""


@dataclass
class HubSource:
    """Asks Hugging Face; asked no more once out of reach.

    Args:
        downloads: Where files grow.
        files: Asks for them.
    """

    downloads: Path
    files: HubFiles = field(default_factory=HubFiles)
    _out_of_reach: str = field(default="", init=False)

    def to_download(self, weight: Weight) -> int | None:
        if weight.hub is None:
            return None
        folder = self._folder(weight.name, weight.hub)
        return sum(max(0, file.bytes - _size(folder / file.name)) for file in weight.files)

    def bring(self, weight: Weight, into: Path, progress: Progress) -> str:
        if weight.hub is None:
            raise NotHere  # declared so: nothing to tell
        if self._out_of_reach:
            raise NotHere(self._out_of_reach)
        folder = self._folder(weight.name, weight.hub)
        folder.mkdir(parents=True, exist_ok=True)
        try:
            with phase(progress, f"{weight.name} from Hugging Face", weight.file_bytes):
                self._grow(weight.hub, weight.files, folder, progress)
        except OutOfReach as error:
            self._out_of_reach = str(error)
            raise
        try:
            copy({file: folder / file.name for file in weight.files}, into, lambda _: None)
        except BadWeights as error:
            # A resumed file may be a patchwork: begin afresh the next time, and ask the next source now.
            shutil.rmtree(folder, ignore_errors=True)
            raise NotHere(f"Hugging Face sent something else ({error})") from error
        return f"Hugging Face {weight.hub.repository} at {weight.hub.revision[:12]}"

    def forget(self, weight: Weight) -> None:
        if weight.hub:
            shutil.rmtree(self._folder(weight.name, weight.hub), ignore_errors=True)

    def _folder(self, name: str, hub: Hub) -> Path:
        return self.downloads / f"hub-{name}-{hub.revision[:12]}"

    def _grow(self, hub: Hub, files: tuple[WeightFile, ...], folder: Path, progress: Progress) -> None:
        before = 0
        for file in files:
            self.files.grow(hub, file.in_hub, file.bytes, folder / file.name, partial(_at, progress, before))
            before += file.bytes


def _at(progress: Progress, before: int, count: int) -> None:
    progress.at(before + count)


def _opened(path: Path, *, resumed: bool) -> IO[bytes]:
    return path.open("ab" if resumed else "wb")


def _next_block(answer: HTTPResponse) -> bytes:
    """What has come; nothing at the end, or where the line broke off."""
    try:
        return answer.read1(BLOCK_BYTES)
    except (OSError, HTTPException):
        return b""


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0
