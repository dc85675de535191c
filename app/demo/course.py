"""One runtime after the other, never two at once: each in a process of its own, watched through the log that it writes.

Whoever waits is told how far it is several times a second, and may call it off: what was held by then is kept. Entered
by one thread, which waits.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import psutil

from app.demo.files import log_path, reply_path
from app.demo.holding import Part, hold_rounds
from engine.errors import AskedWrongly
from engine.models.weights.child import in_child


@dataclass(frozen=True)
class Held:
    """A runtime's conversations.

    Args:
        runtime: Whose.
        logs: One a round that was held, the first in real time; slow runtimes have fewer.
        reply: What was heard of the agent in the first.
        others: Which share of all processors others used, round by round: what may have made it late.
    """

    runtime: str
    logs: tuple[Path, ...]
    reply: Path
    others: tuple[float, ...] = ()


@dataclass(frozen=True)
class Progress:
    """How far it is.

    Args:
        runtime: Which runs.
        number: Which of how many, from 0.
        runtimes: How many.
        round: Which round is held; 0 while the model loads.
        units: How many of its units are done.
        seconds: How long the runtime has been at it.
    """

    runtime: str
    number: int
    runtimes: int
    round: int
    units: int
    seconds: float


def hold_all(
    model: str,
    runtimes: Sequence[str],
    recording: Path,
    folder: Path,
    rounds: int,
    *,
    progress: Callable[[Progress], None],
    done: Callable[[Held], None] = lambda _: None,
    hold: Callable[..., None] = in_child,
) -> list[Held]:
    """Hold the conversation on every runtime.

    Args:
        model: A name from the registry.
        runtimes: In order; no two are equal.
        recording: The user's side.
        folder: Takes logs and replies; older ones of the same names go first.
        rounds: How often each holds it at most.
        progress: Called several times a second; what it raises ends the runtime that runs, and the course.
        done: Told of each runtime as it is done.
        hold: As `in_child`: runs a function over there, and looks on.

    Raises:
        AskedWrongly: There is nothing to hold, or one thing twice.
        CadenceError: As a runtime's process raised it.
    """
    if len(set(runtimes)) < len(runtimes) or not runtimes or rounds < 1:
        named = ", ".join(runtimes) or "no runtime"
        raise AskedWrongly(f"{rounds} rounds on {named}", "each runtime once, and a round at least")
    held = []
    for number, runtime in enumerate(runtimes):
        logs = tuple(log_path(folder, runtime, each) for each in range(1, rounds + 1))
        result = Held(runtime, logs, reply_path(folder, runtime))
        for old in (*logs, result.reply):
            old.unlink(missing_ok=True)
        watch = _Watch(runtime, number, len(runtimes), logs, progress)
        try:
            hold(hold_rounds, Part(model, runtime, recording, folder, rounds), tick=watch.look)
        except BaseException:
            for left in folder.glob(f".{runtime}*.part"):
                left.unlink(missing_ok=True)
            raise
        result = replace(result, logs=tuple(log for log in logs if log.exists()), others=watch.others())
        done(result)
        held.append(result)
    return held


class _Watch:
    """Reads off a runtime's logs how far it is, and from the system what else runs meanwhile."""

    def __init__(
        self, runtime: str, number: int, runtimes: int, logs: Sequence[Path], progress: Callable[[Progress], None]
    ) -> None:
        self._runtime, self._number, self._runtimes, self._logs = runtime, number, runtimes, logs
        self._progress = progress
        self._began_s = self._looked_s = time.monotonic()
        self._foreign_s = foreign_seconds()
        self._spent = {each: (0.0, 0.0) for each in range(len(logs) + 1)}  # by round: of others, and in all

    def look(self) -> None:
        """Tell how far it is."""
        begun = [log for log in self._logs if log.exists()]
        now_s, foreign_s = time.monotonic(), foreign_seconds()
        foreign, whole = self._spent[len(begun)]
        self._spent[len(begun)] = (foreign + foreign_s - self._foreign_s, whole + now_s - self._looked_s)
        self._looked_s, self._foreign_s = now_s, foreign_s
        units = 0
        if begun:
            with begun[-1].open("rb") as file:
                units = sum(line.startswith(b'{"type":"unit"') for line in file)
        told = Progress(self._runtime, self._number, self._runtimes, len(begun), units, now_s - self._began_s)
        self._progress(told)

    def others(self) -> tuple[float, ...]:
        """The share of the machine that others used, round by round; what was too short to see is none."""
        cores = psutil.cpu_count() or 1
        spent = [self._spent[number] for number in range(1, len(self._logs) + 1)]
        return tuple(min(1.0, max(0.0, foreign / (whole * cores))) if whole else 0.0 for foreign, whole in spent)


def foreign_seconds() -> float:
    """Processor seconds that all but this program and its children have used since the system began."""
    times = psutil.cpu_times()
    # A guest's time is counted in the user's too; what a host took from this machine (steal) counts as used.
    idle = times.idle + getattr(times, "iowait", 0.0) + getattr(times, "guest", 0.0) + getattr(times, "guest_nice", 0.0)
    process = psutil.Process()
    own = process.cpu_times()
    ours = own.user + own.system + getattr(own, "children_user", 0.0) + getattr(own, "children_system", 0.0)
    for child in process.children(recursive=True):
        with suppress(psutil.Error):  # it has just ended
            used = child.cpu_times()
            ours += used.user + used.system
    return float(sum(times) - idle - ours)
