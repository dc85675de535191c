"""Draws the meters of several sessions on one scale: bars against the deadline, and beneath them what was heard.

Imports matplotlib, its object interface alone: no window, no figure that anyone else could see.
"""

import io
import textwrap
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from engine.comparison import Comparison, Measured, felt, headline
from engine.export.page import PNG_DOTS_PER_INCH, STYLE, WITHOUT_DATE
from engine.export.palette import ALARM, FAINT, INK, Look, styles
from engine.export.seconds import LEAST_PIECE_MS, draw_seconds, legend_keys
from engine.export.time_axis import label_times
from engine.phrases import printable, spoken

WIDTH_IN, NARROW_IN = 11.0, 8.8  # of a picture, and of a meter on a page, whose type is larger
BARS_IN, LANES_IN, TITLE_IN, BETWEEN_IN = 1.75, 0.5, 0.34, 0.16
HEADING_IN, LEGEND_IN, AXIS_IN = 1.1, 0.42, 0.48
LEFT_IN, RIGHT_IN = 0.68, 0.72  # beside the bars
TOP_IN = 0.4  # above a meter that stands alone
MOST_CADENCES = 3.2  # how high the axis goes; a bar that is higher says by how much it was late
MOST_LABELS = 40  # more gaps and delays than these are marked without words
HEADING_LETTERS = 116
LEGEND_COLUMNS = 9
NARROW_SHARE = 0.07  # of the axis' width: a gap that is narrower is labelled beside it
VOICE, DELAY = 0, 1  # the lanes beneath


@dataclass(frozen=True)
class Scale:
    """What all meters have in common.

    Args:
        begin_s: Where the time axis begins.
        end_s: Where it ends.
        top_s: How high bars may go.
        looks: How each stage looks, and what else is drawn.
    """

    begin_s: float
    end_s: float
    top_s: float
    looks: dict[str, Look]

    @classmethod
    def of(cls, comparison: Comparison) -> "Scale":
        """One that every session fits on."""
        sessions = comparison.sessions
        rows = [row for session in sessions for row in session.rows]
        ends = [row.end_ns for row in rows] + [each.end_ns for session in sessions for each in session.stretches]
        cadence_s = max((session.figures.cadence_ms for session in sessions), default=0.0) / 1000 or 1.0
        tallest_s = max((row.used_ms for row in rows), default=0.0) / 1000
        names = dict.fromkeys(stage.name for session in sessions for stage in session.figures.stages)
        drawn = {span.name for row in rows for span in row.spans if span.end_ms - span.start_ms >= LEAST_PIECE_MS}
        begin_s = min((row.begin_ns for row in rows), default=0) / 1e9
        return cls(
            begin_s=begin_s,
            end_s=max(begin_s + 1.0, max(ends, default=0) / 1e9),
            top_s=min(max(tallest_s * 1.08, cadence_s * 1.15), cadence_s * MOST_CADENCES),
            looks={name: look for name, look in styles(list(names)).items() if name in names or name in drawn},
        )


def draw_all(comparison: Comparison, path: Path, kind: str, note: str = "") -> None:
    """Draw every session, one beneath the other, under the headline.

    Args:
        comparison: The sessions.
        path: The file.
        kind: "svg", "png" or "pdf".
        note: A line under the headline.
    """
    each_in = TITLE_IN + BARS_IN + LANES_IN + BETWEEN_IN
    height_in = HEADING_IN + LEGEND_IN + each_in * len(comparison.sessions) + AXIS_IN
    scale = Scale.of(comparison)
    left, right = edges(WIDTH_IN)
    with _style():
        page = Figure(figsize=(WIDTH_IN, height_in), facecolor="white")
        _heading(page, comparison, height_in, note)
        _legend(page, scale, 1 - (HEADING_IN + LEGEND_IN / 2) / height_in)
        top_in = height_in - HEADING_IN - LEGEND_IN
        for number, session in enumerate(comparison.sessions):
            last = number == len(comparison.sessions) - 1
            page.text(left, (top_in - 0.14) / height_in, printable(session.name), size=11, weight="bold", va="center")
            page.text(right, (top_in - 0.14) / height_in, felt(session), size=8.5, va="center", ha="right")
            _meter(page, session, scale, top_in - TITLE_IN, height_in, label=last)
            top_in -= each_in
        page.savefig(path, format=kind, dpi=PNG_DOTS_PER_INCH, metadata=WITHOUT_DATE[kind])


def svg_of(session: Measured, scale: Scale) -> str:
    """One session's meter as SVG with its texts as text, for a page that brings a title of its own."""
    height_in = TOP_IN + BARS_IN + LANES_IN + AXIS_IN
    with _style({"svg.fonttype": "none"}):
        page = Figure(figsize=(NARROW_IN, height_in), facecolor="white")
        _legend(page, scale, 1 - TOP_IN / 2.4 / height_in)
        _meter(page, session, scale, height_in - TOP_IN, height_in, label=True)
        file = io.StringIO()
        page.savefig(file, format="svg", metadata=WITHOUT_DATE["svg"])
    return file.getvalue()


