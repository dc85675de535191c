"""A file that is written beside its place and takes it once it is whole. Knows nothing of what is in it; any thread."""

import glob
import os
from contextlib import suppress
from pathlib import Path

import psutil

from engine.errors import AskedWrongly


class PartFile:
    """`path` beside `place`, on the same disk; parts that died processes left there are removed.

    Args:
        wanted: Where the file is to appear; a link is followed, an older file stays until `finish`.

    Attributes:
        place: Where it will appear.
        path: Where to write until then.

    Raises:
        AskedWrongly: A folder, a device or a pipe is there, which no file may take the place of.
    """

    def __init__(self, wanted: Path) -> None:
        if os.path.exists(wanted) and not os.path.isfile(wanted):  # of pathlib's two, a long name makes some raise
            raise AskedWrongly(f"{wanted} cannot be written (it is no file)", "a file's name", "name another")
        self.place = Path(os.path.realpath(wanted))
        self.path = self.place.with_name(f".{self.place.name}.{os.getpid()}.part")
        self._sweep()

    def finish(self) -> None:
        """Take the place, whatever was there.

        Raises:
            OSError: The system refused.
        """
        os.replace(self.path, self.place)

    def drop(self) -> None:
        """Leave no part behind; after `finish`, none is."""
        with suppress(OSError):  # a folder that takes no file gives none up, and there was none
            self.path.unlink(missing_ok=True)

    def _sweep(self) -> None:
        for left in glob.glob(f".{glob.escape(self.place.name)}.*.part", root_dir=self.place.parent):
            process = left.split(".")[-2]
            if process.isdecimal() and not psutil.pid_exists(int(process)):
                with suppress(OSError):
                    (self.place.parent / left).unlink()
