"""A timing log as a Chrome trace, which Perfetto (ui.perfetto.dev) opens.

A track each for capture, engine, device and playout; flows from a chunk to its unit and on to its voice; counters for
slack, buffers and memory.

`ts` is in whole microseconds from the session's start. Viewers drop what lies before 0 and
misdraw slices that overlap on one track without nesting, so every slice is kept inside its parent and after its
neighbour. Knows nothing of how the log was made; any thread.
"""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from engine.cadence.verdict import described
from engine.cadence.voice_spans import voice_spans
from engine.export.atomic import whole_file
from engine.phrases import MIB
from engine.timing import Device, Fault, Log, Reset, StageRecord, UnitRecord

TraceEvent = dict[str, Any]

PID = 1
CAPTURE, ENGINE, DEVICE, PLAYOUT = 1, 2, 3, 4
TRACKS = {CAPTURE: "capture", ENGINE: "engine", DEVICE: "device", PLAYOUT: "playout"}


def write_trace(log: Log, path: Path) -> None:
    """Write the log to `path` as Chrome trace JSON.

    Raises:
        BadLog: A line is not schema 1; nothing is written.
        NoRoom: The file cannot be written.
    """
    about = {"session": described(log.header), "wall_clock": log.header.wall_clock, "caveat": log.caveat}
    with whole_file(path) as part, part.open("w", encoding="utf-8") as file:
        file.write(f'{{"displayTimeUnit":"ms","otherData":{json.dumps(about)},"traceEvents":[\n')
        for number, event in enumerate(trace_events(log)):
            file.write((",\n" if number else "") + json.dumps(event, allow_nan=False, separators=(",", ":")))
        file.write("\n]}\n")


def trace_events(log: Log) -> Iterator[TraceEvent]:
    """The trace's events; each track's slices come in order, tracks one after another where they need a pass each."""
    yield {"ph": "M", "pid": PID, "name": "process_name", "args": {"name": described(log.header)}}
    for tid, name in TRACKS.items():
        yield {"ph": "M", "pid": PID, "tid": tid, "name": "thread_name", "args": {"name": name}}
        yield {"ph": "M", "pid": PID, "tid": tid, "name": "thread_sort_index", "args": {"sort_index": tid}}
    capture, engine, device = _Track(CAPTURE), _Track(ENGINE), _Track(DEVICE)
    for record in log.records():
        match record:
            case UnitRecord():
                yield from _unit(record, capture, engine)
                yield from _on_device(record.stages, device)
                yield from _counters(record)
            case Fault() | Reset() | Device():
                yield _instant(record)
            case _:
                pass
    yield from _voice(log.units())


