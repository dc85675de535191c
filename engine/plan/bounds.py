"""The most that any conversation can ask of a state, whatever its script: what the arena reserves.

Sound for every sequence of events, and refuses what has no such bound. Pure integers.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil, floor

from engine.clock import Rate
from engine.errors import AskedWrongly, UnboundedState
from engine.plan.advance import SHIFT, grow, reads
from engine.stage import After, Lifetime, Quota, Ring, StateSpec, Tail, Ticking, Timeline, Trim


@dataclass(frozen=True)
class Flow:
    """Ticks that a stage takes.

    Args:
        least: By a launch, at the least.
        last: By a turn's last launch, at the least.
        launch: By a launch, at the most.
        unit: By a unit, at the most.
    """

    least: int
    last: int
    launch: int
    unit: int


def most_ticks(
    timelines: tuple[Timeline, ...], specs: Mapping[str, StateSpec], cadence: Rate, units: int | None
) -> dict[str, int]:
    """The most ticks each state, and each shift buffer that may be needed, can hold.

    Args:
        timelines: The stages, in order.
        specs: Their states by name.
        cadence: Units a second.
        units: Units after which the session ends; None where it has no declared end.

    Raises:
        UnboundedState: A state would grow for as long as the session lasts, and the session declares no end.
    """
    flows = _flows(timelines, cadence)
    most: dict[str, int] = {}
    for name, spec in specs.items():
        growing = [flows[line.name] for line in timelines if name in dict(reads(line, specs))]
        turns = spec.reset is Lifetime.TURN  # and then nothing is shifted in a turn's last launch
        least = min(floor(spec.growth * (flow.least if turns else min(flow.least, flow.last))) for flow in growing)
        launch = max(ceil(spec.growth * flow.launch) for flow in growing)
        unit = sum(ceil(spec.growth * flow.unit) for flow in growing)
        most[name], shift = _bound(name, spec, least, launch, unit, units)
        if shift:
            most[name + SHIFT] = shift
    return most


def _bound(name: str, spec: StateSpec, least: int, launch: int, unit: int, units: int | None) -> tuple[int, int]:
    """The most ticks of a state and of its shift buffer; a launch brings `least` to `launch`, a unit `unit` at most."""
    keep = spec.keep
    if isinstance(keep, Ring):
        _fits(name, spec.initial, keep.ticks)
        return keep.ticks, 0
    if isinstance(keep, Tail):
        _fits(name, spec.initial, keep.ticks)
        moved = keep.ticks - least  # by `least`, or by a single tick while the tail is not yet full
        return keep.ticks, moved if moved > (least if spec.initial == keep.ticks else 1) else 0
    if isinstance(keep, Trim):
        over = keep.over // keep.repeats
        _fits(name, spec.initial, over)
        brings = unit if keep.each_unit else launch
        if keep.kept(over + brings) <= over:
            grown = [grow(spec, over, new) for new in (1, brings)]  # the shortest way to shift, and the longest
            return max(one.most for one in grown), max(one.shift for one in grown)
    ends = [] if units is None else [spec.initial + unit * units]
    if spec.limit is not None:
        ends.append(spec.limit)
    if not ends:
        raise UnboundedState(
            f"{name} grows by up to {unit} ticks a unit and nothing trims it, limits it or ends the session",
            "a state that stays within a bound",
            "declare how long a session may last, or a limit for the state",
        )
    return min(ends), grow(spec, min(ends), 0).shift


def _fits(name: str, initial: int, ticks: int) -> None:
    if initial > ticks:
        raise AskedWrongly(
            f"{name} starts with {initial} ticks", f"no more than the {ticks} it keeps", "correct the model's timelines"
        )


def _flows(timelines: tuple[Timeline, ...], cadence: Rate) -> dict[str, Flow]:
    lines = {line.name: line for line in timelines}
    flows: dict[str, Flow] = {}
    for line in timelines:
        drive = line.drive
        if isinstance(drive, Ticking):
            a_unit = drive.rate / cadence
            most = max(ceil(a_unit), drive.first or 0)
            least = 1 if drive.speech else max(1, floor(a_unit))
            come = Flow(least, least, most, most)
        elif isinstance(drive, Quota):
            events = (drive.listen, drive.opens + drive.speak, drive.opens + drive.flush)
            most = max((ticks for event in events for ticks in (*event, *drive.sizes)), default=0)
            come = Flow(1, 1, most, max(*(sum(event) for event in events), most))
        else:
            come = _handed_on(lines[drive.stage], flows[drive.stage], drive)
        if line.chunk is None:
            over = line.grain - 1
            come = Flow(come.least // line.grain * line.grain, come.last, come.launch + over, come.unit + over)
        else:
            least = line.least or line.chunk
            waits = max(line.primed, line.look_ahead + least - 1)  # left over, for a turn's last launch to take
            last = max(1, min(line.primed, line.look_ahead))
            come = Flow(least, last, max(line.chunk, waits), come.unit + waits)
        flows[line.name] = come
    return flows


def _handed_on(source: Timeline, flow: Flow, drive: After) -> Flow:
    """What a stage is brought by another; the other's lag may make any launch larger or smaller."""
    ratio = source.yields * drive.ratio
    unit = ceil(ratio * (flow.unit + source.lag))
    least, last = (max(1, floor(ratio * ticks)) for ticks in (flow.least - source.lag, flow.last))
    return Flow(least, last, ceil(ratio * (flow.launch + source.lag)) if drive.each else unit, unit)
