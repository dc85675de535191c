"""Whether ours is the released code to the bit: sound and every cache, after every launch of a scripted session.

Entered by the engine thread.
"""

from collections.abc import Iterable
from itertools import islice
from typing import Any

import torch

from engine.bench.columns import Cadence, Stock
from engine.bench.course import BenchUnit, course, for_ever
from engine.bench.place import Place
from engine.plan import Script
from engine.stock.caches import same_caches

STEADY_UNITS, TINY_STEADY_UNITS = 30, 6
TURNS = 2


def script(tiny: bool) -> str:
    """A turn, again and again: a short first unit, steady ones, a flush."""
    return f"(S17 {'S ' * (TINY_STEADY_UNITS if tiny else STEADY_UNITS)}F13)"


def compare_session(ours: Cadence, stock: Stock, told: str, vocabulary: int, place: Place) -> dict[str, Any]:
    """The scripted session through both, from a turn's beginning.

    Args:
        ours: Prepared.
        stock: Prepared with the same voice, its settings pinned.
        told: The script of a turn.
        vocabulary: Speech tokens to choose from.
        place: Where both run.
    """
    units = TURNS * len(Script.parse(told).cycle)
    walk = course(ours.plan, islice(for_ever(told), units), vocabulary, place.device)
    before = ours.addresses
    for column in (ours, stock):
        column.begin()
    found = compare(ours, stock, walk)
    return {**found, "addresses_still": ours.addresses == before}


def compare(ours: Cadence, stock: Stock, units: Iterable[BenchUnit]) -> dict[str, Any]:
    """Units through both; how many there were, how many were equal, and what differed first."""
    came = equal = launches = 0
    first: str | None = None
    for unit in units:
        theirs, sounds = stock.say(unit), ours.say(unit)
        wrong = [
            f"sound of {launch.tokens.shape[1]} tokens"
            for launch, one, other in zip(unit.launches, sounds, theirs, strict=True)
            if not torch.equal(one, other)
        ]
        for column in (stock, ours):
            column.rest(unit)
        wrong += [name for name, same in same_caches(ours.ours, ours.views, stock.driver).items() if not same]
        came, equal, launches = came + 1, equal + (not wrong), launches + len(unit.launches)
        if wrong and first is None:
            first = f"unit {unit.index}: {', '.join(wrong)}"
    return {"against": stock.name, "units": came, "launches": launches, "equal": equal, "first_difference": first}
