"""What a session's units come to: slack, overruns, gaps, dead air, response delay, where the time went.

One pass over the records, in memory that grows by some numbers a unit. Knows nothing of files or of how figures are
shown. Enter from any thread.
"""

from array import array
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, Self

import numpy as np

from engine.timing import Fault, Record, Reset, UnitRecord


@dataclass(frozen=True)
class Spread:
    """How a figure spreads over units, each value one that was measured (nearest rank).

    Args:
        count: How many values there are.
        mean: Their mean.
        median: Half of them do no worse.
        p95: 95 of 100 do no worse.
        p99: 99 of 100 do no worse.
        worst: None does worse.
    """

    count: int
    mean: float
    median: float
    p95: float
    p99: float
    worst: float

    @classmethod
    def of(cls, values: Iterable[float], worse: Literal["more", "less"] = "more") -> Self | None:
        """The spread of `values`, where more or less of it is worse; None of no values."""
        given = np.asarray(values) if isinstance(values, array) else np.fromiter(values, np.float64)
        if not given.size:
            return None
        sign = 1.0 if worse == "more" else -1.0
        ranked = sign * np.quantile(sign * given, [0.5, 0.95, 0.99, 1.0], method="inverted_cdf")
        return cls(given.size, float(given.mean()), *(float(value) for value in ranked))


@dataclass(frozen=True)
class StageStatistics:
    """One stage over the session.

    Args:
        name: The stage.
        ms: Its host time a unit, over the units in which it ran.
        paths: How often it ran how.
    """

    name: str
    ms: Spread
    paths: dict[str, int]


@dataclass(frozen=True)
class Statistics:
    """A session in figures; spreads are None where nothing was measured.

    Args:
        units: How many ran.
        events: Units by event.
        cadence_ms: The median cadence.
        overruns: Units that finished after their deadline.
        tightest: The unit with the least slack.
        slack_ms: Deadline minus finish; less is worse.
        work_ms: Start to finish, by event.
        response_delay_ms: One a spoken answer.
        stages: In the order they were first met.
        underflows: Times the playout ran dry in the middle of speech.
        gap_ms: Silence heard where speech was due.
        overflows: Times the capture ring was full.
        dropped_ms: Microphone audio lost.
        dead_air_ms: Silence that the user sat through: all response delays, and all gaps outside of them.
        faults: Fault records.
        resets: Reset records.
        peak_rss: Bytes; None where the system gave none.
        rss_slope: Bytes a minute over the session's second half; None of fewer than thirty units there.
        peak_committed: Bytes of the arena.
        reserved: Bytes of the arena's addresses.
        peak_device: Bytes used on the device, by its driver's count; None on a CPU.
    """

    units: int
    events: dict[str, int]
    cadence_ms: float
    overruns: int
    tightest: int
    slack_ms: Spread | None
    work_ms: dict[str, Spread]
    response_delay_ms: Spread | None
    stages: tuple[StageStatistics, ...]
    underflows: int
    gap_ms: float
    overflows: int
    dropped_ms: float
    dead_air_ms: float
    faults: int
    resets: int
    peak_rss: int | None
    rss_slope: float | None
    peak_committed: int
    reserved: int
    peak_device: int | None


def stage_times_ms(unit: UnitRecord) -> dict[str, float]:
    """Host time of each stage in one unit, the runs of one stage added up, in the order they began."""
    times: dict[str, float] = {}
    for stage in unit.stages:
        times[stage.name] = times.get(stage.name, 0.0) + stage.wall_ms
    return times


def measure(records: Iterable[Record]) -> Statistics:
    """One pass over a session's records, which may be a log's or still in memory."""
    tally = Tally()
    for record in records:
        tally.add(record)
    return tally.statistics()


