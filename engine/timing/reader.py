"""Opens a timing log again, a line at a time, so that a day's log needs no more memory than a minute's.

A last line cut short (a crash, a full disk, a session still running) is let go and said; anything else that is not
schema 1 is refused with its line. Knows nothing of statistics. Enter from any thread.
"""

from codecs import BOM_UTF8
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import msgspec

from engine.errors import BadLog
from engine.plain_file import open_plain
from engine.timing.records import SCHEMA, AnyRecord, End, SessionHeader, UnitRecord

MAX_LINE_BYTES = 16 << 20  # a longer line is no line of ours, and must not fill the memory
REFUSED = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)  # what a line of another's may make of a decoder
NO_END = "the log has no end line: the session crashed or is still running"


class _Opening(msgspec.Struct):
    type: str
    schema: int


@dataclass(frozen=True)
class Log:
    """A timing log on disk: what its first and last lines say; the lines between are read as they are asked for.

    Args:
        path: The file.
        header: Line 1.
        end: The totals; None where the session did not close its log.
        cut_short: Whether the last line was not whole and is let go.
    """

    path: Path
    header: SessionHeader
    end: End | None
    cut_short: bool

    def records(self) -> Iterator[AnyRecord]:
        """Every record in order, the header first; each call reads the file anew.

        Raises:
            BadLog: A line is not schema 1; says which.
        """
        decoder = msgspec.json.Decoder(AnyRecord)
        with _open(self.path) as file:
            for number, line in enumerate(lines_of(file, self.path), start=1):
                if not line.strip():
                    continue
                try:
                    record = decoder.decode(line)
                except REFUSED as error:
                    if not line.endswith(b"\n"):
                        return
                    raise _bad_line(self.path, number, str(error)) from error
                if number > 1 and isinstance(record, SessionHeader):
                    raise _bad_line(self.path, number, "a second session begins here")
                yield record

    def units(self) -> Iterator[UnitRecord]:
        """The units in order; each call reads the file anew."""
        return (record for record in self.records() if isinstance(record, UnitRecord))

    @property
    def caveat(self) -> str:
        """What a reader of the figures must know about the file; empty where it is whole."""
        if self.cut_short:
            return "the log's last line was cut short and is left out"
        return "" if self.end else NO_END


def read_log(path: Path) -> Log:
    """Open a timing log.

    Raises:
        BadLog: It cannot be read, is no timing log, or is of a later schema.
    """
    with _open(path) as file:
        try:
            first = next(lines_of(file, path), b"")
            header = _header(path, first)
            last = _last_line(file, file.tell())
        except OSError as error:
            raise BadLog(f"{path} cannot be read ({error.strerror})") from error
    end, cut_short = None, False
    if last:
        try:
            record = msgspec.json.decode(last, type=AnyRecord)
            end = record if isinstance(record, End) else None
        except REFUSED:
            cut_short = not last.endswith(b"\n")  # a whole line that is wrong is refused where it is read
    return Log(path=path, header=header, end=end, cut_short=cut_short)


def _open(path: Path) -> BinaryIO:
    try:
        return open_plain(path)
    except OSError as error:
        raise BadLog(f"{path} cannot be opened ({error.strerror})", "a timing log (.jsonl)") from error


def lines_of(file: BinaryIO, path: Path) -> Iterator[bytes]:
    """Its lines, each with its end.

    Raises:
        BadLog: One is longer than any of ours.
    """
    number = 0
    while line := file.readline(MAX_LINE_BYTES + 1):
        number += 1
        if len(line) > MAX_LINE_BYTES:
            raise _bad_line(path, number, f"longer than {MAX_LINE_BYTES >> 20} MiB")
        yield line.removeprefix(BOM_UTF8) if number == 1 else line  # an editor on Windows may have put it there


def _header(path: Path, line: bytes) -> SessionHeader:
    if not line.strip():
        raise BadLog(f"{path} is empty", "a timing log (.jsonl)")
    try:
        opening = msgspec.json.decode(line, type=_Opening)
    except REFUSED as error:
        what = (
            "was cut short in its first line" if not line.endswith(b"\n") and line[:1] == b"{" else "is no timing log"
        )
        raise BadLog(f"{path} {what}", 'a first line of the type "session"') from error
    if opening.type != "session":
        raise BadLog(f"{path} begins with a line of the type {opening.type!r}", 'a first line of the type "session"')
    if opening.schema != SCHEMA:
        raise BadLog(
            f"{path} is of log schema {opening.schema}", f"schema {SCHEMA}", "a newer duplexcadence may read it"
        )
    try:
        return msgspec.json.decode(line, type=SessionHeader)
    except REFUSED as error:
        raise _bad_line(path, 1, str(error)) from error


def _last_line(file: BinaryIO, first_bytes: int) -> bytes:
    """The last line after the first that is not blank; empty where there is none, or none as short as ours are."""
    size = file.seek(0, 2)
    step = 64 << 10
    while True:
        begin = max(first_bytes, size - step)
        file.seek(begin)
        tail = file.read(size - begin)
        body = tail.rstrip()
        start = body.rfind(b"\n") + 1
        if start or begin == first_bytes:
            return tail[start:] if body else b""
        if step > MAX_LINE_BYTES:
            return b""
        step *= 4


def _bad_line(path: Path, number: int, why: str) -> BadLog:
    return BadLog(f"{path} line {number} is not of log schema {SCHEMA} ({why})", "a log as the session wrote it")
