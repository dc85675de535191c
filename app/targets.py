"""Where a command's files are to land, looked at before any work is done. Any thread."""

import os
from collections.abc import Mapping
from pathlib import Path

from engine.errors import AskedWrongly, NoRoom
from engine.part_file import PartFile


def check_targets(inputs: Mapping[str, Path], outputs: Mapping[str, Path | None]) -> None:
    """Make sure that each output can be written, and that none takes another's place or an input's.

    Args:
        inputs: What is read, by what it is called.
        outputs: What will be written, by its option; None where it was not asked for.

    Raises:
        AskedWrongly: Two are one file; or a folder is missing, or something else than a file is in the way.
        NoRoom: A folder takes no file of that name.
    """
    named = dict(inputs)
    for option, path in outputs.items():
        if path is None:
            continue
        for other, taken in named.items():
            if _same(path, taken):
                raise AskedWrongly(f"{option} {path} and {other} are one file", "a file for each", "name another")
        if not os.path.isdir(path.parent):
            raise AskedWrongly(f"{option} {path}", "a file in a folder that exists", "name another, or make the folder")
        part = PartFile(path)
        try:
            part.path.open("wb").close()
        except OSError as error:
            raise NoRoom(
                f"{option} {path} cannot be written ({error.strerror})",
                "a folder with leave to write, and a name it takes",
                "name another",
            ) from None
        finally:
            part.drop()
        named[option] = path


def check_ending(option: str, path: Path, endings: tuple[str, ...]) -> None:
    """Make sure that a name says what the file becomes.

    Raises:
        AskedWrongly: It ends otherwise.
    """
    if not path.name.lower().endswith(endings):
        raise AskedWrongly(f"{option} {path}", f"a name that ends in {' or '.join(endings)}", "name it so")


def _same(one: Path, other: Path) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:  # one is not there yet
        return os.path.realpath(one) == os.path.realpath(other)