class Tally:
    """A session's figures as it runs: a record at a time, told as often as anyone likes.

    Some 150 bytes a unit; `statistics` takes 2 ms after an hour, and 3 after ten.
    """

    def __init__(self) -> None:
        self._faults = self._resets = 0
        self._events: Counter[str] = Counter()
        self._cadence, self._slack, self._delay = array("d"), array("d"), array("d")
        self._work: dict[str, array[float]] = {}
        self._stages: dict[str, array[float]] = {}
        self._paths: dict[str, Counter[str]] = {}
        self._minutes, self._rss = array("d"), array("d")
        self._overruns = self._underflows = self._overflows = self._committed = self._reserved = self._tightest = 0
        self._gap_ms = self._dropped_ms = 0.0
        self._late_ms = 0.0  # by which an answer that has just begun was late: its delay holds that part of a gap
        self._gap_outside_ms = 0.0
        self._least_slack_ms = float("inf")
        self._device: int | None = None

    def add(self, record: Record) -> None:
        """Count one record; those that no figure is made of are let pass."""
        match record:
            case UnitRecord():
                self._add_unit(record)
            case Fault():
                self._faults += 1
            case Reset():
                self._resets += 1
            case _:
                pass

    def _add_unit(self, unit: UnitRecord) -> None:
        event = str(unit.event)
        self._events[event] += 1
        self._cadence.append(unit.cadence_ms)
        self._slack.append(unit.slack_ms)
        self._work.setdefault(event, array("d")).append(unit.wall_ms)
        self._overruns += unit.overrun
        if unit.slack_ms < self._least_slack_ms:
            self._least_slack_ms, self._tightest = unit.slack_ms, unit.index
        for name, ms in stage_times_ms(unit).items():
            self._stages.setdefault(name, array("d")).append(ms)
        for stage in unit.stages:
            self._paths.setdefault(stage.name, Counter())[stage.path] += 1
        self._add_audio(unit)
        self._add_memory(unit)

    def _add_audio(self, unit: UnitRecord) -> None:
        if unit.response_delay_ms is not None:
            self._delay.append(unit.response_delay_ms)
            self._late_ms = max(0.0, -unit.slack_ms)
        inside_ms = min(unit.audio.gap_ms, self._late_ms)
        self._gap_outside_ms += unit.audio.gap_ms - inside_ms
        # The gap is counted once the late audio has sounded: in this unit, or as the next one begins.
        self._late_ms = 0.0 if unit.response_delay_ms is None else self._late_ms - inside_ms
        self._underflows += unit.audio.underflows
        self._overflows += unit.audio.overflows
        self._gap_ms += unit.audio.gap_ms
        self._dropped_ms += unit.audio.dropped_ms

    def _add_memory(self, unit: UnitRecord) -> None:
        memory = unit.memory
        self._committed = max(self._committed, memory.arena_committed)
        self._reserved = max(self._reserved, memory.arena_reserved)
        if memory.rss is not None:
            self._minutes.append(unit.finish_ns / 60e9)
            self._rss.append(memory.rss)
        if memory.device_used is not None:
            self._device = max(self._device or 0, memory.device_used)

    def statistics(self) -> Statistics:
        """The figures so far."""
        work = {event: Spread.of(values) for event, values in self._work.items()}
        stages = [(name, Spread.of(values)) for name, values in self._stages.items()]
        return Statistics(
            units=self._events.total(),
            events=dict(self._events),
            cadence_ms=float(np.median(self._cadence)) if self._cadence else 0.0,
            overruns=self._overruns,
            tightest=self._tightest,
            slack_ms=Spread.of(self._slack, worse="less"),
            work_ms={event: spread for event, spread in work.items() if spread},
            response_delay_ms=Spread.of(self._delay),
            stages=tuple(StageStatistics(name, ms, dict(self._paths[name])) for name, ms in stages if ms),
            underflows=self._underflows,
            gap_ms=self._gap_ms,
            overflows=self._overflows,
            dropped_ms=self._dropped_ms,
            dead_air_ms=sum(self._delay) + self._gap_outside_ms,
            faults=self._faults,
            resets=self._resets,
            peak_rss=int(max(self._rss)) if self._rss else None,
            rss_slope=_slope(self._minutes, self._rss),
            peak_committed=self._committed,
            reserved=self._reserved,
            peak_device=self._device,
        )


def _slope(minutes: "array[float]", values: "array[float]") -> float | None:
    """Least squares over the second half: loading and first use are behind it, a leak is not."""
    half = len(values) // 2
    x, y = np.asarray(minutes)[half:], np.asarray(values)[half:]
    if len(x) < 30 or np.ptp(x) == 0:
        return None
    x = x - x.mean()
    return float(x @ (y - y.mean()) / (x @ x))
