"""Takes a timing log away: CSV, a trace for Perfetto, a one-page picture. Each file appears whole or not at all."""

from collections.abc import Callable
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from engine.export.picture import write_picture
from engine.export.table import write_csv
from engine.export.trace import write_trace
from engine.timing import Log

__all__ = ["EXPORTS", "Export", "write_csv", "write_picture", "write_trace"]


class Export(NamedTuple):
    """A kind of export: how to write one, and what such a file's name usually ends in."""

    write: Callable[[Log, Path], None]
    ending: str


EXPORTS = MappingProxyType(
    {
        "csv": Export(write_csv, ".csv"),
        "trace": Export(write_trace, ".trace.json"),
        "picture": Export(write_picture, ".svg"),
    }
)
