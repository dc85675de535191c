"""Writes a file wholly or not at all. Knows nothing of what is in it; any thread."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from engine.errors import NoRoom
from engine.part_file import PartFile


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Yields a path beside `path` to write to; it takes `path`'s place when the block ends well, and goes when not.

    Raises:
        AskedWrongly: What is at `path` is no file.
        NoRoom: The system refused to write.
    """
    part = PartFile(path)
    try:
        yield part.path
        part.finish()
    except OSError as error:
        raise NoRoom(
            f"{path} cannot be written ({error.strerror or error})",
            "a folder with room and leave to write",
            "name another",
        ) from error
    finally:
        part.drop()
