"""Every file of a report says the same, to the last digit: page, figures, units, LaTeX, pictures, log and `compare`."""

import csv
import html
import json
import re
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from app.demo.files import FIGURES, PAGE, PNG, SVG, TABLE, UNITS, log_path
from app.demo.making import make_report
from engine.comparison import compare, text_table
from engine.comparison.rounds import interval
from engine.export.report import Report
from engine.timing import read_log
from tests.demo.made_up import WORK_MS, made_demo

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Made:
    """A report, and its folder."""

    folder: Path
    report: Report


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    folder = tmp_path_factory.mktemp("demo")
    return Made(folder, make_report("pocket", made_demo(folder), folder, "duplexcadence demo"))


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_page_csv_latex_and_compare_show_one_text_and_one_value(made: Made) -> None:
    page = (made.folder / PAGE).read_text("utf-8")
    latex = (made.folder / TABLE).read_text("utf-8")
    table = text_table(compare([read_log(log_path(made.folder, runtime, 1)) for runtime in WORK_MS]))
    found = {(row["figure"], row["session"]): row for row in rows(made.folder / FIGURES)}
    assert len(made.report.comparison.figures) > 30
    for figure in made.report.comparison.figures:
        for number, runtime in enumerate(WORK_MS):
            row, value = found[figure.key, runtime], figure.values[number]
            assert row["value"] == ("" if value is None else repr(value))
            assert row["text"] == figure.texts[number]
            data = f'<data value="{"" if value is None else value}">{figure.texts[number]}</data>'
            assert page.count(data) >= (2 if figure.main else 1)
        label = figure.label + " "
        (line,) = [line for line in table.splitlines() if line.startswith(label + "  ")]
        assert next(cell for cell in re.split(r" {2,}", line)[1:] if cell in figure.texts) == figure.texts[0]
        if figure.main:
            cells = " & ".join([figure.label, *figure.texts]).replace("%", r"\%")
            assert cells + r" \\" in latex


def test_the_logs_own_totals_are_the_figures(made: Made) -> None:
    for number, runtime in enumerate(WORK_MS):
        end = json.loads(log_path(made.folder, runtime, 1).read_text().splitlines()[-1])
        figures = {figure.key: figure.values[number] for figure in made.report.comparison.figures}
        same = {"units": "units", "overruns": "overruns", "slack_least_ms": "least_slack_ms", "gap_ms": "gap_ms"}
        for key, field in same.items():
            assert figures[key] == end[field]
        assert figures["gaps"] == end["underflows"]


def test_units_hold_every_unit_of_every_round_and_their_intervals(made: Made) -> None:
    units = rows(made.folder / UNITS)
    assert len(units) == 3 * 3 * 5
    assert {(row["round"], row["pace"]) for row in units} == {("1", "realtime"), ("2", "fast"), ("3", "fast")}
    for runtime in WORK_MS:
        logs = [
            [json.loads(line) for line in log_path(made.folder, runtime, number).read_text().splitlines()]
            for number in (1, 2, 3)
        ]
        answers = [next(line for line in log if line.get("index") == 2 and line["type"] == "unit") for log in logs]
        expected = interval([(line["finish_ns"] - line["start_ns"]) / 1e6 for line in answers])
        assert expected is not None
        assert expected.half is not None
        assert expected.half > 10
        mine = [row for row in units if row["session"] == runtime and row["index"] == "2"]
        assert [float(row["slack_ms"]) for row in mine] == [line["slack_ms"] for line in answers]
        for row in mine:
            assert (float(row["work_ms_mean"]), float(row["work_ms_ci95_low"]), float(row["work_ms_ci95_high"])) == (
                expected.mean, expected.low, expected.high,
            )  # fmt: skip
            assert row["rounds"] == "3"
            assert row["others_share"] == "0.02"


def test_the_spread_over_rounds_is_the_same_everywhere(made: Made) -> None:
    page, latex = (made.folder / PAGE).read_text("utf-8"), (made.folder / TABLE).read_text("utf-8")
    found = {(row["figure"], row["session"]): row for row in rows(made.folder / FIGURES)}
    (heaviest,) = [each for each in made.report.repeated() if each.key == "heaviest_mean_ms"]
    for number, runtime in enumerate(WORK_MS):
        spread = heaviest.intervals[number]
        assert spread is not None
        row = found["heaviest_mean_ms", runtime]
        assert (float(row["mean"]), float(row["ci95_low"]), row["rounds"]) == (spread.mean, spread.low, "3")
        assert f"<td>{heaviest.texts[number]}</td>" in page
        assert heaviest.texts[number].replace("±", r"$\pm$") in latex


def test_bits_are_told_as_measured(made: Made) -> None:
    page, latex = html.unescape((made.folder / PAGE).read_text("utf-8")), (made.folder / TABLE).read_text("utf-8")
    assert "the voice, to the bit: not equal: 1 of 2 units of speech are the same" in page
    assert "the voice, to the bit: equal, all of 2 units of speech" in page
    assert r"voice equal to the column before, to the bit &  & no & yes \\" in latex
    equal = [row["value"] for row in rows(made.folder / FIGURES) if row["figure"] == "voice_equal"]
    assert equal == ["0", "1"]


def test_pictures_are_there_and_no_path_of_this_machine_is_anywhere(made: Made) -> None:
    assert (made.folder / PNG).read_bytes().startswith(b"\x89PNG")
    assert (made.folder / SVG).read_bytes().startswith(b"<?xml")
    for name in (PAGE, UNITS, FIGURES, TABLE, SVG):
        assert str(made.folder) not in (made.folder / name).read_text("utf-8")


def test_who_did_not_have_the_machine_for_himself_is_said_wherever_figures_stand(tmp_path: Path) -> None:
    held = [
        replace(each, others=(share, 0.9))
        for each, share in zip(made_demo(tmp_path, 1), (0.4, 0.05, 0.12), strict=True)
    ]
    report = make_report("pocket", held, tmp_path, "duplexcadence demo")
    (line,) = report.beware
    assert line.startswith("others used this machine's processors too, 40% beside stock, 12% beside cadence: ")
    assert line in html.unescape((tmp_path / PAGE).read_text("utf-8"))
    assert line.replace("%", r"\%") in (tmp_path / TABLE).read_text("utf-8")


def test_with_the_machine_for_themselves_nothing_is_to_beware_of(made: Made) -> None:
    assert made.report.beware == ()
    assert "Beware" not in (made.folder / PAGE).read_text("utf-8")
