"""The cache: one folder a weight, made once, whole or not there at all.

`<root>/weights/<name>-<fingerprint>/` holds what the converter wrote and `weights.json`, its record: every file with
its size, its hash and the time of its last change. `<root>/downloads` outlives a stopped fetch, `<root>/scratch` does
not. A folder appears by one rename, so a reader needs no lock. Knows nothing of sources. Any thread may read; who
writes holds `fetching`'s lock.
"""

import json
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.errors import BadWeights, MissingWeights
from engine.models.weights.files import bytes_under, make_durable, sha256_of
from engine.models.weights.manifest import Manifest, Weight

RECORD = "weights.json"


@dataclass(frozen=True)
class Store:
    """A manifest's weights below one root folder.

    Args:
        manifest: What may be there.
        root: Where; it need not exist yet.
    """

    manifest: Manifest
    root: Path

    @property
    def downloads(self) -> Path:
        """What a stopped fetch leaves to resume from."""
        return self.root / "downloads"

    @property
    def scratch(self) -> Path:
        """What a fetch works in, and leaves empty."""
        return self.root / "scratch"

    def folder(self, weight: Weight) -> Path:
        """Where a weight is, or will be."""
        return self.root / "weights" / f"{weight.name}-{weight.fingerprint}"

    def locate(self, name: str) -> Path:
        """The folder of a weight; touches no network, and reads only files whose time is not the recorded one.

        Such a file, where it still holds what it should, is given its recorded time back: a copied cache is read once.

        Raises:
            MissingWeights: It is not there.
            BadWeights: Files of it are gone, or hold something else.
            AskedWrongly: There are no weights of that name.
        """
        weight = self.manifest.weight(name)
        for path, entry in self._files(weight):
            recorded_ns = entry.get("mtime_ns", 0)  # the first records have none
            if path.stat().st_mtime_ns != recorded_ns:
                _check(weight, path, entry)
                with suppress(OSError, TypeError):  # a cache that cannot be written is read each time
                    os.utime(path, ns=(recorded_ns, recorded_ns))
        return self.folder(weight)

    def verify(self, name: str) -> int:
        """Read every byte of a weight and compare its hash; returns how many bytes there are.

        Raises:
            MissingWeights, BadWeights, AskedWrongly: As `locate`, and where a hash differs.
        """
        weight, total = self.manifest.weight(name), 0
        for path, entry in self._files(weight):
            _check(weight, path, entry)
            total += entry["bytes"]
        return total

    def _files(self, weight: Weight) -> Iterator[tuple[Path, dict[str, Any]]]:
        folder = self.folder(weight)
        if not folder.is_dir():
            raise MissingWeights(f"the weights {weight.name} are not on this machine", "", _mend(weight))
        try:
            entries = json.loads((folder / RECORD).read_text(encoding="utf-8"))["files"]
            for entry in entries:
                path = folder / entry["name"]
                size = path.stat().st_size if path.is_file() else -1
                if size != entry["bytes"]:
                    came = f"holds {size} bytes" if size >= 0 else "is gone"
                    raise BadWeights(f"{weight.name}: {path.name} {came}", f"{entry['bytes']} bytes", _mend(weight))
                yield path, entry
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise BadWeights(f"{weight.name}: its record {RECORD} cannot be read", "", _mend(weight)) from error

    def install(self, weight: Weight, made: Path, source: str) -> None:
        """Put a converted folder in its place at once, with its record; a broken one there before goes.

        Args:
            weight: What it is.
            made: The folder, on the same disk as `root`; moved.
            source: Where its files came from, for the record.
        """
        entries = [
            {
                "name": path.relative_to(made).as_posix(),
                "bytes": path.stat().st_size,
                "mtime_ns": path.stat().st_mtime_ns,
                "sha256": sha256_of(path),
            }
            for path in sorted(made.rglob("*"))
            if path.is_file()
        ]
        if not entries:
            raise BadWeights(f"{weight.convert} wrote nothing for {weight.name}")
        record = {
            "weights": weight.name,
            "what": weight.what,
            "licence": weight.licence,
            "origin": weight.origin,
            "caveat": weight.caveat,
            "source": source,
            "from": {file.name: file.sha256 for file in weight.files},
            "converter": f"{weight.convert} {weight.convert_revision}",
            "files": entries,
        }
        (made / RECORD).write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
        make_durable(made)
        place = self.folder(weight)
        place.parent.mkdir(parents=True, exist_ok=True)
        if place.exists():
            place.rename(self.scratch / f"broken-{place.name}")
        made.rename(place)
        self._drop_older(weight)

    def _drop_older(self, weight: Weight) -> None:
        """Remove what an older manifest or converter made of the same weight."""
        ours = re.compile(rf"{re.escape(weight.name)}-[0-9a-f]{{12}}")
        for path in self.folder(weight).parent.iterdir():
            if ours.fullmatch(path.name) and path != self.folder(weight):
                shutil.rmtree(path, ignore_errors=True)

    def held_bytes(self, weight: Weight) -> int:
        """What the weight's folder takes on the disk now."""
        return bytes_under(self.folder(weight))


def _check(weight: Weight, path: Path, entry: dict[str, Any]) -> None:
    """Compare a file's hash with the recorded one."""
    if (found := sha256_of(path)) != entry["sha256"]:
        raise BadWeights(f"{weight.name}: {path.name} has sha256 {found}", entry["sha256"], _mend(weight))


def _mend(weight: Weight) -> str:
    return f"run: duplexcadence models fetch {weight.model}"
