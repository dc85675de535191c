"""The plan as tables for a terminal: what `duplexcadence plan MODEL` prints. Text only."""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import pairwise
from math import ceil
from typing import TYPE_CHECKING

from engine.phrases import aligned, counted, size
from engine.plan.advance import SessionFull, StageUnit
from engine.stage import After, Quota, Span, Timeline

if TYPE_CHECKING:
    from engine.plan.cycles import GraphShape
    from engine.plan.planned import Plan

SECONDS = (1, 10, 60)
SHOWN = 8  # units of a cycle that are spelt out


def describe(plan: "Plan") -> str:
    """Stages with their clocks, shapes unit by unit, bytes over time, and the graphs."""
    parts = [
        ("Stages", _stages(plan)),
        ("Shapes, unit by unit: ticks fed, then the length of each state that is part of the shape", _shapes(plan)),
        ("State", _states(plan)),
        (_graph_title(plan), _graphs(plan)),
    ]
    return "\n\n".join([_header(plan), *(f"{title}\n{body}" for title, body in parts)])


def _header(plan: "Plan") -> str:
    ends = (
        "has no declared end" if plan.session_units is None else f"ends after {plan.session_units} units at the latest"
    )
    again = f"after {plan.warm_up} units, every {plan.cycle}" if plan.cycle else "not before the session ends"
    return (
        f"A unit every {_number(1000 / plan.cadence)} ms; the session {ends}; script {plan.script}.\n"
        f"All shapes repeat {again}. "
        f"No session can need more than {size(plan.max_bytes)} of state."
    )


def _stages(plan: "Plan") -> str:
    rows = [("stage", "clock", "driven by", "a launch takes", "shapes repeat")]
    rates: dict[str, Fraction] = {}
    for line in plan.timelines:
        cycle = plan.cycles[line.name]
        repeats = f"after {cycle.warm_up}, every {cycle.length}" if cycle.length else "never"
        rows.append((line.name, _clock(line, rates), _drive(line), _takes(line), repeats))
    return _columns(rows)


def _clock(line: Timeline, rates: dict[str, Fraction]) -> str:
    """Ticks a second in and out, where a clock drives the stage; notes the latter in `rates`."""
    drive = line.drive
    if isinstance(drive, Quota) or (isinstance(drive, After) and drive.stage not in rates):
        return "-"
    rate = rates[drive.stage] * drive.ratio if isinstance(drive, After) else Fraction(drive.rate)
    rates[line.name] = rate * line.yields
    return f"{_number(rate)} -> {_number(rates[line.name])} Hz"


def _drive(line: Timeline) -> str:
    drive = line.drive
    if isinstance(drive, After):
        return f"{line.tick}s of {drive.stage}{', launch by launch' if drive.each else ''}"
    if isinstance(drive, Quota):
        events = {"LISTEN": drive.listen, "SPEAK": drive.speak, "FLUSH": drive.flush, "a turn's start": drive.opens}
        most: dict[str, list[str]] = {}
        for name, ticks in events.items():
            most.setdefault(" + ".join(map(str, ticks)), []).append(name)
        most.pop("", None)
        return "at most " + "; ".join(ticks + " in " + ", ".join(names) for ticks, names in most.items())
    first = "" if drive.first is None else f", first {drive.first}"
    return f"{line.tick}s{first}{' while it speaks' if drive.speech else ''}"


def _takes(line: Timeline) -> str:
    if line.chunk is None:
        takes = "what has come" if line.grain == 1 else f"multiples of {line.grain}"
    else:
        least = line.least or line.chunk
        takes = f"{line.chunk}" if least == line.chunk else f"{least} to {line.chunk}"
    ahead = f" + {line.look_ahead} ahead" if line.look_ahead else ""
    around = "".join(
        f", {ticks} {name}" for ticks, name in zip(line.context, ("before", "after"), strict=True) if ticks
    )
    return f"{takes}{ahead}{around}{f', {line.lag} behind' if line.lag else ''}"


def _shapes(plan: "Plan") -> str:
    rows = []
    for line in plan.timelines:
        cycle = plan.cycles[line.name]
        spans = [("first", range(cycle.warm_up)), ("cycle", range(cycle.warm_up, cycle.warm_up + cycle.length))]
        for name, span in spans:
            if span:
                rows.append((line.name, name, _run([_unit_shapes(plan.unit(at).stages[line.name]) for at in span])))
    return _columns(rows)


