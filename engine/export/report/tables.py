"""A report's tables for programs: every figure as measured, and every unit of every round. Any thread."""

import csv
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from engine.cadence.statistics import stage_times_ms
from engine.comparison.rounds import interval
from engine.export.atomic import whole_file
from engine.export.report.parts import Report
from engine.export.table import FIXED, Cell, fixed_cells
from engine.timing import Log, UnitRecord

SPREAD = ("work_ms", "slack_ms")  # of which each unit has a mean and an interval over rounds


def write_figures(report: Report, path: Path) -> None:
    """Write every figure: a row a figure and session, with its text and, where it has one, its interval over rounds.

    Raises:
        NoRoom: The file cannot be written.
    """
    spread = {each.key: each.intervals for each in report.repeated()}
    with whole_file(path) as part, part.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(
            ["figure", "label", "session", "value", "text", "against_first", "mean", "ci95_low", "ci95_high", "rounds"]
        )
        comparison = report.comparison
        for figure in comparison.figures:
            for number, session in enumerate(comparison.sessions):
                found = spread.get(figure.key, (None,) * len(comparison.sessions))[number]
                cells: list[Cell] = [figure.key, figure.label, session.name, figure.values[number]]
                cells += [figure.texts[number], figure.against[number]]
                cells += [found.mean, found.low, found.high, found.count] if found else [None] * 4
                writer.writerow(cells)
        for (one, other), bits in zip(
            zip(comparison.sessions, comparison.sessions[1:], strict=False), comparison.bits[1:], strict=True
        ):
            assert bits is not None
            value = "" if bits.equal is None else int(bits.equal)
            writer.writerow(["voice_equal", f"voice, against {one.name}'s, to the bit", other.name, value, bits.words])


def write_units(rounds: Sequence[tuple[str, Sequence[Log], Sequence[float]]], path: Path) -> None:
    """Write every unit: a row a session, round and unit, and its mean and 95% interval over the session's rounds.

    Columns: `session`, `round`, `pace` (realtime or fast), those of a log's own table, `stage_NAME_ms`; then
    `work_ms_mean`, `work_ms_ci95_low`, `work_ms_ci95_high`, the same of `slack_ms`, and `rounds`, how many rounds have
    that unit; the interval is empty where there is one.

    Args:
        rounds: Each session's name, its logs, and which share of the machine others used in each; a page's worth.
        path: The file.

    Raises:
        BadLog: A line is not schema 1; nothing is written.
        NoRoom: The file cannot be written.
    """
    read = [(name, [(log, list(log.units())) for log in logs], others) for name, logs, others in rounds]
    stages = list(
        dict.fromkeys(stage.name for _, logs, _ in read for _, units in logs for unit in units for stage in unit.stages)
    )
    with whole_file(path) as part, part.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        head = ["session", "round", "pace", "others_share", *FIXED, "gap_ms", "voice_sha256"]
        head += [f"stage_{name}_ms" for name in stages]
        head += [f"{name}_{part}" for name in SPREAD for part in ("mean", "ci95_low", "ci95_high")]
        writer.writerow([*head, "rounds"])
        for name, logs, others in read:
            spread = _spread([units for _, units in logs])
            for number, (log, units) in enumerate(logs):
                share = others[number] if number < len(others) else None
                pace = "realtime" if log.header.audio.realtime else "fast"
                for unit in units:
                    times = stage_times_ms(unit)
                    row: list[Cell] = [name, number + 1, pace, share, *fixed_cells(unit)]
                    row += [unit.audio.gap_ms, unit.voice_sha256, *(times.get(stage) for stage in stages)]
                    writer.writerow([*row, *spread[unit.index]])


def _spread(rounds: Sequence[Sequence[UnitRecord]]) -> dict[int, list[Cell]]:
    """The last columns, by the unit's number."""
    met: dict[int, list[UnitRecord]] = defaultdict(list)
    for units in rounds:
        for unit in units:
            met[unit.index].append(unit)
    cells: dict[int, list[Cell]] = {}
    for index, same in met.items():
        row: list[Cell] = []
        for values in ([unit.wall_ms for unit in same], [unit.slack_ms for unit in same]):
            found = interval(values)
            assert found is not None
            row += [found.mean, found.low, found.high]
        cells[index] = [*row, len(same)]
    return cells
