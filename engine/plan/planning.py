"""Makes a plan of declared timelines, or refuses them: what contradicts itself, and what would grow without a bound."""

from math import floor

from engine.clock import Rate
from engine.errors import AskedWrongly
from engine.plan.advance import SHIFT, Declared
from engine.plan.bounds import most_ticks
from engine.plan.planned import Plan, PlannedState
from engine.plan.script import Script
from engine.stage import After, StateSpec, Timeline


def plan(
    timelines: tuple[Timeline, ...],
    *,
    cadence: Rate = Rate(1),  # noqa: B008 - an exact constant
    script: str | Script = "LLSSSF",
    session_s: int | None = None,
) -> Plan:
    """Work out what a session of these stages needs.

    Args:
        timelines: The stages, each after those it depends on.
        cadence: Units a second.
        script: What the units are, where the plan looks ahead by itself; see `engine.plan.script`.
        session_s: Seconds after which the session ends, at the latest; None where it has no declared end.

    Raises:
        AskedWrongly: The timelines contradict themselves or one another.
        UnboundedState: A state would grow without a bound, and the session declares no end.
    """
    declared = Declared(timelines, _specs(timelines), cadence)
    units = None if session_s is None else floor(session_s * cadence)
    most = most_ticks(declared, units)
    states = []
    for name, spec in declared.specs.items():
        states.append(PlannedState(name, spec.dtype, spec.item_shape, most[name], spec.initial, spec.reset, spec.group))
        if name + SHIFT in most:
            part = spec.item_shape if spec.shift_shape is None else spec.shift_shape
            states.append(PlannedState(name + SHIFT, spec.dtype, part, most[name + SHIFT], 0, spec.reset))
    return Plan(declared, tuple(states), Script.parse(script) if isinstance(script, str) else script, units)


def _specs(timelines: tuple[Timeline, ...]) -> dict[str, StateSpec]:
    """All states by "stage.state"; refuses names that are taken, missing or out of order."""
    specs: dict[str, StateSpec] = {}
    seen: set[str] = set()
    for line in timelines:
        _known(line.name not in seen, f"two stages named {line.name}", "names that differ")
        specs |= {f"{line.name}.{spec.name}": spec for spec in line.states}
        for name in line.shares:
            _known(name in specs, f"stage {line.name} shares {name}", "a state of a stage before it")
        if isinstance(line.drive, After):
            _known(line.drive.stage in seen, f"stage {line.name} follows {line.drive.stage}", "a stage before it")
        seen.add(line.name)
    _known(bool(timelines), "no timelines", "at least one stage")
    return specs


def _known(right: bool, came: str, needed: str) -> None:
    if not right:
        raise AskedWrongly(came, needed, "correct the model's timelines")
