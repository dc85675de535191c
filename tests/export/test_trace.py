import json
from pathlib import Path
from typing import Any

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.export import write_trace
from engine.timing import AudioRecord, Fault, Record, StepRecord, UnitRecord, read_log
from tests import made_up_sessions as made_up
from tests.made_up_sessions import MS, SECOND, conversation, unit, write

CAPTURE, ENGINE, DEVICE, PLAYOUT = 1, 2, 3, 4


def trace(tmp_path: Path, records: list[Record]) -> list[dict[str, Any]]:
    write_trace(read_log(write(tmp_path / "log.jsonl", records)), tmp_path / "trace.json")

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is no JSON")

    whole = json.loads((tmp_path / "trace.json").read_text(encoding="utf-8"), parse_constant=refuse)
    assert set(whole) == {"displayTimeUnit", "otherData", "traceEvents"}
    return whole["traceEvents"]


def slices(events: list[dict[str, Any]], tid: int) -> list[dict[str, Any]]:
    return [event for event in events if event["ph"] == "X" and event["tid"] == tid]


def assert_nests(events: list[dict[str, Any]], tid: int) -> None:
    """On one track a slice lies inside the one around it, or after it: what a viewer can draw."""
    open_ends: list[int] = []
    ordered = sorted(slices(events, tid), key=lambda event: (event["ts"], -event["dur"]))
    for event in ordered:
        end = event["ts"] + event["dur"]
        while open_ends and open_ends[-1] <= event["ts"]:
            open_ends.pop()
        assert not open_ends or end <= open_ends[-1]
        open_ends.append(end)


@given(st.lists(made_up.records, max_size=8))
@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_trace_of_any_log_is_json_and_its_events_nest(tmp_path: Path, records: list[Record]) -> None:
    events = trace(tmp_path, records)
    for tid in (CAPTURE, ENGINE, DEVICE, PLAYOUT):
        assert_nests(events, tid)
    for event in events:
        assert event["ph"] == "M" or (event["ts"] >= 0 and isinstance(event["ts"], int))
        assert event.get("dur", 0) >= 0
        if event["ph"] == "C":
            assert isinstance(event["args"]["value"], int | float)


def test_each_unit_has_its_chunk_its_stages_inside_it_and_its_counters(tmp_path: Path) -> None:
    records = conversation(40, seed=4, overruns=True)
    units = [record for record in records if isinstance(record, UnitRecord)]
    events = trace(tmp_path, records)
    assert [event["name"] for event in slices(events, CAPTURE)] == [f"chunk {one.index}" for one in units]
    engine = slices(events, ENGINE)
    for one in units:
        (work,) = [event for event in engine if event["args"].get("unit") == one.index]
        assert (work["name"], work["ts"]) == (one.event, one.start_ns // 1000)
        assert abs(work["dur"] - one.wall_ms * 1000) <= 2
        end = work["ts"] + work["dur"]
        inside = [e["name"] for e in engine if e is not work and work["ts"] <= e["ts"] < end]
        assert inside == [stage.name for stage in one.stages]
    assert sum(event["ph"] == "C" and event["name"] == "slack (ms)" for event in events) == len(units)
    assert sum(event["name"] == "overrun" for event in events) == sum(one.overrun for one in units) > 0
    assert {e["args"]["name"] for e in events if e["name"] == "thread_name"} == {
        "capture",
        "engine",
        "device",
        "playout",
    }


def test_flows_tie_a_chunk_to_its_unit_and_its_unit_to_its_voice(tmp_path: Path) -> None:
    spoke = AudioRecord(playout_ms=800.0)
    events = trace(tmp_path, [unit(0), unit(1), unit(2, "SPEAK", audio=spoke)])
    for name, source_track, target_track, count in (("chunk", CAPTURE, ENGINE, 3), ("voice", ENGINE, PLAYOUT, 1)):
        starts = {e["id"]: e for e in events if e["ph"] == "s" and e["name"] == name}
        ends = {e["id"]: e for e in events if e["ph"] == "f" and e["name"] == name}
        assert starts.keys() == ends.keys()
        assert len(starts) == count
        for ident, start in starts.items():
            assert (start["tid"], ends[ident]["tid"]) == (source_track, target_track)
            assert start["ts"] <= ends[ident]["ts"]
            for flow in (start, ends[ident]):
                around = [s for s in slices(events, flow["tid"]) if s["ts"] <= flow["ts"] <= s["ts"] + s["dur"]]
                assert around
    (voice,) = slices(events, PLAYOUT)
    assert (voice["name"], voice["ts"], voice["dur"]) == ("voice 2", 3 * SECOND // 1000, 800_000)


def test_device_spans_lie_where_the_device_put_them_and_steps_inside_their_stage(tmp_path: Path) -> None:
    one = unit(0, work=[("words", 100.0)])
    (stage,) = one.stages
    steps = tuple(
        StepRecord(start_ns=stage.start_ns + n * 40 * MS, deadline_ns=stage.start_ns + (n + 1) * 40 * MS, wall_ms=30.0)
        for n in range(3)
    )
    stage = msgspec.structs.replace(stage, steps=steps, device_start_ns=7 * MS, device_ms=90.0, path="clocked")
    events = trace(tmp_path, [msgspec.structs.replace(one, stages=(stage,))])
    (busy,) = slices(events, DEVICE)
    assert (busy["ts"], busy["dur"], busy["args"]["path"]) == (7000, 90_000, "clocked")
    inside = [event for event in slices(events, ENGINE) if event["name"].startswith("step")]
    assert [event["ts"] for event in inside] == [step.start_ns // 1000 for step in steps]
    assert_nests(events, ENGINE)


def test_a_fault_is_marked_where_it_happened(tmp_path: Path) -> None:
    events = trace(tmp_path, [unit(0), Fault(index=0, at_ns=5 * MS, stage="voice", message="it raised")])
    (mark,) = [event for event in events if event["name"] == "fault"]
    assert (mark["ph"], mark["ts"], mark["args"]["message"]) == ("i", 5000, "it raised")
