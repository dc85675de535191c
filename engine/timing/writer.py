"""Writes a session's timing log, a whole line at a time, as the session runs.

A crash loses at most the line at hand. A disk that fills up costs the log, not the conversation: the last whole line
stays, the loss is told once, and further lines are let go. Knows nothing of stages or clocks. Entered by the engine
thread alone.
"""

import json
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

from engine.errors import NoRoom
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
        path: The file to write; one that exists is replaced.
        header: Line 1.
        transcript: Whether the session's owner asked for transcript lines; without it they are not written.
        on_lost: Told once, where the disk stops taking lines; the session goes on.

    Raises:
        NoRoom: The file cannot be opened or take its first line.
    """

    def __init__(
        self, path: Path, header: SessionHeader, *, transcript: bool = False, on_lost: Callable[[NoRoom], None]
    ) -> None:
        self.path = path
        self._transcript = transcript
        self._on_lost = on_lost
        self._totals = Totals()
        self._kept_bytes = 0
        self._closed = False
        first = line_of(header)
        try:
            self._file = path.open("wb", buffering=0)  # every line reaches the system as it is written
        except OSError as error:
            raise NoRoom(
                f"the timing log {path} cannot be opened ({error.strerror})", "a folder to write to", "name another"
            ) from error
        try:
            self._append(first)
        except OSError as error:
            self._file.close()
            if path.is_file():  # and not a device
                path.unlink()
            raise NoRoom(
                f"the timing log {path} took no line ({error.strerror})",
                "room on its disk",
                "free some or name another",
            ) from error

    def write(self, record: Record) -> None:
        """Append one line, and count it in the totals.

        Raises:
            ValueError: A number in the record is NaN or infinite; nothing is written.
        """
        if isinstance(record, Transcript) and not self._transcript:
            return
        line = line_of(record)
        self._totals.add(record)
        if self._file.closed:
            return
        try:
            self._append(line)
        except OSError as error:
            self._lose(error)

    def close(self, reason: str = "finished") -> None:
        """Write the `end` line, once, and close the file."""
        if self._closed:
            return
        self._closed = True
        self.write(self._totals.end(reason))
        self._file.close()

    @property
    def totals(self) -> End:
        """The totals so far, as the `end` line would state them."""
        return self._totals.end("finished")

    def _append(self, line: bytes) -> None:
        rest = memoryview(line)
        while rest:  # a raw write may take a part of the line, and then fail
            rest = rest[self._file.write(rest) :]
        self._kept_bytes += len(line)

    def _lose(self, error: OSError) -> None:
        try:
            self._file.truncate(self._kept_bytes)  # no half line stays behind
        except OSError:
            pass  # the reader lets go of a last line that was cut short
        finally:
            self._file.close()
        self._on_lost(
            NoRoom(
                f"the timing log {self.path} takes no more lines ({error.strerror})",
                "room on its disk",
                "the session goes on without a log",
            )
        )

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
