"""How long a unit takes, by its event: every runtime in one process, unit by unit in turn.

A unit's time is the host's, from its mel on the device to its sound on the host and its closing tokens read; what
belongs to the slack is outside of it. Entered by the engine thread.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any

from engine.bench.columns import CADENCE
from engine.bench.pace import summed_up
from engine.bench.place import Place, quiet
from engine.bench.unit.columns import CadenceUnit, Heard, Said, UnitColumn
from engine.bench.unit.rig import Outside, UnitRig
from engine.plan import Script

Walls = dict[str, dict[str, list[float]]]  # milliseconds, by column and event


def paces(rig: UnitRig, texts: int, units: int, tell: Callable[[str], None]) -> dict[str, dict[str, Any]]:
    """Times of the asked script at so many text tokens a unit that speaks: by column and event, a pace's figures."""
    outside = Outside(rig.asked.script, texts)
    script = Script.parse(rig.asked.script)
    warm_up = len(script.start) + 2 * len(script.cycle)  # lengths recur from turn to turn: once to meet, once to check
    columns: list[UnitColumn] = [rig.column(name, outside) for name in rig.asked.runtimes]
    for column in columns:
        column.capture()
        column.begin(rig.opening())
        tell(f"{column.name} is ready")
    heard, walls = rig.heard(), {column.name: dict[str, list[float]]() for column in columns}
    paths, before = Counter[str](), dict[str, Any]()
    with quiet():
        for one in islice(heard, warm_up):
            for column in columns:
                timed(column, one, rig.place)
        before = {column.name: column.figures() for column in columns}
        for number, one in enumerate(islice(heard, units), 1):
            for column in _in_turn(columns, number):
                said, wall = timed(column, one, rig.place)
                walls[column.name].setdefault(said.event, []).append(wall)
                if isinstance(column, CadenceUnit):
                    paths.update(f"{record.name} {record.path}" for record in column.settled)
            if number % 10 == 0 or number == units:
                tell(f"{number} of {units} units")
    found: dict[str, dict[str, Any]] = {}
    for column in columns:
        found[column.name] = {event: summed_up(times, rig.place) for event, times in walls[column.name].items()}
        if column.name == CADENCE:
            fell_back = column.figures().get("eager_fallbacks", 0) - before[CADENCE].get("eager_fallbacks", 0)
            found[CADENCE] |= {"paths": dict(sorted(paths.items())), "eager_fallbacks": fell_back}
            found[CADENCE] |= {"graphs": column.figures()}
        column.close()
    columns.clear()
    return found


def timed(column: UnitColumn, heard: Heard, place: Place) -> tuple[Said, float]:
    """Hear a unit, and get ready for the next; what it came to, and milliseconds of the hearing."""
    place.synchronize()
    start_ns = place.clock.now_ns()
    said = column.hear(heard)
    place.synchronize()
    wall_ns = place.clock.now_ns() - start_ns
    column.rest(heard)
    return said, wall_ns / 1e6


def _in_turn(columns: Sequence[UnitColumn], number: int) -> Sequence[UnitColumn]:
    first = number % len(columns)
    return [*columns[first:], *columns[:first]]
