"""What a session tells of itself as it runs: its units, figures, transcript and faults, and the stage under way.

One thread writes, any reads: what is read is frozen and replaced whole. Knows no device and no window. [engine] writes.
"""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from app.live.snapshot import SHOWN_LINES, SHOWN_UNITS, Line, Running
from engine.cadence import Statistics, Tally
from engine.clock import Clock
from engine.runtime import Runtime
from engine.session import Unit
from engine.step import Step
from engine.timing import Fault, StageRecord, UnitRecord

SHOWN_FAULTS = 20


@dataclass(frozen=True)
class Told:
    """What is known after a unit; the fields are a snapshot's."""

    units: tuple[UnitRecord, ...] = ()
    figures: Statistics | None = None
    lines: tuple[Line, ...] = ()
    faults: tuple[Fault, ...] = ()
    paths: Mapping[str, int] = field(default_factory=dict)


class Board:
    """Takes what happens; `told` and `running` are read by any thread."""

    def __init__(self) -> None:
        self.told = Told()
        self.running: Running | None = None
        self._tally = Tally()
        self._units: deque[UnitRecord] = deque(maxlen=SHOWN_UNITS)
        self._lines: deque[Line] = deque(maxlen=SHOWN_LINES)
        self._faults: deque[Fault] = deque(maxlen=SHOWN_FAULTS)
        self._line_count = 0

    def wait_for(self, index: int, arrival_ns: int, deadline_ns: int) -> None:
        """The next unit's chunk is on its way."""
        self.running = Running(index, arrival_ns, deadline_ns)

    def rest(self) -> None:
        """No unit is under way, and none is on its way."""
        self.running = None

    def begin(self, index: int, arrival_ns: int, deadline_ns: int, start_ns: int) -> None:
        """Work on a unit begins."""
        self.running = Running(index, arrival_ns, deadline_ns, start_ns)

    def stage_begins(self, name: str, start_ns: int) -> None:
        """A stage of the unit under way begins."""
        if self.running is not None:
            self.running = replace(self.running, stage=name, stage_start_ns=start_ns)

    def stage_done(self, record: StageRecord) -> None:
        """The stage under way is done."""
        if self.running is not None:
            stages = dict(self.running.stages)
            stages[record.name] = stages.get(record.name, 0.0) + record.wall_ms
            self.running = replace(self.running, stages=stages, stage="", stage_start_ns=0)

    def take(self, unit: Unit) -> None:
        """A unit is done."""
        for fault in unit.faults:
            self._note(fault)
        self._tally.add(unit.record)
        self._units.append(unit.record)
        for said in unit.outcome.transcript:
            self._lines.append(Line(self._line_count, unit.record.index, said.who, said.kind, said.text))
            self._line_count += 1
        self._publish()

    def fault(self, fault: Fault) -> None:
        """A fault outside of any unit."""
        self._note(fault)
        self._publish()

    def _note(self, fault: Fault) -> None:
        self._tally.add(fault)
        self._faults.append(fault)

    def _publish(self) -> None:
        figures = self._tally.statistics()
        self.told = Told(
            units=tuple(self._units),
            figures=figures if figures.units else None,
            lines=tuple(self._lines),
            faults=tuple(self._faults),
            paths=paths_of(figures),
        )


def paths_of(figures: Statistics) -> dict[str, int]:
    """How many stage runs there were of each path."""
    paths: Counter[str] = Counter()
    for stage in figures.stages:
        paths.update(stage.paths)
    return dict(paths)


class WatchedRuntime:
    """A runtime whose stages are told of as they run.

    Args:
        inner: Executes.
        board: Told.
        clock: The session's.
        check: Asked between stages; what it raises ends the unit, and the session.
    """

    def __init__(self, inner: Runtime, board: Board, clock: Clock, check: Callable[[], None]) -> None:
        self.name = inner.name
        self._inner, self._board, self._clock, self._check = inner, board, clock, check

    def execute(self, step: Step, origin_ns: int) -> tuple[Any, StageRecord]:
        self._check()
        self._board.stage_begins(step.stage, self._clock.now_ns() - origin_ns)
        result, record = self._inner.execute(step, origin_ns)
        self._board.stage_done(record)
        return result, record

    def settle(self, records: Iterable[StageRecord], origin_ns: int) -> list[StageRecord]:
        return self._inner.settle(records, origin_ns)

    def use_slack(self, until_ns: int) -> int:
        return self._inner.use_slack(until_ns)
