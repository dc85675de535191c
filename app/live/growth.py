"""Whether a session's memory grows: a slope over minutes, said as a fault long before the machine is full. Pure."""

from engine.cadence import Statistics
from engine.phrases import MIB, size

SLOPE = 4 * MIB  # bytes a minute: a gigabyte in four hours
SOONEST_UNITS = 600  # loading and first use are behind it
AGAIN_UNITS = 600


class Growth:
    """Looks at figures unit by unit, and tells at most every ten minutes."""

    def __init__(self) -> None:
        self._next_units = SOONEST_UNITS

    def grown(self, figures: Statistics) -> str:
        """One line where memory grows; empty where it does not, or where that was said lately."""
        if figures.units < self._next_units or figures.rss_slope is None or figures.rss_slope < SLOPE:
            return ""
        self._next_units = figures.units + AGAIN_UNITS
        return (
            f"the program's memory grows by {size(figures.rss_slope)} a minute; it holds {size(figures.peak_rss or 0)}"
        )
