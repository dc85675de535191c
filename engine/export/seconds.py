"""The picture's upper half: every second as a bar of its stages against the deadline, and whose second it was.

Imports matplotlib; draws into the axes it is given.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from engine.cadence.rows import OTHER, WAITING, Row
from engine.export.palette import ALARM, FAINT, GRID, INK, Look
from engine.export.time_axis import label_times
from engine.phrases import printable, spoken

MOST_CADENCES = 1.6  # how high the axis goes; a bar that is higher says by how much it was late
MOST_DELAYS = 32  # more numbers than this would run into each other
LATE_LABEL_SHARE = 0.085  # of the axis' width, that an overrun's label takes
LABELS_A_LINE, LABEL_LETTERS = 6, 28
LANES = ("LISTEN", "FLUSH", "SPEAK")
LANE_COLOURS = {"LISTEN": "#cccccc", "FLUSH": "#8f8f8f", "SPEAK": INK}
LEAST_PIECE_MS = 1.0  # of waiting and other work; a thinner piece would be all outline


def draw_seconds(
    axes: Axes,
    rows: Sequence[Row],
    looks: dict[str, Look],
    group: int,
    *,
    top_s: float | None = None,
    legend: bool = True,
) -> None:
    """Bars of stages, the deadline, and a mark on each overrun.

    Args:
        axes: What to draw into.
        rows: At least one.
        looks: How each stage looks.
        group: How many neighbours a row stands for.
        top_s: How high the axis goes; by its own bars where none is given.
        legend: Whether to say above it which stage looks how.
    """
    cadence_s = max(float(np.median([row.cadence_ms for row in rows])), 1.0) / 1000
    tallest_s = max(row.used_ms for row in rows) / 1000
    top_s = top_s or min(max(tallest_s * 1.1, cadence_s * 1.1), cadence_s * MOST_CADENCES)
    drawn = _bars(axes, rows, looks)
    axes.axhline(cadence_s, color=INK, linewidth=1.7, zorder=5)
    axes.annotate(
        "deadline", (1, cadence_s), (4, 0), ("axes fraction", "data"), "offset points", va="center", weight="bold"
    )
    axes.set_ylim(0, top_s)
    axes.set_xlim(rows[0].begin_ns / 1e9, max(rows[-1].end_ns, rows[0].begin_ns + 1) / 1e9)
    _mark_overruns(axes, [row for row in rows if row.overruns], top_s)
    axes.set_ylabel("seconds since the chunk arrived")
    axes.grid(axis="y", color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.tick_params(labelbottom=False)
    if legend:
        _draw_legend(axes, drawn)
    if group > 1:
        note = f"a bar is the tightest of {group} neighbours"
        axes.annotate(note, (1, 1), (0, 8), "axes fraction", "offset points", ha="right", color=FAINT)


def legend_keys(drawn: Iterable[Look]) -> list[Patch]:
    """A patch for each look, its name beside it."""
    return [
        Patch(
            facecolor=look.fill,
            hatch=look.hatch,
            edgecolor=INK,
            linewidth=0.4,
            label=printable(look.label)[:LABEL_LETTERS],
        )
        for look in drawn
    ]


def _draw_legend(axes: Axes, drawn: list[Look]) -> None:
    """Which stage looks how, in a line above."""
    keys = legend_keys(drawn)
    axes.legend(
        handles=keys,
        ncols=min(len(keys), LABELS_A_LINE),
        fontsize=8.5 if len(keys) <= LABELS_A_LINE else 6.5,
        loc="lower left",
        bbox_to_anchor=(-0.007, 1.0),
        frameon=False,
        handlelength=1.5,
        columnspacing=1.5,
    )


def _bars(axes: Axes, rows: Sequence[Row], looks: dict[str, Look]) -> list[Look]:
    """Draws them, and returns the looks that were met, in the legend's order."""
    pieces: dict[str, list[tuple[float, float, float, float]]] = defaultdict(list)  # left, width, bottom, height
    for row in rows:
        left, width = _extent(row, 0.88)
        for span in row.spans:
            if span.name not in (OTHER, WAITING) or span.end_ms - span.start_ms >= LEAST_PIECE_MS:
                pieces[span.name].append((left, width, span.start_ms / 1000, (span.end_ms - span.start_ms) / 1000))
    for name in pieces:
        left_, width_, bottom, height = np.array(pieces[name]).T
        axes.bar(
            left_,
            height,
            width_,
            bottom,
            align="edge",
            color=looks[name].fill,
            hatch=looks[name].hatch,
            edgecolor=INK,
            linewidth=0.25,
        )
    return [look for name, look in looks.items() if name in pieces]


def _mark_overruns(axes: Axes, late: list[Row], top_s: float) -> None:
    """A triangle on each, and in words by how much on the worst, as far as labels do not run into each other."""
    left_s, right_s = axes.get_xlim()
    labelled: list[float] = []  # their middles, as shares of the axis' width
    for row in sorted(late, key=lambda row: row.slack_ms):
        left, width = _extent(row)
        centre, height = left + width / 2, min(row.used_ms / 1000, top_s * 0.975)
        axes.plot(
            [centre], [height], "v", color=ALARM, markersize=5.5, markeredgecolor="white", clip_on=False, zorder=6
        )
        share = (centre - left_s) / (right_s - left_s)
        side = 1 if share < 1 - LATE_LABEL_SHARE else -1
        middle = share + side * LATE_LABEL_SHARE / 2
        if any(abs(middle - other) < LATE_LABEL_SHARE for other in labelled):
            continue
        labelled.append(middle)
        axes.annotate(
            f"{spoken(-row.slack_ms)} late",
            (centre, height),
            (5 * side, 1),
            textcoords="offset points",
            ha="left" if side > 0 else "right",
            va="center",
            color=ALARM,
            weight="bold",
            size=7.5,
            zorder=7,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8, "alpha": 0.85},
        )


def draw_turns(axes: Axes, rows: list[Row]) -> None:
    """Whose each second was, a lane each, and the response delay where an answer begins.

    A row that stands for several units fills as much of a lane's height as the event has of them.
    """
    for lane, event in enumerate(LANES):
        shares = [dict(row.events).get(event, 0) / row.units for row in rows]
        left, width = np.array([_extent(row) for row in rows]).T
        axes.bar(
            left,
            [share * 0.74 for share in shares],
            width,
            lane + 0.13,
            align="edge",
            color=LANE_COLOURS[event],
            linewidth=0,
        )
    lanes = [event if event == "SPEAK" else event.lower() for event in LANES]
    answers = [(row.begin_ns / 1e9, row.worst_delay_ms) for row in rows if row.worst_delay_ms is not None]
    if 0 < len(answers) <= MOST_DELAYS:
        lanes.append("delay, s")
        for at_s, delay_ms in answers:
            axes.annotate(f"{delay_ms / 1000:.2f}", (at_s, len(LANES) + 0.5), va="center_baseline", size=7)
    axes.set_yticks([lane + 0.5 for lane in range(len(lanes))], lanes)
    axes.set_ylim(0, len(lanes))
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    label_times(axes, most=14)
    axes.set_xlabel("minutes and seconds")


def _extent(row: Row, fill: float = 1.0) -> tuple[float, float]:
    """Left edge and width of a row's bar, in seconds."""
    width = max(row.end_ns - row.begin_ns, 1) / 1e9
    return (row.begin_ns / 1e9 + width * (1 - fill) / 2, width * fill)
