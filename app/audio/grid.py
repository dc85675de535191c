"""Where a session's samples lie in time. Entered by any thread; nothing here changes."""

from dataclasses import dataclass

from engine.clock import NS


@dataclass(frozen=True)
class Grid:
    """Session sample n belongs to the moment `origin_ns` + n / `rate_hz`.

    Args:
        origin_ns: When sample 0 was in hand.
        rate_hz: Samples a second.
    """

    origin_ns: int
    rate_hz: int

    def position(self, time_ns: float) -> float:
        """Which sample belongs to a time; between two of them, a fraction."""
        return (time_ns - self.origin_ns) * self.rate_hz / NS

    def time_ns(self, position: int) -> int:
        """When a sample was in hand."""
        return self.origin_ns + position * NS // self.rate_hz
