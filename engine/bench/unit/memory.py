"""What a runtime takes of the device's memory, and what it takes it for. Entered by the engine thread.

One column after the other in one process; a total is the driver's figure above what there was before any weight was
made. What is left of it beside the parts is torch's cache, the libraries' own, and rounding.
"""

from itertools import islice
from typing import Any

from engine.bench.peaks import GRANULES, Watch
from engine.bench.unit.columns import CadenceUnit
from engine.bench.unit.rig import Outside, UnitRig
from engine.layout import lay_out


def memory(rig: UnitRig, name: str, units: int) -> dict[str, Any]:
    """A column's peak and its parts, in bytes; of ours, whether the arena keeps to the plan as well."""
    place = rig.place
    place.forget()
    column = rig.column(name, Outside(rig.asked.script))
    column.capture()
    column.begin(rig.opening())
    place.forget()
    watch, used = Watch(column, place), [place.used_bytes()]
    watch.prepared()
    kept = Kept(column, rig) if isinstance(column, CadenceUnit) else None
    for heard in islice(rig.heard(), units):
        watch.before()
        column.hear(heard)
        place.synchronize()
        watch.after()
        column.rest(heard)
        if kept is not None:
            kept.look()
        used.append(place.used_bytes())
    found: dict[str, Any] = {
        "units": units,
        "peak_bytes": max(used) - rig.baseline_bytes,
        "weight_bytes": rig.weight_bytes,
        "state_bytes": watch.state_bytes,
        "graph_bytes": place.graph_bytes() if isinstance(column, CadenceUnit) else 0,
    }
    if (split := watch.split()) is not None:
        found["activation_bytes"] = split[1]
    if kept is not None:
        found |= kept.figures()
    column.close()
    return found


class Kept:
    """Whether the arena's committed memory keeps to the plan: its bytes, and some granules a group."""

    def __init__(self, ours: CadenceUnit, rig: UnitRig) -> None:
        self._ours, granule = ours, rig.place.granule_bytes
        self._item_bytes = {state.name: state.item_bytes for state in ours.plan.states}
        self._groups = 1 + sum(block.grows for block in lay_out(ours.plan.states, granule).blocks)
        self._room = GRANULES * granule * self._groups
        self._most_committed = self._most_planned = 0
        self._within, self._addresses = True, ours.addresses

    def look(self) -> None:
        """A unit is over, and memory is committed for the next."""
        ours = self._ours
        planned = sum(ticks * self._item_bytes[name] for name, ticks in ours.following.demanded.items())
        self._within &= ours.arena.committed_bytes <= planned + self._room
        self._most_planned = max(self._most_planned, planned)
        self._most_committed = max(self._most_committed, ours.arena.committed_bytes)

    def figures(self) -> dict[str, Any]:
        """For the record."""
        return {
            "committed_bytes": self._most_committed,
            "planned_bytes": self._most_planned,
            "groups": self._groups,
            "within_plan": self._within,
            "addresses_still": self._ours.addresses == self._addresses,
        }
