"""Writes a session's timing log, a whole line at a time, as the session runs.

A crash loses at most the line at hand. A disk that fills up costs the log, not the conversation: the last whole line
stays, the loss is told once, and further lines are let go. So is a log that somebody removes or moves while it is
written: that is seen with the next line. Knows nothing of stages or clocks. Entered by the engine
thread; `close` by any, where that thread does not come to it in time.
"""

import json
import sys
import threading
from collections.abc import Callable
from io import FileIO
from pathlib import Path
from types import TracebackType
from typing import Self

from engine.errors import NoRoom
from engine.part_file import PartFile
from engine.plain_file import in_place
from engine.timing.privacy import scrubbed
from engine.timing.records import End, Record, SessionHeader, Transcript
from engine.timing.totals import Totals


def line_of(record: Record) -> bytes:
    """A record as the log's line, newline included.

    Raises:
        ValueError: A number in it is NaN or infinite, which no JSON reader takes.
    """
    plain = record.as_json()
    if not isinstance(record, Transcript):  # its text was asked for as it was spoken
        plain = scrubbed(plain)
    text = json.dumps(plain, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "replace") + b"\n"


class LogWriter:
    """The timing log of one session, open.

    As a context manager it closes with an `end` line that says whether the session finished, was stopped, or failed.

    Args:
        path: The file to write; one that exists is replaced once the first line is whole.
        header: Line 1.
        transcript: Whether the session's owner asked for transcript lines; without it they are not written.
        on_lost: Told once, where the disk stops taking lines; the session goes on.

    Attributes:
        lost: Why the log lacks its last lines; None as long as it took every line.

    Raises:
        AskedWrongly: What is at `path` is no file.
        NoRoom: The file cannot be opened or take its first line, or another session is writing it.
    """

    lost: NoRoom | None = None

    def __init__(
        self, path: Path, header: SessionHeader, *, transcript: bool = False, on_lost: Callable[[NoRoom], None]
    ) -> None:
        self.path = path
        self._transcript = transcript
        self._on_lost = on_lost
        self._totals = Totals()
        self._closed = False
        self._lock = threading.RLock()  # of the file and the totals
        first = line_of(header)
        self._kept_bytes = len(first)
        part = PartFile(path)
        try:
            self._file = _begun(part, first)
        except OSError as error:
            raise NoRoom(
                f"the timing log {path} cannot be begun ({error.strerror})",
                "a folder with room and leave to write",
                "name another",
            ) from error
        finally:
            part.drop()

    def write(self, record: Record) -> None:
        """Append one line, and count it in the totals.

        Raises:
            ValueError: A number in the record is NaN or infinite; nothing is written.
        """
        if isinstance(record, Transcript) and not self._transcript:
            return
        line = line_of(record)
        with self._lock:
            self._totals.add(record)
            if self._file.closed:
                return
            try:
                self._append(line)
            except OSError as error:
                self._lose(error)
            if self.lost is None and not in_place(self.path, self._file.fileno()):
                self._tell_lost("is not in its place any more: it was removed or moved", "its folder left alone")

    def close(self, reason: str = "finished") -> None:
        """Write the `end` line, once, and close the file."""
        with self._lock:
            if self._closed:
                return
            self.write(self._totals.end(reason))
            self._closed = True
            self._file.close()

    @property
    def totals(self) -> End:
        """The totals so far, as the `end` line would state them."""
        return self._totals.end("finished")

    def _append(self, line: bytes) -> None:
        _write_whole(self._file, line)
        self._kept_bytes += len(line)

    def _lose(self, error: OSError) -> None:
        try:
            self._file.truncate(self._kept_bytes)  # no half line stays behind
        except OSError:
            pass  # the reader lets go of a last line that was cut short
        finally:
            self._file.close()
        self._tell_lost(f"takes no more lines ({error.strerror}) and is cut short", "room on its disk")

    def _tell_lost(self, why: str, needed: str) -> None:
        self.lost = NoRoom(f"the timing log {self.path} {why}", needed, "the session goes on without a log")
        self._on_lost(self.lost)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        elif issubclass(kind, KeyboardInterrupt):
            self.close("stopped")
        else:
            self.close(f"failed: {kind.__name__}: {error}")


def _begun(part: PartFile, first: bytes) -> FileIO:
    """A log in its place, its first line in it and no other session's; an older one stays until that line is whole."""
    with part.path.open("wb", buffering=0) as file:
        _write_whole(file, first)
    if part.place.exists() and sys.platform != "win32":  # where Windows would not replace an open file in any case
        with part.place.open("rb") as older:
            _lock(older.fileno())
    part.finish()
    file = part.place.open("ab", buffering=0)  # every line reaches the system as it is written
    try:
        _lock(file.fileno())
    except OSError:
        file.close()
        raise
    return file


def _lock(descriptor: int) -> None:
    """Hold an open file until it is closed.

    Raises:
        OSError: Another session holds it.
    """
    if sys.platform == "win32":
        return
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise OSError(error.errno, "another session is writing it") from None
    except OSError:
        pass  # a file system without locks


def _write_whole(file: FileIO, line: bytes) -> None:
    rest = memoryview(line)
    while rest:  # a raw write may take a part of the line, and then fail
        rest = rest[file.write(rest) :]
