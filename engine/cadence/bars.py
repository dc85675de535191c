"""Draws rows as bars of letters on one common time axis. Knows nothing of sessions or statistics. Pure; any thread."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from string import ascii_lowercase

from engine.cadence.rows import OTHER, WAITING, Row

SIGNS = {OTHER: "-", WAITING: "~"}
FAR = ">"  # work goes on past the right edge
MOST_CADENCES = 1.5  # how far the axis reaches at most: beyond, the slack's figure says it
MARGIN_CADENCES = 0.06  # what is shown past the deadline at least, once a unit was late
# Okabe and Ito's colours, which the colour-blind tell apart, as the nearest of a terminal's 256.
COLOURS = (74, 214, 36, 227, 175, 166, 67, 250)


@dataclass(frozen=True)
class BarStyle:
    """How bars are drawn.

    Args:
        cells: Columns for a bar, without the deadline's own column.
        colour: Whether stages have a colour, by ANSI escapes; nothing is told by colour alone.
        ascii: Whether to keep to ASCII.
    """

    cells: int
    colour: bool = False
    ascii: bool = False

    @property
    def deadline_sign(self) -> str:
        """The line that work must not cross."""
        return "|" if self.ascii else "┃"

    @property
    def tick_sign(self) -> str:
        """What marks the axis' ticks where the engine is idle."""
        return "." if self.ascii else "·"


def letters(names: Iterable[str]) -> dict[str, str]:
    """A letter of its own for each stage, from its name where one is free; "?" once the alphabet is used up."""
    given: dict[str, str] = {}
    for name in names:
        wanted = [sign for sign in name.lower() if sign in ascii_lowercase]
        given[name] = next((sign for sign in [*wanted, *ascii_lowercase] if sign not in given.values()), "?")
    return given


class Bars:
    """A common axis for rows.

    Args:
        rows: All rows that will be drawn; at least one.
        stage_letters: The letter of each stage.
        style: How to draw.
    """

    def __init__(self, rows: Sequence[Row], stage_letters: Mapping[str, str], style: BarStyle) -> None:
        self._style = style
        self._letters = stage_letters
        self._colours = dict(zip(stage_letters, COLOURS, strict=False))
        self._cadence_ms = max(max(row.cadence_ms for row in rows), 1e-6)
        axis_ms = max(row.used_ms for row in rows)
        if any(row.overruns for row in rows):
            axis_ms = max(axis_ms, self._cadence_ms * (1 + MARGIN_CADENCES))
        self._axis_ms = min(max(axis_ms, self._cadence_ms), self._cadence_ms * MOST_CADENCES)
        self._cell_ms = self._axis_ms / style.cells
        self._ticks = self._placed_ticks()

    def axis(self) -> str:
        """The ticks' times in seconds, over the bars' columns and the deadline's."""
        line = [" "] * (self._style.cells + 1)
        for column, label in self._ticks.items():
            if column + len(label) <= len(line):
                line[column : column + len(label)] = label
        return "".join(line)

    def bar(self, row: Row) -> str:
        """One row's bar, the deadline in it; capitals where it spoke."""
        signs = [self._sign(row, cell) for cell in range(self._style.cells)]
        if row.used_ms > self._axis_ms * 1.001:
            signs[-1] = (FAR, None)
        signs.insert(self._deadline_column(row.cadence_ms), (self._style.deadline_sign, None))
        runs = ((colour, "".join(sign for sign, _ in run)) for colour, run in groupby(signs, key=lambda sign: sign[1]))
        return "".join(f"\x1b[30;48;5;{colour}m{text}\x1b[0m" if colour else text for colour, text in runs)

    def _sign(self, row: Row, cell: int) -> tuple[str, int | None]:
        """A cell's sign and colour: of what took the most of its time."""
        begin, end = cell * self._cell_ms, (cell + 1) * self._cell_ms
        taken = dict.fromkeys((span.name for span in row.spans), 0.0)
        for span in row.spans:
            taken[span.name] += max(0.0, min(span.end_ms, end) - max(span.start_ms, begin))
        name = max(taken, key=lambda name: taken[name], default=None)
        if name is None or taken[name] < self._cell_ms - sum(taken.values()):
            ticked = cell in self._ticks and cell not in (0, self._deadline_column(row.cadence_ms))
            return (self._style.tick_sign if ticked else " ", None)
        letter = self._letters.get(name, "?")
        sign = SIGNS.get(name) or (letter.upper() if row.event == "SPEAK" else letter)
        return (sign, self._colours.get(name) if self._style.colour else None)

    def _deadline_column(self, cadence_ms: float) -> int:
        return min(self._style.cells, round(cadence_ms / self._cell_ms))

    def _placed_ticks(self) -> dict[int, str]:
        """Column to label, seconds; the deadline's tick stands over the deadline."""
        steps_s = (0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 60.0)
        step_s = next((step for step in steps_s if step * 1000 / self._cell_ms >= 7), self._axis_ms / 1000)
        ticks = {}
        for number in range(int(self._axis_ms / (step_s * 1000) + 1e-9) + 1):
            seconds = number * step_s
            ticks[self._deadline_column(seconds * 1000)] = f"{seconds:.4g}" + ("" if number else " s")
        return ticks
