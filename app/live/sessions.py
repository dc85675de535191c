"""The conversations that were held: a folder each, among the user's data, with its timing log and what else it left.

A list of them is read from their logs, fast enough for hundreds, and whatever state a crash left those in. Knows no
model and no window. Any thread but [ui]: a disk may be slow.
"""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from statistics import median

import msgspec
import platformdirs

from engine.errors import AskedWrongly, BadLog, NoRoom
from engine.export import write_csv, write_picture, write_trace
from engine.timing import Log
from engine.timing.reader import read_log

LOG, RECORDING = "session.jsonl", "recording.wav"

# What a session can be taken away as: who writes it, and its usual ending.
EXPORTS: dict[str, tuple[Callable[[Log, Path], None] | None, str]] = {
    "jsonl": (None, ".jsonl"),
    "csv": (write_csv, ".csv"),
    "trace": (write_trace, ".trace.json"),
    "picture": (write_picture, ".png"),
}


@dataclass(frozen=True)
class PastSession:
    """A conversation that was held.

    Args:
        folder: Its files.
        log: Its timing log.
        recording: Both sides, where they were recorded.
        began: When.
        model: With which model.
        runtime: Whose stages ran.
        seconds: How long it lasted, by its units.
        units: How many units ran.
        overruns: How many of them were late.
        median_slack_ms: The median of what they left; None without a unit.
        caveat: What a reader must know: that it crashed, or still runs; empty where all is whole.
    """

    folder: Path
    log: Path
    recording: Path | None
    began: datetime
    model: str
    runtime: str
    seconds: float
    units: int
    overruns: int
    median_slack_ms: float | None
    caveat: str = ""


def sessions_path() -> Path:
    """Where each system keeps a user's data."""
    return platformdirs.user_data_path("duplexcadence", appauthor=False) / "sessions"


@contextmanager
def session_folder(sessions: Path) -> Iterator[Path]:
    """A fresh folder for a session's files; it goes again where none came to be.

    Raises:
        NoRoom: It cannot be made.
    """
    folder = sessions / datetime.now().strftime("%Y-%m-%d %H-%M-%S.%f")
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise NoRoom(
            f"{folder} cannot be made ({error.strerror})", "a place for the session's files", "set XDG_DATA_HOME to one"
        ) from None
    try:
        yield folder
    finally:
        with suppress(OSError):  # it is not empty
            folder.rmdir()


class Sessions:
    """All of them.

    Args:
        folder: Where they are; it need not exist.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._read: dict[Path, tuple[tuple[int, int], PastSession]] = {}  # by log, as of its time and size

    def list(self) -> list[PastSession]:
        """The newest first; folders without a log that can be read are left out."""
        found = []
        with suppress(OSError):  # no session yet, or a folder that may not be read
            for folder in self.folder.iterdir():
                with suppress(OSError, BadLog, ValueError):
                    found.append(self._session(folder))
        self._read = {session.log: self._read[session.log] for session in found}
        return sorted(found, key=lambda session: session.folder.name, reverse=True)

    def delete(self, session: PastSession) -> None:
        """Remove a session's folder with all its files.

        Raises:
            AskedWrongly: It is none of ours.
            NoRoom: The system refuses.
        """
        if session.folder.parent != self.folder or session.folder.is_symlink():
            raise AskedWrongly(f"{session.folder} is no session of this program", "one of its list")
        try:
            shutil.rmtree(session.folder)
        except FileNotFoundError:
            pass  # somebody else was faster
        except OSError as error:
            raise NoRoom(f"{session.folder} cannot be removed ({error.strerror})", "leave to remove it") from None

    def export(self, session: PastSession, kind: str, to: Path) -> None:
        """Take a session away.

        Args:
            session: Which one.
            kind: One of `EXPORTS`.
            to: The file; an older one is replaced.

        Raises:
            BadLog: Its log cannot be read.
            NoRoom: The file cannot be written.
        """
        log, write = read_log(session.log), EXPORTS[kind][0]
        if write is not None:
            write(log, to)
            return
        try:
            shutil.copyfile(session.log, to)
        except shutil.SameFileError:
            pass  # it is there already
        except OSError as error:
            raise NoRoom(
                f"{to} cannot be written ({error.strerror})", "a folder with room and leave to write"
            ) from None

    def _session(self, folder: Path) -> PastSession:
        path = folder / LOG
        stat = path.stat()
        as_of = (stat.st_mtime_ns, stat.st_size)
        known = self._read.get(path)
        if known is None or known[0] != as_of:
            known = self._read[path] = (as_of, summary(folder, path))
        return known[1]


class _Line(msgspec.Struct):
    """What a list needs of a line; the rest is let pass."""

    type: str
    slack_ms: float = 0.0
    overrun: bool = False
    deadline_ns: int = 0


def summary(folder: Path, path: Path) -> PastSession:
    """What a list tells of a log; a recording is looked for in its folder.

    Raises:
        BadLog: It is no timing log.
    """
    log = read_log(path)
    slacks, overruns, ended_ns = [], 0, 0
    decoder = msgspec.json.Decoder(_Line)
    with path.open("rb") as file:
        for text in file:
            try:
                line = decoder.decode(text)
            except msgspec.MsgspecError:
                continue  # cut short, or damaged: the log's own reader says so where it is opened
            if line.type == "unit":
                slacks.append(line.slack_ms)
                overruns += line.overrun
                ended_ns = max(ended_ns, line.deadline_ns)
    recording = folder / RECORDING
    return PastSession(
        folder=folder,
        log=path,
        recording=recording if recording.is_file() else None,
        began=datetime.fromisoformat(log.header.wall_clock),
        model=log.header.model,
        runtime=log.header.runtime,
        seconds=ended_ns / 1e9,
        units=len(slacks),
        overruns=overruns,
        median_slack_ms=median(slacks) if slacks else None,
        caveat=log.caveat,
    )
