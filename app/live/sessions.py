"""The conversations that were held: a folder each, among the user's data, with its timing log and what else it left.

A list of them is read from their logs, fast enough for hundreds, and whatever state a crash, or somebody else, left
those in. A session that is held has its folder for itself, by a lock that ends with its process: no other window or
program removes what is still written. Knows no model and no window. Any thread but [ui]: a disk may be slow.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from pathlib import Path
from statistics import median

import msgspec
import platformdirs
from filelock import FileLock, Timeout

from engine.errors import AskedWrongly, BadLog, NoRoom
from engine.export import write_csv, write_picture, write_trace
from engine.plain_file import open_plain
from engine.timing import End, Log, SessionHeader
from engine.timing.parts import Nanoseconds, SignedMilliseconds
from engine.timing.reader import NO_END, REFUSED, lines_of, read_log

LOG, RECORDING = "session.jsonl", "recording.wav"
HELD = "held.lock"  # locked while the session's process holds it; a crash leaves the file, and not the lock
LOCK_S = 1.0  # that whoever looks at a fresh lock may keep it

FOLDERS = "%Y-%m-%d %H-%M-%S.%f"  # how they are named

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
        caveat: What a reader must know: that it crashed, or goes on; empty where all is whole.
        held: Whether it goes on, in this program or another.
        damage: Why its log cannot be read; empty where it can. Figures are zero then.
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
    held: bool = False
    damage: str = ""


def sessions_path() -> Path:
    """Where each system keeps a user's data."""
    return platformdirs.user_data_path("duplexcadence", appauthor=False) / "sessions"


@contextmanager
def session_folder(sessions: Path, let_go: Callable[[Path], None] = lambda log: None) -> Iterator[Path]:
    """A fresh folder for a session's files, held as long as the block lasts; it goes again where nothing came to be.

    Args:
        sessions: The folder of all sessions.
        let_go: Told of a log that goes with it.

    Raises:
        NoRoom: It cannot be made.
    """
    folder = sessions / datetime.now().strftime(FOLDERS)
    try:
        folder.mkdir(parents=True)
        lock = FileLock(folder / HELD)
        lock.acquire(timeout=LOCK_S)
    except OSError as error:  # filelock's Timeout too
        with suppress(OSError):
            folder.rmdir()
        raise NoRoom(
            f"{folder} cannot be made ({error.strerror})", "a place for the session's files", "set XDG_DATA_HOME to one"
        ) from None
    try:
        yield folder
    finally:
        lock.release()
        with suppress(OSError):  # whoever removed the folder has removed it too
            (folder / HELD).unlink()
        if came_to_nothing(folder / LOG):
            for name in (LOG, RECORDING):
                (folder / name).unlink(missing_ok=True)
            let_go(folder / LOG)
        with suppress(OSError):  # it is not empty
            folder.rmdir()


def came_to_nothing(log: Path) -> bool:
    """Whether a session was stopped before anything of it was written: its log is a first and a last line."""
    try:
        first, last, *more = islice(read_log(log).records(), 3)
    except (BadLog, ValueError):  # there is none, or fewer lines
        return False
    return isinstance(first, SessionHeader) and isinstance(last, End) and last.reason == "stopped" and not more


def is_held(folder: Path) -> bool:
    """Whether somebody holds the session in a folder right now."""
    if not (folder / HELD).is_file():
        return False
    lock = FileLock(folder / HELD)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return True
    except OSError:
        return False  # gone, or none of ours to lock, nor to remove
    lock.release()
    return False


class Sessions:
    """All of them.

    Args:
        folder: Where they are; it need not exist.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._read: dict[Path, tuple[tuple[int, int], PastSession]] = {}  # by log, as of its time and size

    def list(self) -> list[PastSession]:
        """The newest first, with those whose logs cannot be read: they are there to be removed."""
        found = []
        with suppress(OSError):  # no session yet, or a folder that may not be read
            for folder in self.folder.iterdir():
                if any(os.path.lexists(folder / name) for name in (LOG, RECORDING)):
                    with suppress(FileNotFoundError):  # it went meanwhile
                        found.append(self._session(folder))
        self._read = {session.log: self._read[session.log] for session in found if session.log in self._read}
        return sorted(found, key=lambda session: session.folder.name, reverse=True)

    def delete(self, session: PastSession) -> None:
        """Remove a session's folder with all its files.

        Raises:
            AskedWrongly: It is none of ours, or goes on.
            NoRoom: The system refuses.
        """
        if session.folder.parent != self.folder or session.folder.is_symlink():
            raise AskedWrongly(f"{session.folder} is no session of this program", "one of its list")
        if is_held(session.folder):
            raise AskedWrongly("this session goes on, here or in another window", "one that is over", "stop it first")
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
        try:
            stat = path.stat()
            as_of = (stat.st_mtime_ns, stat.st_size)
            known = self._read.get(path)
            if known is None or known[0] != as_of:
                known = self._read[path] = (as_of, summary(folder, path))
            session = known[1]
        except OSError as error:
            session = _damaged(folder, path, f"cannot be read ({error.strerror})")
        except BadLog as error:
            session = _damaged(folder, path, error.came.removeprefix(f"{path} "))
        if is_held(folder):
            return replace(session, held=True, caveat="it goes on")
        return replace(session, caveat="the session crashed") if session.caveat == NO_END else session


class _Line(msgspec.Struct):
    """What a list needs of a line; the rest is let pass."""

    type: str
    slack_ms: SignedMilliseconds = 0.0
    overrun: bool = False
    deadline_ns: Nanoseconds = 0


def summary(folder: Path, path: Path) -> PastSession:
    """What a list tells of a log; a recording is looked for in its folder.

    Raises:
        BadLog: It is no timing log.
        OSError: It has gone meanwhile.
    """
    log = read_log(path)
    slacks, overruns, ended_ns = [], 0, 0
    decoder = msgspec.json.Decoder(_Line)
    with open_plain(path) as file:
        for text in lines_of(file, path):
            try:
                line = decoder.decode(text)
            except REFUSED:
                continue  # cut short, or damaged: the log's own reader says so where it is opened
            if line.type == "unit":
                slacks.append(line.slack_ms)
                overruns += line.overrun
                ended_ns = max(ended_ns, line.deadline_ns)
    try:
        began = datetime.fromisoformat(log.header.wall_clock).astimezone()
    except (ValueError, OverflowError, OSError):  # what a system's calendar does not reach is three errors
        raise BadLog(f"{path} does not say when it began", "a wall_clock as ISO 8601 writes it") from None
    return PastSession(
        folder=folder,
        log=path,
        recording=_recording(folder),
        began=began,
        model=log.header.model,
        runtime=log.header.runtime,
        seconds=ended_ns / 1e9,
        units=len(slacks),
        overruns=overruns,
        median_slack_ms=median(slacks) if slacks else None,
        caveat=log.caveat,
    )


def _damaged(folder: Path, path: Path, why: str) -> PastSession:
    """A session of which no more is known than that it is there."""
    try:
        began = datetime.strptime(folder.name, FOLDERS).astimezone()
    except (ValueError, OverflowError, OSError):
        began = datetime.fromtimestamp(folder.stat().st_mtime).astimezone()
    return PastSession(
        folder=folder,
        log=path,
        recording=_recording(folder),
        began=began,
        model="",
        runtime="",
        seconds=0.0,
        units=0,
        overruns=0,
        median_slack_ms=None,
        caveat=f"damaged: its log {why}",
        damage=why,
    )


def _recording(folder: Path) -> Path | None:
    path = folder / RECORDING
    return path if path.is_file() else None
