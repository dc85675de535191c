"""A long turn through ours: whether memory grows, times drift, or bits do; at its end the released code takes over.

Entered by the engine thread.
"""

from collections.abc import Callable
from itertools import islice
from typing import Any

from engine.bench.columns import Cadence, Stock
from engine.bench.course import BenchUnit, course, for_ever
from engine.bench.equality import compare
from engine.bench.pace import DEADLINE_MS, WARM_UP, median, timed
from engine.bench.place import Place, quiet
from engine.bench.tails import STEADY
from engine.stock.caches import hand_over

HANDED_OVER = 30  # units that both say at the end
MEDIAN_OF = 100  # units at either end, to tell whether times drift
TOLD_EVERY = 1000


def endure(
    ours: Cadence, stock: Stock, count: int, vocabulary: int, place: Place, tell: Callable[[str], None]
) -> dict[str, Any]:
    """Say `count` units in one turn, the last of them together with the released code.

    Args:
        ours: Prepared and captured.
        stock: Prepared with the same voice, its settings pinned.
        count: Units in all.
        vocabulary: Speech tokens to choose from.
        place: Where both run.
        tell: Takes a line of progress.
    """
    together = min(HANDED_OVER, count // 2)
    units = course(ours.plan, islice(for_ever(STEADY), count), vocabulary, place.device)
    addresses = ours.addresses
    for column in (ours, stock):
        column.begin()
    walls: list[float] = []
    start: dict[str, int] = {}
    last: BenchUnit | None = None
    with quiet():
        for unit in islice(units, count - together):
            if unit.index == min(WARM_UP, count - together - 1):
                start = memory(ours, place)
            walls.append(timed(ours, unit, place))
            last = unit
            if (unit.index + 1) % TOLD_EVERY == 0:
                tell(f"{unit.index + 1} of {count} units")
    end = memory(ours, place)
    assert last is not None, "a unit before those said together"
    hand_over(ours.ours, ours.views, stock.driver)
    steady = walls[WARM_UP:] or walls
    first_ms, last_ms = median(steady[:MEDIAN_OF]), median(steady[-MEDIAN_OF:])
    found: dict[str, Any] = {
        "units": count,
        "overruns": sum(wall > DEADLINE_MS for wall in walls),
        "memory_start": start,
        "memory_end": end,
        "grown_bytes": {name: end[name] - start[name] for name in start},
        "drift": round(last_ms / first_ms, 4),
        "handed_over_at": last.index + 1,
        "after": compare(ours, stock, units),
        "addresses_still": ours.addresses == addresses,
    }
    if place.is_gpu:
        found |= {"median_first_ms": round(first_ms, 3), "median_last_ms": round(last_ms, 3)}
    return found


def memory(ours: Cadence, place: Place) -> dict[str, int]:
    """What is in use, in bytes."""
    place.synchronize()
    found = {
        "arena_committed": ours.arena.committed_bytes,
        "arena_resident": ours.arena.resident_bytes,
        "device_used": place.used_bytes(),
    }
    if (in_torch := place.torch_bytes()) is not None:
        found["torch_allocated"] = in_torch
    return found
