"""Adds up a session's records into its `end` line. Knows nothing of files. Entered by the engine thread."""

from collections import Counter

from engine.timing.records import End, Fault, Record, Reset, UnitRecord


class Totals:
    """Running sums over a session's records."""

    def __init__(self) -> None:
        self._events: Counter[str] = Counter()
        self._overruns = self._faults = self._resets = self._overflows = self._underflows = 0
        self._gap_ms = self._dropped_ms = 0.0
        self._least_slack_ms: float | None = None

    def add(self, record: Record) -> None:
        """Count one record; those that no total is kept of are let pass."""
        match record:
            case UnitRecord(slack_ms=slack_ms, audio=audio):
                self._events[str(record.event)] += 1
                self._overruns += record.overrun
                self._least_slack_ms = slack_ms if self._least_slack_ms is None else min(self._least_slack_ms, slack_ms)
                self._overflows += audio.overflows
                self._underflows += audio.underflows
                self._gap_ms += audio.gap_ms
                self._dropped_ms += audio.dropped_ms
            case Fault():
                self._faults += 1
            case Reset():
                self._resets += 1
            case _:
                pass

    def end(self, reason: str) -> End:
        """The totals so far."""
        return End(
            reason=reason,
            units=self._events.total(),
            listen=self._events["LISTEN"],
            speak=self._events["SPEAK"],
            flush=self._events["FLUSH"],
            overruns=self._overruns,
            least_slack_ms=self._least_slack_ms,
            faults=self._faults,
            resets=self._resets,
            overflows=self._overflows,
            underflows=self._underflows,
            gap_ms=self._gap_ms,
            dropped_ms=self._dropped_ms,
        )
