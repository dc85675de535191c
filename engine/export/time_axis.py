"""Ticks of a time axis as minutes and seconds. Imports matplotlib."""

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MultipleLocator

STEPS_S = (1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 28800, 86400)


def label_times(axes: Axes, most: int) -> None:
    """Put at most so many ticks, on round times, under the x axis, whose unit is the second."""
    left, right = axes.get_xlim()
    step = next((step for step in STEPS_S if (right - left) / step <= most), (right - left) / most)
    axes.xaxis.set_major_locator(MultipleLocator(step))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: clock_time(value)))


def clock_time(seconds: float) -> str:
    """Minutes and seconds, from an hour on with hours: "1:05", "2:00:00"."""
    whole = round(seconds)
    sign, whole = ("-" if whole < 0 else "", abs(whole))
    if whole < 3600:
        return f"{sign}{whole // 60}:{whole % 60:02d}"
    return f"{sign}{whole // 3600}:{whole // 60 % 60:02d}:{whole % 60:02d}"
