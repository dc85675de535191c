"""The most that any conversation can ask of a state, whatever its script: what the arena reserves.

Sound for every sequence of events, and refuses what has no such bound. Pure integers.
"""

from dataclasses import dataclass
from math import ceil

from engine.errors import AskedWrongly, UnboundedState
from engine.plan.advance import SHIFT, Declared, grow
from engine.stage import AtLimit, Quota, Ring, StateSpec, Tail, Ticking, Trim


@dataclass(frozen=True)
class Flow:
    """The most ticks that a stage takes: by a launch, and by a unit."""

    launch: int
    unit: int


def most_ticks(declared: Declared, units: int | None) -> dict[str, int]:
    """The most ticks each state, and each shift buffer that may be needed, can hold.

    Args:
        declared: The stages.
        units: Units after which the session ends; None where it has no declared end.

    Raises:
        UnboundedState: A state would grow for as long as the session lasts, and the session declares no end.
    """
    flows = _flows(declared)
    most: dict[str, int] = {}
    for name, spec in declared.specs.items():
        growing = [flows[stage] for stage, states in declared.reads.items() if (name, spec) in states]
        launch = max(ceil(spec.growth * flow.launch) for flow in growing)
        unit = sum(ceil(spec.growth * flow.unit) for flow in growing)
        most[name], shift = _bound(name, spec, launch, unit, units)
        if shift:
            most[name + SHIFT] = shift
    return most


def _bound(name: str, spec: StateSpec, launch: int, unit: int, units: int | None) -> tuple[int, int]:
    """The most ticks of a state and of its shift buffer, where a launch and a unit bring so many at most."""
    keep = spec.keep
    if isinstance(keep, Ring | Tail):
        _fits(name, spec.initial, keep.ticks)
        return keep.ticks, 0
    if isinstance(keep, Trim):
        over = keep.over // keep.repeats
        _fits(name, spec.initial, over)
        brings = unit if keep.each_unit else launch
        # How much is kept, and how far it moves, depends on how much is over, and on no law simpler than trying it all.
        grown = [grow(spec, over, new) for new in range(brings + 1)]
        if any(one.after > over for one in grown):
            raise UnboundedState(
                f"{name} grows by up to {unit} ticks a unit, and its trim can leave more than {over} of them",
                "a trim that leaves no more than it lets stand",
                "correct the model's timelines",
            )
        grown += [grow(spec, over, brings, trims=False)] if keep.each_unit else []
        return max(one.most for one in grown), max(one.shift for one in grown)
    if spec.limit is not None and spec.at_limit is AtLimit.RESET and spec.initial + launch > spec.limit:
        raise AskedWrongly(
            f"{name} starts again with {spec.initial} ticks at its limit of {spec.limit}, and a launch can bring "
            f"{launch} more",
            f"a limit of at least {spec.initial + launch}",
            "correct the model's timelines",
        )
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


def _flows(declared: Declared) -> dict[str, Flow]:
    lines = {line.name: line for line in declared.timelines}
    flows: dict[str, Flow] = {}
    for line in declared.timelines:
        drive = line.drive
        if isinstance(drive, Ticking):
            parcel = unit = max(ceil(drive.rate / declared.cadence), drive.first or 0)
        elif isinstance(drive, Quota):
            events = (drive.listen, drive.opens + drive.speak, drive.opens + drive.flush)
            parcel = max((ticks for event in events for ticks in (*event, *drive.sizes)), default=0)
            unit = max(*(sum(event) for event in events), parcel)
        else:
            source, flow = lines[drive.stage], flows[drive.stage]
            parcel, unit = (
                ceil(source.yields * drive.ratio * (ticks + source.lag)) for ticks in (flow.launch, flow.unit)
            )
            parcel = parcel if drive.each else unit
        if line.chunk is None:
            waits = line.grain - 1
            flows[line.name] = Flow(parcel + waits, unit + waits)
        else:  # what is too little for a launch waits, for a later one or for the turn's last
            waits = max(line.primed, line.look_ahead + (line.least or line.chunk) - 1)
            flows[line.name] = Flow(max(line.chunk, waits), unit + waits)
    return flows
