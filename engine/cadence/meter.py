"""The cadence meter in text: a bar a second, its stages as letters, the deadline as a line they must not cross.

LISTEN and SPEAK differ in their words and in the case of the letters, so that the meter reads without colour, in a log
file and on paper. Knows nothing of files. Pure; any thread.
"""

import textwrap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from engine.cadence.bars import FAR, SIGNS, Bars, BarStyle, letters
from engine.cadence.rows import OTHER, WAITING, Row, rows_of, thinned
from engine.cadence.statistics import Statistics
from engine.phrases import aligned, printable, spoken
from engine.timing import UnitRecord

LEAST_WIDTH = 60
BESIDE_BAR = 35  # columns of all that stands beside a bar, the deadline's own included
RHYTHM_LINES = 12  # a longer session's rhythm is left out
RHYTHM_SIGNS = {"LISTEN": ".", "SPEAK": "S", "FLUSH": "f"}
NAME_COLUMNS = 24


@dataclass(frozen=True)
class MeterStyle:
    """How the meter is drawn.

    Args:
        width: Columns of the terminal; at least 60 are used.
        most_rows: Rows for bars, at least 2; a longer session shows the tightest of every 2, 4, 8 ... seconds.
        colour: Whether stages have a colour, by ANSI escapes; nothing is told by colour alone.
        ascii: Whether to keep to ASCII.
    """

    width: int = 80
    most_rows: int = 40
    colour: bool = False
    ascii: bool = False


def text_meter(units: Iterable[UnitRecord], figures: Statistics, style: MeterStyle | None = None) -> str:
    """The meter with its axis and legend, lines joined by newlines; empty where no unit ran.

    Args:
        units: The session's units, in order, from a log or from memory; gone through once.
        figures: What `measure` says of the same session.
        style: How to draw it.
    """
    style = style or MeterStyle()
    width = max(LEAST_WIDTH, style.width)
    rhythm: list[str] = []
    rows, group = thinned(_overheard(rows_of(units), rhythm), max(2, style.most_rows))
    if not rows:
        return ""
    stage_letters = letters(stage.name for stage in figures.stages)
    bar_style = BarStyle(width - BESIDE_BAR, style.colour, style.ascii)
    bars = Bars(rows, stage_letters, bar_style)
    lines = [f"{'unit':>7} {'event':<9}{bars.axis()}{'slack':>7}    {'delay':>6}"]
    lines += [_line(row, bars.bar(row)) for row in rows]
    lines += ["", *_stage_table(figures, stage_letters), *_legend(width, bar_style.deadline_sign)]
    above = [*(_rhythm(rhythm, width) if group > 1 else []), *_captions(rows, group)]
    return "\n".join(line.rstrip() for line in above + lines)


def meter_line(unit: UnitRecord, stage_letters: Mapping[str, str], style: MeterStyle | None = None) -> str:
    """One unit as a row of the meter, for a session that still runs.

    Args:
        unit: The unit.
        stage_letters: A letter for each stage, as `letters` gives them.
        style: How to draw it.
    """
    style = style or MeterStyle()
    rows = list(rows_of([unit]))
    bars = Bars(rows, stage_letters, BarStyle(max(LEAST_WIDTH, style.width) - BESIDE_BAR, style.colour, style.ascii))
    return _line(rows[0], bars.bar(rows[0])).rstrip()


def _captions(rows: list[Row], group: int) -> Iterator[str]:
    if sum(row.units for row in rows) > len(rows) * group:
        yield "a row is a second, the work of its units pushed together; slack is the tightest unit's"
    if group > 1:
        yield f"a row shows the tightest of {group} neighbours"


def _line(row: Row, bar: str) -> str:
    event = f"> {row.event}" if row.event == "SPEAK" else f"  {row.event.lower()}"
    late = f"!{row.overruns if row.overruns > 1 else ''}"[:4] if row.overruns else ""
    delay = "" if row.worst_delay_ms is None else f"{row.worst_delay_ms / 1000:.2f}"
    return f"{row.shown:>7} {event:<9}{bar}{row.slack_ms / 1000:>+7.2f}{late:<4}{delay:>6}"


def _overheard(rows: Iterable[Row], rhythm: list[str]) -> Iterator[Row]:
    """Lets rows pass, and keeps a sign of each."""
    for row in rows:
        rhythm.append("!" if row.overruns else RHYTHM_SIGNS.get(row.event, "?"))
        yield row


def _rhythm(signs: list[str], width: int) -> Iterator[str]:
    """The whole session, a sign a second, a minute a line."""
    a_line = 60 if width >= 69 else 30
    if len(signs) > a_line * RHYTHM_LINES:
        return
    for at in range(0, len(signs), a_line):
        yield f"{at:>7} {''.join(signs[at : at + a_line])}"
    yield "        . listen   S speak   f flush   ! overrun"
    yield ""


def _stage_table(figures: Statistics, stage_letters: dict[str, str]) -> list[str]:
    head = ["", "stage", "median", "p95", "worst", "units"]
    rows = [
        [
            stage_letters[stage.name].upper(),
            printable(stage.name)[:NAME_COLUMNS],
            spoken(stage.ms.median),
            spoken(stage.ms.p95),
            spoken(stage.ms.worst),
            f"{stage.ms.count} of {figures.units}",
        ]
        for stage in figures.stages
    ]
    return aligned([head, *rows], "llrrrr") if rows else []


def _legend(width: int, deadline_sign: str) -> list[str]:
    keys = (
        f"CAPITALS speak, small letters listen; {deadline_sign} the deadline, ! an overrun; {SIGNS[OTHER]} other work, "
        f"{SIGNS[WAITING]} waiting for the unit before, {FAR} beyond the edge; slack, and the delay of an answer that "
        "begins there, in seconds."
    )
    return textwrap.wrap(keys, width)
