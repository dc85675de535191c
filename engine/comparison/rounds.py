"""Repeats of a session, and how far a figure moves from one to the next. Pure; any thread."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

# Student's t for 95% between both tails, by degrees of freedom from 1; beyond the last it is a little too wide.
T_95 = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
    2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip


@dataclass(frozen=True)
class Interval:
    """A mean and its 95% confidence interval.

    Args:
        mean: Of the values.
        half: The interval reaches so far to either side; None of one value, which says nothing of others.
        count: How many values there were.
    """

    mean: float
    half: float | None
    count: int

    @property
    def low(self) -> float | None:
        """Its lower end."""
        return None if self.half is None else self.mean - self.half

    @property
    def high(self) -> float | None:
        """Its upper end."""
        return None if self.half is None else self.mean + self.half


def interval(values: Sequence[float | None]) -> Interval | None:
    """The interval of one figure over repeats, by Student's t; None where a repeat has no such figure."""
    given = [value for value in values if value is not None]
    if not given or len(given) < len(values):
        return None
    mean = math.fsum(given) / len(given)
    if len(given) == 1:
        return Interval(mean, None, 1)
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in given) / (len(given) - 1))
    t = T_95[min(len(given) - 1, len(T_95)) - 1]
    return Interval(mean, t * deviation / math.sqrt(len(given)), len(given))
