"""The picture's lower half: where a second goes, slack, memory. Imports matplotlib; draws into the axes it is given."""

from collections import defaultdict
from collections.abc import Iterable

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator, PercentFormatter

from engine.cadence.rows import Row
from engine.cadence.statistics import Statistics
from engine.export.palette import ALARM, GRID, INK, Look
from engine.export.time_axis import label_times
from engine.phrases import MIB, printable, size, spoken
from engine.timing import UnitRecord

NAME_LETTERS = 16
SOLID, DASHED = (0, ()), (0, (4, 1.6))


def draw_stages(axes: Axes, figures: Statistics, looks: dict[str, Look]) -> None:
    """Each stage's median time, and how far its p95 and its worst reach."""
    axes.set_title("Where a second goes", pad=8)
    for row, stage in enumerate(figures.stages):
        look = looks[stage.name]
        median, p95, worst = stage.ms.median / 1000, stage.ms.p95 / 1000, stage.ms.worst / 1000
        axes.barh(row, median, 0.6, color=look.fill, hatch=look.hatch, edgecolor=INK, linewidth=0.5)
        axes.plot([median, worst], [row, row], color=INK, linewidth=0.9)
        axes.plot([p95], [row], "|", color=INK, markersize=9, markeredgewidth=1.6)
        axes.plot([worst], [row], "o", color=INK, markersize=3)
        text = f"{spoken(stage.ms.median)}, {spoken(stage.ms.p95)}"
        axes.annotate(text, (worst, row), (6, 0), textcoords="offset points", va="center", size=7.5)
    longest_s = max((stage.ms.worst for stage in figures.stages), default=0.0) / 1000
    axes.set_xlim(0, max(longest_s, 1e-6) * 1.55)
    axes.set_yticks(range(len(figures.stages)), [printable(stage.name)[:NAME_LETTERS] for stage in figures.stages])
    axes.set_ylim(max(len(figures.stages), 1) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.set_xlabel("seconds a unit: bar median, tick p95, dot worst")


def draw_slack(axes: Axes, units: Iterable[UnitRecord]) -> None:
    """How many units kept at least how much slack, speaking and listening apart."""
    axes.set_title("Slack", pad=8)
    kept: dict[str, list[float]] = defaultdict(list)
    for unit in units:
        kept["SPEAK" if str(unit.event) == "SPEAK" else "others"].append(unit.slack_ms / 1000)
    for event, line in (("SPEAK", SOLID), ("others", DASHED)):
        if event in kept:
            values = np.sort(kept[event])
            share = 1 - np.arange(len(values) + 1) / len(values)
            axes.step([*values, values[-1]], share, where="pre", linestyle=line, color=INK, linewidth=1.4, label=event)
    axes.axvline(0, color=ALARM, linewidth=1.6)
    axes.annotate(
        "deadline", (0, 0.03), (-3, 0), textcoords="offset points", rotation=90, ha="right", color=ALARM, size=7.5
    )
    axes.set_ylim(0, 1.04)
    low, high = axes.get_xlim()
    axes.set_xlim(min(low, -0.09 * high), high)
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    axes.xaxis.set_major_locator(MaxNLocator(6))
    axes.set_ylabel("of units kept at least")
    axes.set_xlabel("so many seconds")
    axes.grid(color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.legend(
        frameon=False, loc="lower right", bbox_to_anchor=(1.02, 0.99), ncols=2, handlelength=2.2, columnspacing=1.2,
        borderaxespad=0.2,
    )  # fmt: skip


def draw_memory(upper: Axes, lower: Axes, rows: list[Row]) -> None:
    """Resident memory above, the arena's committed part beneath, each on a scale of its own that begins at nothing."""
    at_s = np.array([row.end_ns / 1e9 for row in rows])
    resident = [float("nan") if row.rss is None else row.rss / MIB for row in rows]
    committed = [row.committed / MIB for row in rows]
    for axes, name, mib in ((upper, "Resident memory", resident), (lower, "Arena, committed", committed)):
        most = float(np.nanmax(mib)) if not np.all(np.isnan(mib)) else 0.0
        axes.set_title(f"{name}: " + (f"at most {size(most * MIB)}" if most else "not measured"), pad=4)
        axes.step(at_s, mib, where="pre", color=INK, linewidth=1.2)
        axes.set_ylim(0, most * 1.25 or 1)
        axes.set_xlim(rows[0].begin_ns / 1e9, max(rows[-1].end_ns, rows[0].begin_ns + 1) / 1e9)
        axes.yaxis.set_major_locator(MaxNLocator(3))
        axes.set_ylabel("MiB")
        label_times(axes, most=7)
    upper.tick_params(labelbottom=False)
