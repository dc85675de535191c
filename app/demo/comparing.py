"""Runs the comparison on this computer: one recorded conversation on each runtime, one after the other, never two.

Each runs in a process of its own, which is ended within a tick where nobody wants it any more; what was held by then
is kept. Told as frozen states. Knows no window. Commands are entered by any thread and return at once.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import soundfile

from app.demo import course
from app.demo.candidates import ORDER
from app.demo.conversation import write_conversation
from app.demo.course import Held
from app.demo.files import CONVERSATION
from app.demo.making import busy
from app.live.loading import FetchProgress
from app.live.sessions import session_folder
from app.live.snapshot import Progress
from app.live.standing import Halted
from app.live.worker import ThreadWorker, Worker
from engine.errors import CadenceError, NoRoom
from engine.models import registry, weights
from engine.phrases import counted

LOADS = 0.25  # of a runtime's share of the bar
ANSWERS_S = 9.0  # after the last question


@dataclass(frozen=True)
class Comparing:
    """How it stands.

    Args:
        progress: How far it is; None where nothing runs.
        folder: What the last run has left; None where it has left nothing, or none was.
        held: How many runtimes it holds.
        message: What came of it, or went wrong; empty before one.
        beware: What may have made it late beside itself; empty where nothing did.
        number: Counts runs that have ended.
    """

    progress: Progress | None = None
    folder: Path | None = None
    held: int = 0
    message: str = ""
    beware: str = ""
    number: int = 0


class Course:
    """The comparison's runs.

    Args:
        runs: Their folder; it need not exist.
        worker: The thread that waits for it.
        hold_all: As `course.hold_all`.
        fetch: Brings a model's weights where they are not here.
    """

    def __init__(
        self,
        runs: Path,
        worker: Worker | None = None,
        hold_all: Callable[..., list[Held]] = course.hold_all,
        fetch: Callable[..., None] = weights.fetch,
    ) -> None:
        self.runs = runs
        self.state = Comparing()
        self._worker = worker or ThreadWorker("comparison")
        self._hold_all, self._fetch = hold_all, fetch
        self._lock = threading.Lock()
        self._halt = ""  # why it is to end

    def start(self, model: str) -> None:
        """Run it anew; nothing where it runs."""
        with self._lock:
            if self.state.progress is not None:
                return
            self._halt = ""
            self.state = replace(self.state, progress=Progress("getting ready"), message="", beware="")
        self._worker.post(lambda: self._run(model))

    def cancel(self, why: str = "Stopped") -> None:
        """End what runs."""
        if self.state.progress is not None:
            self._halt = why

    def close(self, within_s: float) -> None:
        """End what runs, and its thread."""
        self.cancel()
        self._worker.close(within_s)

    def _run(self, model: str) -> None:
        held: list[Held] = []
        message, kept = "an error in the program ended it", None
        try:
            entry = registry.find(model)
            entry.require_runs()
            self._fetch(weights.open_store().manifest.of_model(entry.name), progress=self._fetching())
            with session_folder(self.runs) as folder:
                kept = folder
                recording = folder / CONVERSATION
                try:
                    write_conversation(recording)
                    self._hold_all(
                        entry.name, ORDER, recording, folder, 1, progress=self._looking(recording), done=held.append
                    )
                finally:
                    if not held:
                        recording.unlink(missing_ok=True)  # so that an empty folder goes
            message = f"Done: {counted(len(held), 'runtime')}, one after the other"
        except Halted:
            left = f"kept: {', '.join(each.runtime for each in held)}" if held else "nothing was held yet"
            message = f"{self._halt}; {left}"
        except CadenceError as error:
            message = str(error)
        except OSError as error:
            message = str(NoRoom(f"the comparison cannot be written ({error.strerror})", "room on the disk"))
        finally:
            beware = "; ".join(busy([(each.runtime, each.others) for each in held]))
            last, number = kept if held else None, self.state.number + 1
            self.state = Comparing(None, last, len(held), message, beware, number)

    def _fetching(self) -> FetchProgress:
        return FetchProgress(lambda _, progress: self._tell(progress), self._check, time.monotonic)

    def _looking(self, recording: Path) -> Callable[[course.Progress], None]:
        seconds = soundfile.info(recording).duration + ANSWERS_S

        def look(now: course.Progress) -> None:
            self._check()
            share = LOADS + (1 - LOADS) * min(1.0, now.units / seconds) if now.round else LOADS * _fills(now.seconds)
            what = f"running {now.runtime}, {now.number + 1} of {now.runtimes}"
            detail = f"{counted(now.units, 'second')} held, in real time" if now.round else "loading"
            self._tell(Progress(what, (now.number + share) / now.runtimes, detail))

        return look

    def _check(self) -> None:
        if self._halt:
            raise Halted

    def _tell(self, progress: Progress) -> None:
        self._check()
        self.state = replace(self.state, progress=progress)


def _fills(seconds: float) -> float:
    """How much of a load is shown as done after so long: ever more slowly, for nobody knows."""
    return seconds / (seconds + 8.0)
