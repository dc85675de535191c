"""Made-up weights: a wheel that pip accepts, its manifest entry, and a progress that remembers."""

import base64
import hashlib
import zipfile
from dataclasses import replace
from pathlib import Path

from engine.models.weights.manifest import Manifest, Weight, WeightFile, Wheel
from engine.models.weights.store import Store

CONTENT = {"model.bin": bytes(range(256)) * 40, "config.json": b'{"width": 384}\n'}


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def make_wheel(folder: Path, package: str = "made-up-weights", content: dict[str, bytes] = CONTENT) -> Wheel:
    """Write a wheel whose folder `data/` holds `content`."""
    name = package.replace("-", "_")
    info = f"{name}-1.0.dist-info"
    members = {f"{name}/data/{file}": data for file, data in content.items()}
    members[f"{info}/METADATA"] = f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n".encode()
    members[f"{info}/WHEEL"] = b"Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    record = [f"{path},sha256={_urlsafe(data)},{len(data)}" for path, data in members.items()]
    members[f"{info}/RECORD"] = "\n".join([*record, f"{info}/RECORD,,", ""]).encode()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, data in members.items():
            archive.writestr(member, data)
    whole = path.read_bytes()
    return Wheel("PyPI", package, "1.0", path.name, len(whole), sha256(whole))


def make_weight(wheel: Wheel, name: str = "tiny", content: dict[str, bytes] = CONTENT) -> Weight:
    """The manifest entry of a made-up wheel."""
    folder = wheel.package.replace("-", "_") + "/data"
    files = tuple(WeightFile(file, len(data), sha256(data), f"{folder}/{file}") for file, data in content.items())
    return Weight(
        name=name,
        model="toy",
        what="made up",
        licence="CC0-1.0",
        origin="https://example.org/tiny",
        convert="engine.models.weights.convert_copy",
        convert_revision=1,
        converted_bytes=100_000,
        files=files,
        wheel=wheel,
    )


def ordering(weight: Weight, order: str, shelf: Path) -> Weight:
    """The same weight, its wheel made anew with an order for `made_up_converter` inside."""
    content = {"order.txt": order.encode()}
    wheel = make_wheel(shelf, weight.wheel.package, content)
    ordered = make_weight(wheel, weight.name, content)
    return replace(ordered, convert="tests.models.weights.made_up_converter")


def store_of(root: Path, *weights: Weight) -> Store:
    return Store(Manifest({weight.name: weight for weight in weights}), root)


class Heard:
    """Remembers what a fetch told, in order."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def say(self, line: str) -> None:
        self.told.append(f"say {line}")

    def begin(self, what: str, total_bytes: int | None = None) -> None:
        self.told.append(f"begin {what}")

    def at(self, done_bytes: int) -> None:
        self.told.append(f"at {done_bytes}")

    def end(self) -> None:
        self.told.append("end")


def _urlsafe(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def left_in(root: Path) -> set[str]:
    """Every file below a folder, but for the lock."""
    return {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()} - {"fetch.lock"}
