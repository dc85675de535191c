"""How long a unit takes: every runtime in one process, unit by unit in turn, so that all meet the same machine.

A unit's time is the host's, from its tokens to its sound on the host; what belongs to the slack is outside of it.
Entered by the engine thread.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any, Protocol, TypeVar

from engine.bench.place import Place, quiet
from engine.cadence.statistics import Spread

WARM_UP = 8  # units: three until lengths stand still, then some for what libraries put off
DEADLINE_MS = 1000.0


Unit = TypeVar("Unit")
Said = TypeVar("Said", contravariant=True)


class Speaker(Protocol[Said]):
    """What is timed, over units of its own kind; see `engine.bench.columns.Column`."""

    name: str

    def say(self, unit: Said) -> Any:
        """A unit's sound, on the host."""
        ...

    def rest(self, unit: Said) -> None:
        """Get ready for what comes after the unit."""
        ...


def timed(column: Speaker[Unit], unit: Unit, place: Place) -> float:
    """Say a unit, and get ready for the next; milliseconds of the saying."""
    place.synchronize()
    start_ns = place.clock.now_ns()
    column.say(unit)
    place.synchronize()
    wall_ns = place.clock.now_ns() - start_ns
    column.rest(unit)
    return wall_ns / 1e6


def take_turns(
    columns: Sequence[Speaker[Unit]], units: Iterator[Unit], count: int, place: Place, tell: Callable[[str], None]
) -> dict[str, list[float]]:
    """Milliseconds of each of `count` units by column, after a warm-up; who goes first changes from unit to unit."""
    walls: dict[str, list[float]] = {column.name: [] for column in columns}
    with quiet():
        for unit in islice(units, WARM_UP):
            for column in columns:
                timed(column, unit, place)
        for number, unit in enumerate(islice(units, count)):
            first = number % len(columns)
            for column in (*columns[first:], *columns[:first]):
                walls[column.name].append(timed(column, unit, place))
            if (number + 1) % 25 == 0 or number + 1 == count:
                tell(f"{number + 1} of {count} units")
    return walls


def summed_up(walls: Sequence[float], place: Place) -> dict[str, Any]:
    """A column's figures; in milliseconds on a GPU alone, where they mean something beyond this machine."""
    spread = Spread.of(walls)
    assert spread is not None, "at least one unit"
    figures: dict[str, Any] = {"units": spread.count, "overruns": sum(wall > DEADLINE_MS for wall in walls)}
    if place.is_gpu:
        named = {"median_ms": spread.median, "p95_ms": spread.p95, "p99_ms": spread.p99, "mean_ms": spread.mean}
        figures |= {name: round(value, 3) for name, value in named.items()}
    return figures


def median(walls: Sequence[float]) -> float:
    """Of milliseconds."""
    spread = Spread.of(walls)
    assert spread is not None, "at least one unit"
    return spread.median
