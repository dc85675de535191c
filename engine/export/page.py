"""Lays out the one-page picture: title and verdict, the seconds, who spoke, and three panels beneath.

Imports matplotlib, its object interface alone: no window, no figure that anyone else could see.
"""

import warnings
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from engine.cadence.rows import Row, rows_of, thinned
from engine.cadence.statistics import Statistics, measure
from engine.cadence.verdict import described, verdict
from engine.export import panels
from engine.export.palette import FAINT, INK, styles
from engine.export.seconds import draw_seconds, draw_turns
from engine.phrases import counted, printable, spoken
from engine.timing import Log

PAGE_INCHES = (11.0, 7.6)
PNG_DOTS_PER_INCH = 180
MOST_BARS = 180
MARGIN = 0.022  # of the page's width: where the heading begins
LEFT, RIGHT = 0.062, 0.932
STYLE: Any = {
    "font.family": "DejaVu Sans",  # comes with matplotlib, so a page looks the same everywhere
    "font.size": 8.5,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 9,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlecolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.major.width": 0.7,
    "ytick.major.width": 0.7,
    "text.color": INK,
    "text.parse_math": False,  # a stage named "$x" is no formula
    "hatch.linewidth": 0.6,
    "svg.hashsalt": "duplexcadence",  # one log, one picture, to the byte
}
WITHOUT_DATE: dict[str, Any] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}


def draw_page(log: Log, path: Path, kind: str) -> None:
    """Draw the log's session into a file.

    Args:
        log: The session.
        path: The file.
        kind: "svg", "png" or "pdf".

    Raises:
        BadLog: A line is not schema 1.
    """
    rows, group = thinned(rows_of(log.units()), MOST_BARS)
    figures = measure(log.records())
    with mpl.rc_context(STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")  # it is drawn as a box, which says enough
        page = Figure(figsize=PAGE_INCHES, facecolor="white")
        _heading(page, log, figures)
        if rows:
            _body(page, log, figures, rows, group)
        page.savefig(path, format=kind, dpi=PNG_DOTS_PER_INCH, metadata=WITHOUT_DATE[kind])


def _body(page: Figure, log: Log, figures: Statistics, rows: list[Row], group: int) -> None:
    looks = styles([stage.name for stage in figures.stages])
    above = page.add_gridspec(2, 1, left=LEFT, right=RIGHT, top=0.81, bottom=0.385, height_ratios=(4.4, 1), hspace=0.06)
    seconds = page.add_subplot(above[0])
    draw_seconds(seconds, rows, looks, group)
    draw_turns(page.add_subplot(above[1], sharex=seconds), rows)
    beneath = page.add_gridspec(1, 3, left=0.115, right=RIGHT, top=0.262, bottom=0.07, wspace=0.3)
    panels.draw_stages(page.add_subplot(beneath[0]), figures, looks)
    panels.draw_slack(page.add_subplot(beneath[1]), log.units())
    memory = beneath[2].subgridspec(2, 1, hspace=0.5)
    panels.draw_memory(page.add_subplot(memory[0]), page.add_subplot(memory[1]), rows)


def _heading(page: Figure, log: Log, figures: Statistics) -> None:
    said = verdict(figures)
    page.text(MARGIN, 0.957, said[0].upper() + said[1:], size=13, weight="bold", va="center")
    page.text(MARGIN, 0.921, "; ".join(_felt(figures)), size=9.5, va="center")
    version = f"duplexcadence {log.header.versions.get('duplexcadence', '')}".strip()
    about = [described(log.header), printable(log.header.wall_clock), printable(version), log.caveat]
    page.text(MARGIN, 0.892, "; ".join(part for part in about if part), size=7.5, color=FAINT, va="center")


def _felt(figures: Statistics) -> list[str]:
    """What a person in the conversation noticed."""
    said = []
    if delay := figures.response_delay_ms:
        answers = counted(delay.count, "answer")
        said.append(f"response delay median {spoken(delay.median)}, p95 {spoken(delay.p95)} over {answers}")
    if figures.slack_ms:
        said.append(f"95% of units kept {spoken(figures.slack_ms.p95)} of slack")
        gaps = f"{counted(figures.underflows, 'gap')} in the voice, {spoken(figures.gap_ms)} in all"
        said.append(gaps if figures.gap_ms else "no gap in the voice")
    return said
