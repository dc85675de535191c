"""A safetensors file's header: what it holds, and whether the file is whole, without reading a byte of a tensor.

Nothing is believed before it is checked: the header's length, its JSON, every type, shape and place. No torch. Any
thread may enter.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

from engine.errors import BadWeights
from engine.phrases import readable

ITEM_BYTES = {
    **{"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "F8_E4M3": 1, "F8_E5M2": 1, "I64": 8, "I32": 4, "I16": 2, "I8": 1},
    **{"U64": 8, "U32": 4, "U16": 2, "U8": 1, "BOOL": 1},
}
_LENGTH_BYTES, _LONGEST_HEADER = 8, 100_000_000  # the format's own bound
_AGAIN = "download it again"


@dataclass(frozen=True)
class Stored:
    """A tensor as a file holds it.

    Args:
        dtype: As the format names it: "BF16".
        shape: Its shape.
        start: Where in the file its first byte is.
    """

    dtype: str
    shape: tuple[int, ...]
    start: int

    @property
    def elements(self) -> int:
        """How many."""
        return prod(self.shape)

    @property
    def bytes(self) -> int:
        """What it takes in the file."""
        return self.elements * ITEM_BYTES[self.dtype]


def read_header(path: Path) -> dict[str, Stored]:
    """Every tensor of a file, by name.

    Raises:
        BadWeights: It is no safetensors file, or not a whole one.
    """
    try:
        size = path.stat().st_size
        with path.open("rb") as stream:
            length = int.from_bytes(stream.read(_LENGTH_BYTES), "little")
            if not 2 <= length <= min(_LONGEST_HEADER, size - _LENGTH_BYTES):
                raise _Unlike(f"tells of a header of {length} bytes, in {readable(size)}")
            entries = json.loads(stream.read(length).decode("utf-8"), object_pairs_hook=_once)
        if not isinstance(entries, dict):
            raise _Unlike("has a header that is no table")
        entries.pop("__metadata__", None)
        places = {name: _place(name, entry, _LENGTH_BYTES + length) for name, entry in entries.items()}
    except (OSError, ValueError, RecursionError) as error:
        raise BadWeights(f"{path.name} cannot be read: {error}", "a whole safetensors file", _AGAIN) from error
    except _Unlike as unlike:
        raise BadWeights(f"{path.name} {unlike}", "a whole safetensors file", _AGAIN) from unlike
    whole = max((stored.start + stored.bytes for stored in places.values()), default=_LENGTH_BYTES + length)
    if size != whole:
        reason = f"ends after {readable(size)}" if size < whole else f"holds {readable(size)}"
        raise BadWeights(f"{path.name} {reason}", f"{readable(whole)}, as its header tells", _AGAIN)
    return places


class _Unlike(Exception):
    """What is wrong, in words that follow the file's name."""


def _once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) < len(pairs):
        raise _Unlike("names a tensor twice")
    return table


def _place(name: str, entry: Any, after: int) -> Stored:
    try:
        dtype, shape, (start, end) = entry["dtype"], entry["shape"], entry["data_offsets"]
    except (TypeError, KeyError, ValueError) as error:
        raise _Unlike(f"does not tell type, shape and place of {name}") from error
    if not isinstance(shape, list) or not all(type(each) is int and each >= 0 for each in (*shape, start, end)):
        raise _Unlike(f"gives {name} a shape or place that is none")
    if dtype not in ITEM_BYTES:
        raise _Unlike(f"holds {name} as {dtype}, which is unknown")
    stored = Stored(dtype, tuple(shape), after + start)
    if end - start != stored.bytes:
        raise _Unlike(f"gives {name} {end - start} bytes for {stored.bytes}")
    return stored
