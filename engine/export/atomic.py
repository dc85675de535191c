"""Writes a file wholly or not at all. Knows nothing of what is in it; any thread."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from engine.errors import NoRoom


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Yields a path beside `path` to write to; it takes `path`'s place when the block ends well, and goes when not.

    Raises:
        NoRoom: The system refused to write.
    """
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        yield part
        os.replace(part, path)
    except OSError as error:
        raise NoRoom(
            f"{path} cannot be written ({error.strerror or error})",
            "a folder with room and leave to write",
            "name another",
        ) from error
    finally:
        part.unlink(missing_ok=True)
