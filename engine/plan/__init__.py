"""The plan: what a session will need, worked out before it starts.

`plan(timelines, ...)` is pure and total: declared clocks in; exact shapes unit by unit (a warm-up, then a cycle), bytes
unit by unit, and the set of graphs out. It knows no device, no weights, no time and no torch. The script says what the
units are when the plan looks ahead by itself; a running session tells its own events to `Plan.advance`. The bounds
(`PlannedState.max_ticks`, `Plan.max_bytes`) hold for every script.
"""

from engine.plan.advance import Launch, Position, SessionFull, StageUnit
from engine.plan.cycles import Cycle, GraphShape
from engine.plan.planned import Plan, PlannedState, UnitPlan
from engine.plan.planning import plan
from engine.plan.script import Script

__all__ = [
    "Cycle",
    "GraphShape",
    "Launch",
    "Plan",
    "PlannedState",
    "Position",
    "Script",
    "SessionFull",
    "StageUnit",
    "UnitPlan",
    "plan",
]