def edges(width_in: float) -> tuple[float, float]:
    """Where bars begin and end, in shares of a picture's width."""
    return LEFT_IN / width_in, 1 - RIGHT_IN / width_in


@contextmanager
def _style(more: Any = None) -> Iterator[None]:
    with mpl.rc_context({**STYLE, **(more or {})}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")  # it is drawn as a box, which says enough
        yield


def _heading(page: Figure, comparison: Comparison, height_in: float, note: str) -> None:
    said = headline(comparison)
    lines = textwrap.wrap(said[0].upper() + said[1:], HEADING_LETTERS)[:3]
    for number, line in enumerate(lines):
        y = 1 - (0.22 + 0.2 * number) / height_in
        page.text(edges(WIDTH_IN)[0], y, line, size=10.5, weight="bold", va="center")
    heads = [session.header for session in comparison.sessions]
    about = [
        printable(" and ".join(dict.fromkeys(getattr(head, field) for head in heads))) for field in ("model", "device")
    ]
    about += [printable(heads[0].wall_clock), "in real time" if heads[0].audio.realtime else "as fast as it goes"]
    about.append(printable(f"duplexcadence {heads[0].versions.get('duplexcadence', '')}".strip()))
    left, _ = edges(WIDTH_IN)
    below_in = 0.26 + 0.2 * len(lines)
    page.text(left, 1 - below_in / height_in, "; ".join(about), size=7.5, color=FAINT, va="center")
    page.text(left, 1 - (below_in + 0.16) / height_in, printable(note), size=7.5, color=ALARM, va="center")


def _meter(page: Figure, session: Measured, scale: Scale, top_in: float, height_in: float, *, label: bool) -> None:
    """Bars from `top_in` down, the lanes beneath them."""
    left, right = edges(float(page.get_figwidth()))
    box = (left, (top_in - BARS_IN) / height_in, right - left, BARS_IN / height_in)
    bars = page.add_axes(box)
    if session.rows:
        draw_seconds(bars, session.rows, scale.looks, session.group, top_s=scale.top_s, legend=False)
    bars.set_ylim(0, scale.top_s)
    bars.set_xlim(scale.begin_s, scale.end_s)
    bars.set_ylabel("seconds of work")
    lanes = page.add_axes((left, (top_in - BARS_IN - LANES_IN) / height_in, right - left, LANES_IN / height_in))
    lanes.set_xlim(scale.begin_s, scale.end_s)
    _lanes(lanes, session)
    label_times(lanes, most=14)
    if label:
        lanes.set_xlabel("minutes and seconds")
    else:
        lanes.tick_params(labelbottom=False)


def _legend(page: Figure, scale: Scale, middle: float) -> None:
    page.legend(
        handles=legend_keys(scale.looks.values()),
        ncols=LEGEND_COLUMNS,
        fontsize=8,
        loc="center left",
        bbox_to_anchor=(edges(float(page.get_figwidth()))[0] - 0.007, middle),
        frameon=False,
        handlelength=1.5,
        columnspacing=1.4,
    )


def _lanes(axes: Axes, session: Measured) -> None:
    """When the voice was heard, the gaps, and how long each answer was waited for."""
    left_s, right_s = axes.get_xlim()
    words = len(session.gaps) + len(session.answers) <= MOST_LABELS
    for stretch in session.stretches:
        start_s, width_s = stretch.start_ns / 1e9, (stretch.end_ns - stretch.start_ns) / 1e9
        if not stretch.gap:
            axes.barh(VOICE, width_s, 0.62, start_s, color=INK, linewidth=0)
            continue
        axes.barh(VOICE, width_s, 0.62, start_s, color="white", hatch="//////", edgecolor=ALARM, linewidth=0.9)
        if words:
            narrow = width_s < NARROW_SHARE * (right_s - left_s)
            axes.annotate(
                f"{spoken(stretch.ms)} silent",
                (start_s if narrow else start_s + width_s / 2, VOICE),
                (-4 if narrow else 0, 0),
                textcoords="offset points",
                ha="right" if narrow else "center",
                va="center_baseline",
                size=7.5,
                weight="bold",
                color=ALARM,
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.6},
            )
    for answer in session.answers if words else ():
        at_s = answer.sounds_at_ns / 1e9
        asked_s = at_s - answer.delay_ms / 1000
        axes.plot([asked_s, at_s], [DELAY, DELAY], color=INK, linewidth=0.9, marker="|", markersize=6)
        axes.annotate(
            f"answer after {spoken(answer.delay_ms)}",
            (at_s, DELAY),
            (5, 0),
            textcoords="offset points",
            va="center_baseline",
            size=7.5,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.6},
        )
    axes.set_yticks([VOICE, DELAY], ["voice", "wait"])
    axes.set_ylim(-0.55, 1.55)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