def _unit_shapes(unit: StageUnit) -> str:
    shapes: list[tuple[str, int]] = []  # equal neighbours counted
    for launch in unit.launches:
        text = _shape(launch.shape) + (" last" if launch.last else "")
        again = shapes and shapes[-1][0] == text
        shapes[-1:] = [(text, shapes[-1][1] + 1)] if again else [*shapes[-1:], (text, 1)]
    return " + ".join(text if count == 1 else f"{count} x {text}" for text, count in shapes) or "-"


def _run(units: Sequence[str]) -> str:
    if len(set(units)) == 1:
        return f"{units[0]} (each of {len(units)})" if len(units) > 1 else units[0]
    if len(units) > SHOWN:
        units = [*units[:3], f"... {len(units) - 4} more ...", units[-1]]
    return " | ".join(units)


def _states(plan: "Plan") -> str:
    rows: list[Sequence[str]] = [
        ("state", "type", "one tick", "bytes a tick", "ticks at most", *(f"at {s} s" for s in SECONDS), "at most")
    ]
    moments = [_needed(plan, seconds) for seconds in SECONDS]
    for state in plan.states:
        at = [size(needed[state.name] * state.item_bytes) if needed else "-" for needed in moments]
        rows.append(
            (state.name, state.dtype, _shape(state.item_shape), size(state.item_bytes), f"{state.max_ticks}", *at,
             size(state.max_bytes))
        )  # fmt: skip
    totals = [size(plan.bytes_at(_last_unit(plan, seconds))) if needed else "-"
              for seconds, needed in zip(SECONDS, moments, strict=True)]  # fmt: skip
    rows.append(("all", "", "", "", "", *totals, size(plan.max_bytes)))
    return _columns(rows)


def _needed(plan: "Plan", seconds: int) -> dict[str, int] | None:
    try:
        return dict(plan.unit(_last_unit(plan, seconds)).needed)
    except SessionFull:
        return None


def _last_unit(plan: "Plan", seconds: int) -> int:
    return ceil(seconds * plan.cadence) - 1


def _graph_title(plan: "Plan") -> str:
    eager = {line.name for line in plan.timelines if line.eager}
    graphs = sum(one.stage not in eager for one in plan.shapes)
    runs = counted(len(plan.shapes) - graphs, "shape runs", "shapes run")
    return f"Graphs: {counted(graphs, 'exact shape')}, the most frequent first; {runs} eagerly"


def _graphs(plan: "Plan") -> str:
    lines = {line.name: line for line in plan.timelines}
    rows = [("stage", "shape", "graphs", "launches a unit, each", "in the warm-up", "first met", "")]
    for family in _families(plan.shapes):
        one = family[0]
        line = lines[one.stage]
        clocked = any(spec.span is Span.CLOCKED for _, spec in plan.declared.reads[line.name])
        note = f"eager: {line.eager}" if line.eager else "length set before each launch" if clocked else ""
        met = f"unit {_sizes(each.first_unit for each in family)}" if one.first_unit >= 0 else "as the input asks"
        rows.append(
            (
                one.stage,
                _shape([*one.shape[:-1], _sizes(each.shape[-1] for each in family)]) + (" last" if one.last else ""),
                "-" if line.eager else f"{len(family)}",
                f"{float(one.a_unit):.2f}",
                f"{one.early}",
                met,
                note,
            )
        )
    return _columns(rows)


def _families(shapes: Sequence["GraphShape"]) -> Iterable[list["GraphShape"]]:
    """Shapes that a row can tell together: one stage's, equally frequent, of which the last axis alone differs."""
    alike: dict[tuple[object, ...], list[GraphShape]] = {}
    for one in shapes:
        key = (one.stage, one.shape[:-1], one.last, one.a_unit, one.early, one.first_unit >= 0)
        alike.setdefault(key, []).append(one)
    return alike.values()


def _sizes(values: Iterable[int]) -> str:
    """Numbers in a few words: all of them, or from which to which."""
    found = sorted(set(values))
    steps = {later - earlier for earlier, later in pairwise(found)}
    if len(found) < 3 or len(steps) > 1:
        return " or ".join(map(str, found)) if len(found) < 5 else f"{found[0]} to {found[-1]}, {len(found)} of them"
    return f"{found[0]} to {found[-1]}" + (f" step {step}" if (step := steps.pop()) > 1 else "")


def _shape(shape: Iterable[int | str]) -> str:
    return "(" + ", ".join(map(str, shape)) + ")"


def _number(value: Fraction) -> str:
    return f"{float(value):g}"


def _columns(rows: Sequence[Sequence[str]]) -> str:
    return "\n".join("  " + line for line in aligned(rows))
