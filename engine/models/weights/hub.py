"""Hugging Face as a source: files at a pinned commit over plain HTTP, resumed where an earlier fetch stopped.

The hub's own client is not used: since its version 2 it starts every file afresh. HF_ENDPOINT and HF_HUB_OFFLINE hold
as they do there; no account of the user's is used.
"""

import os
import shutil
from dataclasses import dataclass, field
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import Request, urlopen

from engine.errors import BadWeights
from engine.models.weights.files import BLOCK_BYTES
from engine.models.weights.manifest import Hub, Weight, WeightFile
from engine.models.weights.progress import Progress
from engine.models.weights.sources import NotHere, copy, phase

ATTEMPTS = 3  # a line that breaks off is taken up again so often


@dataclass
class HubSource:
    """Asks Hugging Face; asked no more once out of reach.

    Args:
        downloads: Where files grow.
        endpoint: Another hub; empty: HF_ENDPOINT, or the one that everybody knows.
        patience_s: How long to wait for a connection, and for the next byte.
    """

    downloads: Path
    endpoint: str = ""
    patience_s: float = 8.0
    _out_of_reach: str = field(default="", init=False)

    def to_download(self, weight: Weight) -> int | None:
        if weight.hub is None:
            return None
        folder = self._folder(weight.name, weight.hub)
        return sum(max(0, file.bytes - _size(folder / file.name)) for file in weight.files)

    def bring(self, weight: Weight, into: Path, progress: Progress) -> str:
        if weight.hub is None:
            raise NotHere  # declared so: nothing to tell
        if os.environ.get("HF_HUB_OFFLINE", "0").upper() in ("1", "ON", "YES", "TRUE"):
            raise NotHere("Hugging Face is not asked: HF_HUB_OFFLINE is set")
        if self._out_of_reach:
            raise NotHere(self._out_of_reach)
        folder = self._folder(weight.name, weight.hub)
        folder.mkdir(parents=True, exist_ok=True)
        with phase(progress, f"{weight.name} from Hugging Face", weight.file_bytes):
            before = 0
            for file in weight.files:
                self._grow(weight.hub, file, folder / file.name, before, progress)
                before += file.bytes
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

    def _grow(self, hub: Hub, file: WeightFile, to: Path, before: int, progress: Progress) -> None:
        """Fetch what is missing at the file's end; `before` bytes came before it."""
        for _ in range(ATTEMPTS):
            progress.at(before + _size(to))
            if _size(to) >= file.bytes:
                return
            with self._ask(hub, file, _size(to)) as answer, to.open("ab" if answer.status == 206 else "wb") as out:
                while block := _next_block(answer):
                    out.write(block)
                    progress.at(before + out.tell())
                    if out.tell() > file.bytes:
                        return  # not what was declared: the hash will tell
        if _size(to) < file.bytes:
            raise NotHere(f"Hugging Face broke off {ATTEMPTS} times in {file.in_hub}")

    def _ask(self, hub: Hub, file: WeightFile, start: int) -> HTTPResponse:
        base = self.endpoint or os.environ.get("HF_ENDPOINT") or "https://huggingface.co"
        url = f"{base.rstrip('/')}/{hub.repository}/resolve/{hub.revision}/{quote(file.in_hub)}"
        request = Request(
            url, headers={"User-Agent": "duplexcadence", **({"Range": f"bytes={start}-"} if start else {})}
        )
        try:
            answer: HTTPResponse = urlopen(request, timeout=self.patience_s)
        except HTTPError as error:
            error.close()
            raise NotHere(f"Hugging Face did not send {file.in_hub} (it answered {error.code})") from error
        except (OSError, HTTPException) as error:
            self._out_of_reach = f"Hugging Face cannot be reached ({getattr(error, 'reason', error)})"
            raise NotHere(self._out_of_reach) from error
        return answer


def _next_block(answer: HTTPResponse) -> bytes:
    """What has come; nothing at the end, or where the line broke off."""
    try:
        return answer.read1(BLOCK_BYTES)
    except (OSError, HTTPException):
        return b""


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0
