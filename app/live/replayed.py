"""A session's log as the snapshots that its watchers saw: at any moment of it, and played at any pace.

The unit under way is told from its record: which stages were done by then, and which was running. Knows no window and
no device. Reading the log takes a disk's time (any thread but [ui]); what is read is held, and told by any thread.
"""

from bisect import bisect_right
from collections.abc import Iterable
from copy import deepcopy
from dataclasses import dataclass

from app.live.board import SHOWN_FAULTS, paths_of
from app.live.snapshot import SHOWN_LINES, SHOWN_UNITS, Line, Phase, Running, Snapshot
from engine.cadence import Statistics, Tally
from engine.cadence.rows import SHORT_UNIT_NS
from engine.clock import NS, Clock
from engine.timing import AnyRecord, Fault, Log, SessionHeader, Transcript, UnitRecord

MARKS = 16  # of the session's figures: going back counts from the mark before, 10 ms for ten hours
LEAST_UNITS = 256  # from mark to mark


@dataclass(frozen=True)
class _Told:
    """What stays the same from one unit's finish to the next one's."""

    done: int
    units: tuple[UnitRecord, ...]
    figures: Statistics | None
    lines: tuple[Line, ...]
    faults: tuple[Fault, ...]
    paths: dict[str, int]


class Replayed:
    """A log, held to be looked at.

    Args:
        log: Read at once, and whole.

    Attributes:
        header: The log's first line.
        duration_ns: When the last unit was done, or due.

    Raises:
        BadLog: A line is not schema 1.
    """

    def __init__(self, log: Log) -> None:
        self.header: SessionHeader = log.header
        self._units: list[UnitRecord] = []
        self._lines: list[tuple[int, Line]] = []  # with when they were told
        self._faults: list[tuple[int, Fault]] = []
        self._read(log.records())
        self._finishes = [unit.finish_ns for unit in self._units]
        self.duration_ns = max((max(unit.finish_ns, unit.deadline_ns) for unit in self._units), default=0)
        self._step = max(LEAST_UNITS, -(-len(self._units) // MARKS))
        self._tally, self._tallied = Tally(), 0
        self._marks = [deepcopy(self._tally)]  # after so many steps
        for done in range(self._step, len(self._units) + 1, self._step):
            self._count(done)
            self._marks.append(deepcopy(self._tally))
        self._told = _Told(0, (), None, (), (), {})

    def at(self, now_ns: int) -> Snapshot:
        """The snapshot of a moment.

        Args:
            now_ns: Since the session's start.
        """
        done = bisect_right(self._finishes, now_ns)
        if done != self._told.done:
            self._told = self._tell(done)
        told, over = self._told, now_ns >= self.duration_ns
        return Snapshot(
            phase=Phase.IDLE if over else Phase.TALKING,
            now_ns=now_ns,
            header=self.header,
            units=told.units,
            figures=told.figures,
            running=None if over else self._running(done, now_ns),
            lines=told.lines,
            faults=tuple(fault for at_ns, fault in self._faults if at_ns <= now_ns)[-SHOWN_FAULTS:],
            paths=told.paths,
        )

    def _read(self, records: Iterable[AnyRecord]) -> None:
        for record in records:
            match record:
                case UnitRecord():
                    self._units.append(record)
                case Fault():
                    self._faults.append((record.at_ns, record))
                case Transcript():
                    line = Line(len(self._lines), record.index, record.who, record.kind, record.text)
                    self._lines.append((record.index, line))
                case _:
                    pass

    def _tell(self, done: int) -> _Told:
        """What is known once so many units are done."""
        mark = done // self._step
        if not mark * self._step <= self._tallied <= done:
            self._tally, self._tallied = deepcopy(self._marks[mark]), mark * self._step
        self._count(done)
        if not done:
            return _Told(0, (), None, (), (), {})
        figures = self._tally.statistics()
        last = self._units[done - 1]
        lines = tuple(line for index, line in self._lines if index <= last.index)[-SHOWN_LINES:]
        return _Told(done, tuple(self._units[self._first_shown(done) : done]), figures, lines, (), paths_of(figures))

    def _count(self, done: int) -> None:
        for unit in self._units[self._tallied : done]:
            self._tally.add(unit)
        self._tallied = done

    def _first_shown(self, done: int) -> int:
        """So many units are shown as a live session shows; of short ones, as many as make so many seconds."""
        first, last = max(0, done - SHOWN_UNITS), self._units[done - 1]
        if last.deadline_ns - last.arrival_ns < SHORT_UNIT_NS:
            while first and self._units[first].arrival_ns > last.arrival_ns - SHOWN_UNITS * NS:
                first -= 1
        return first

    def _running(self, done: int, now_ns: int) -> Running | None:
        """The first unit that is not done yet."""
        if done == len(self._units):
            return None
        unit = self._units[done]
        begun = now_ns >= unit.start_ns
        stages: dict[str, float] = {}
        stage, stage_start_ns = "", 0
        for each in unit.stages:
            if each.start_ns + each.wall_ms * 1e6 <= now_ns:
                stages[each.name] = stages.get(each.name, 0.0) + each.wall_ms
            elif each.start_ns <= now_ns:
                stage, stage_start_ns = each.name, each.start_ns
        return Running(
            index=unit.index,
            arrival_ns=unit.arrival_ns,
            deadline_ns=unit.deadline_ns,
            start_ns=unit.start_ns if begun else None,
            stages=stages,
            stage=stage,
            stage_start_ns=stage_start_ns,
        )


class Player:
    """Goes through a replayed session by a clock: at its own pace or another, standing still, or somewhere else.

    Args:
        replayed: The session.
        clock: What time it is.
    """

    def __init__(self, replayed: Replayed, clock: Clock) -> None:
        self.replayed, self._clock = replayed, clock
        self._speed, self._playing = 1.0, False
        self._at_ns, self._since_ns = 0, clock.now_ns()  # where it was, and when that was

    @property
    def at_ns(self) -> int:
        """The session's moment that is shown now."""
        passed_ns = round((self._clock.now_ns() - self._since_ns) * self._speed) if self._playing else 0
        return min(self._at_ns + passed_ns, self.replayed.duration_ns)

    @property
    def playing(self) -> bool:
        """Whether it moves; at the end it stands still."""
        return self._playing and self.at_ns < self.replayed.duration_ns

    @property
    def speed(self) -> float:
        """How many times faster than it was."""
        return self._speed

    def snapshot(self) -> Snapshot:
        """As a conversation's watcher sees it."""
        return self.replayed.at(self.at_ns)

    def play(self, playing: bool = True) -> None:
        """Move, from the start again where it had come to the end; or stand still."""
        at_ns = self.at_ns
        self._go_on_from(0 if playing and at_ns >= self.replayed.duration_ns else at_ns)
        self._playing = playing

    def seek(self, at_ns: int) -> None:
        """Go to a moment; past the ends is at the ends."""
        self._go_on_from(min(max(at_ns, 0), self.replayed.duration_ns))

    def set_speed(self, speed: float) -> None:
        """So many times faster from here on."""
        self._go_on_from(self.at_ns)
        self._speed = speed

    def _go_on_from(self, at_ns: int) -> None:
        self._at_ns, self._since_ns = at_ns, self._clock.now_ns()