class _Track:
    """Slices of one track, each beginning where the one before has ended."""

    def __init__(self, tid: int, begin_us: int = 0, end_us: int | None = None) -> None:
        self.tid = tid
        self.at_us = begin_us
        self._end_us = end_us

    def slice(self, name: str, start_ns: float, end_ns: float, args: dict[str, Any]) -> TraceEvent:
        start, end = (self._inside(instant // 1000) for instant in (start_ns, end_ns))
        self.at_us = max(start, end)
        return {
            "ph": "X",
            "pid": PID,
            "tid": self.tid,
            "name": name,
            "ts": start,
            "dur": self.at_us - start,
            "args": args,
        }

    def within(self, parent: TraceEvent) -> "_Track":
        """The same track for slices inside `parent`."""
        return _Track(self.tid, parent["ts"], parent["ts"] + parent["dur"])

    def _inside(self, instant_us: float) -> int:
        kept = max(self.at_us, int(instant_us))
        return kept if self._end_us is None else min(kept, self._end_us)


def _unit(unit: UnitRecord, capture: _Track, engine: _Track) -> Iterator[TraceEvent]:
    chunk = capture.slice(f"chunk {unit.index}", capture.at_us * 1000, unit.arrival_ns, {"unit": unit.index})
    args: dict[str, Any] = {"unit": unit.index, "slack_ms": unit.slack_ms, "overrun": unit.overrun}
    if unit.response_delay_ms is not None:
        args["response_delay_ms"] = unit.response_delay_ms
    work = engine.slice(str(unit.event), unit.start_ns, unit.finish_ns, args)
    yield from (chunk, work)
    yield from _flow("chunk", 2 * unit.index, (CAPTURE, chunk["ts"]), (ENGINE, work["ts"]))
    inner = engine.within(work)
    for stage in unit.stages:
        piece = inner.slice(stage.name, stage.start_ns, stage.start_ns + stage.wall_ms * 1e6, _stage_args(stage))
        yield piece
        innermost = inner.within(piece)
        for number, step in enumerate(stage.steps):
            step_args = {"slack_ms": (step.deadline_ns - step.start_ns) / 1e6 - step.wall_ms}
            yield innermost.slice(f"step {number}", step.start_ns, step.start_ns + step.wall_ms * 1e6, step_args)
    if unit.overrun:
        yield _mark("overrun", ENGINE, unit.deadline_ns, {"late_ms": -unit.slack_ms})


def _on_device(stages: Iterable[StageRecord], device: _Track) -> Iterator[TraceEvent]:
    for stage in stages:
        if stage.device_start_ns is not None and stage.device_ms is not None:
            end_ns = stage.device_start_ns + stage.device_ms * 1e6
            yield device.slice(stage.name, stage.device_start_ns, end_ns, _stage_args(stage))


def _stage_args(stage: StageRecord) -> dict[str, Any]:
    return {"path": stage.path, "ticks": stage.ticks, "shape": list(stage.shape)}


def _voice(units: Iterable[UnitRecord]) -> Iterator[TraceEvent]:
    playout = _Track(PLAYOUT)
    for span in voice_spans(units):
        sound = playout.slice(f"voice {span.index}", span.start_ns, span.end_ns, {"unit": span.index})
        yield sound
        begun_us = max(0, span.unit_start_ns // 1000)
        yield from _flow("voice", 2 * span.index + 1, (ENGINE, begun_us), (PLAYOUT, sound["ts"]))


def _flow(name: str, ident: int, source: tuple[int, int], target: tuple[int, int]) -> Iterator[TraceEvent]:
    """An arrow between the slices that enclose two moments (track, us)."""
    common: TraceEvent = {"pid": PID, "cat": "flow", "name": name, "id": ident}
    yield {"ph": "s", "tid": source[0], "ts": source[1], **common}
    yield {"ph": "f", "bp": "e", "tid": target[0], "ts": max(source[1], target[1]), **common}


def _counters(unit: UnitRecord) -> Iterator[TraceEvent]:
    memory = unit.memory
    values = {
        "slack (ms)": unit.slack_ms,
        "playout buffer (ms)": unit.audio.playout_ms,
        "resident (MiB)": _mib(memory.rss),
        "arena committed (MiB)": _mib(memory.arena_committed),
        "torch allocated (MiB)": _mib(memory.torch_allocated),
        "device used (MiB)": _mib(memory.device_used),
    }
    at_us = max(0, unit.finish_ns // 1000)
    for name, value in values.items():
        if value is not None:
            yield {"ph": "C", "pid": PID, "name": name, "ts": at_us, "args": {"value": value}}


def _mib(count: int | None) -> float | None:
    return None if count is None else count / MIB


def _instant(record: Fault | Reset | Device) -> TraceEvent:
    args = {key: value for key, value in record.as_json().items() if key not in ("type", "at_ns")}
    return _mark(type(record).__name__.lower(), ENGINE, record.at_ns, args)


def _mark(name: str, tid: int, at_ns: int, args: dict[str, Any]) -> TraceEvent:
    return {"ph": "i", "s": "t", "pid": PID, "tid": tid, "name": name, "ts": max(0, at_ns // 1000), "args": args}
