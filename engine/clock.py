"""Rates as exact ratios, and the clock that a session reads.

A stage ticks at a declared rate; which ticks fall into which unit is integer arithmetic, never a float. Time itself is
passed in: a `Clock` is the only thing in the engine that may ask what time it is.
"""

import time
from fractions import Fraction
from typing import Protocol

NS = 1_000_000_000


class Rate(Fraction):
    """Ticks a second, exact: `Rate(25, 2)` is Mimi's 12.5 Hz."""


class Clock(Protocol):
    """What a session reads the time from."""

    def now_ns(self) -> int:
        """Nanoseconds since an arbitrary start; never goes back."""
        ...

    def sleep_until_ns(self, when_ns: int) -> None:
        """Return once `now_ns()` is at least `when_ns`."""
        ...


class WallClock:
    """Real time."""

    def now_ns(self) -> int:
        return time.monotonic_ns()

    def sleep_until_ns(self, when_ns: int) -> None:
        while (left := when_ns - time.monotonic_ns()) > 0:
            time.sleep(left / NS)


class SkippingClock:
    """Real time while something works, no time while nothing does: sleeping jumps ahead instead of waiting.

    A recorded conversation runs through the same Session as fast as it goes, and its slack is still the slack that the
    cadence would have left.
    """

    def __init__(self) -> None:
        self._skipped_ns = 0

    def now_ns(self) -> int:
        return time.monotonic_ns() + self._skipped_ns

    def sleep_until_ns(self, when_ns: int) -> None:
        self._skipped_ns += max(0, when_ns - self.now_ns())
