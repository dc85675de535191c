import re
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.cadence import MeterStyle, measure, text_meter
from engine.cadence.bars import letters
from engine.timing import UnitRecord
from tests import made_up_sessions as made_up
from tests.made_up_sessions import MS, conversation, unit

BAR_LINE = re.compile(r"^ *(\d+) (> SPEAK|  listen|  flush) +(.*)$")


def meter(units: Sequence[object], **style: object) -> str:
    units = [record for record in units if isinstance(record, UnitRecord)]
    return text_meter(units, measure(units), MeterStyle(**style))  # type: ignore[arg-type]


def bars(text: str) -> list[re.Match[str]]:
    return [match for line in text.splitlines() if (match := BAR_LINE.match(line))]


def plain(text: str) -> str:
    return re.sub(r"\x1b\[[\d;]*m", "", text)


def test_a_row_a_second_with_the_deadline_in_one_column() -> None:
    text = meter(conversation(30), ascii=True)
    rows = bars(text)
    assert len(rows) == sum(isinstance(record, UnitRecord) for record in conversation(30))
    assert len({row.string.index("|") for row in rows}) == 1
    assert text.isascii()


def test_listening_and_speaking_differ_without_colour() -> None:
    listen, speak = (bars(meter([unit(0, event, [("words", 500.0)])], ascii=True))[0] for event in ("LISTEN", "SPEAK"))
    assert "wwww" in listen[3]
    assert "W" not in listen[3]
    assert "WWWW" in speak[3]
    assert listen[2] != speak[2]


def test_a_bar_is_as_long_as_its_work() -> None:
    text = meter([unit(0, work=[("words", 500.0)]), unit(1, work=[("words", 250.0)])], ascii=True, width=135)
    long, short = (row[3].count("w") for row in bars(text))
    assert long == pytest.approx(50, abs=1)  # of 100 cells to the deadline
    assert short == pytest.approx(25, abs=1)


def test_an_overrun_crosses_the_line_and_is_marked_and_the_next_waits() -> None:
    late, waited, calm = bars(meter([unit(0, work=[("words", 1200.0)]), unit(1, late_ms=201), unit(2)], ascii=True))
    assert re.search(r"w\|w", late[3])
    assert "-0.20!" in late[3]
    assert waited[3].startswith("~~")
    assert "!" not in waited[3]
    assert not re.search(r"[a-z~-]\|", calm[3])


def test_work_far_past_the_deadline_is_shown_to_go_on() -> None:
    (row,) = bars(meter([unit(0, work=[("words", 9000.0)])], ascii=True))
    assert "w>" in row[3]
    assert "-8.00!" in row[3]


def test_a_long_session_is_thinned_and_no_overrun_is_hidden() -> None:
    units = [unit(index, work=[("words", 1100.0 if index == 1234 else 300.0)]) for index in range(3000)]
    text = meter(units, most_rows=40, ascii=True)
    assert 20 < len(bars(text)) <= 40
    assert [int(row[1]) for row in bars(text) if "!" in row[3]] == [1234]
    assert "tightest of 128 neighbours" in text


def test_a_session_of_minutes_shows_its_rhythm_a_minute_a_line() -> None:
    units = [unit(index, "SPEAK" if index % 10 > 5 else "LISTEN") for index in range(120)]
    lines = meter(units, ascii=True).splitlines()
    assert lines[0] == "      0 " + "......SSSS" * 6
    assert lines[1] == "     60 " + "......SSSS" * 6


def test_the_delay_of_an_answer_stands_where_it_begins() -> None:
    rows = bars(meter([unit(0), unit(1, "SPEAK", response_delay_ms=1834.0), unit(2, "SPEAK")]))
    assert [row[3].endswith("1.83") for row in rows] == [False, True, False]


def test_short_units_make_rows_of_a_second() -> None:
    units = [unit(index, "SPEAK", [("lm", 40.0)], cadence_ns=80 * MS) for index in range(50)]
    text = meter(units, ascii=True, width=135)
    assert len(bars(text)) == 4
    assert "pushed together" in text
    assert bars(text)[0][3].count("L") == pytest.approx(50, abs=3)


def test_colour_adds_nothing_but_colour() -> None:
    some = conversation(30, overruns=True, seed=4)
    assert "\x1b[" in meter(some, colour=True)
    assert plain(meter(some, colour=True)) == meter(some)


def test_no_unit_no_meter() -> None:
    assert meter([]) == ""


@given(st.lists(made_up.units, min_size=1, max_size=12), st.integers(0, 200), st.booleans())
@settings(deadline=None, max_examples=60)
def test_any_units_make_bars_that_fit_the_terminal(units: list[UnitRecord], width: int, ascii_only: bool) -> None:
    text = meter(units, width=width, ascii=ascii_only)
    assert all(ord(sign) >= 32 for sign in text.replace("\n", ""))


@given(st.lists(st.floats(0, 3000), min_size=1, max_size=60), st.integers(0, 200))
@settings(deadline=None, max_examples=60)
def test_every_line_of_a_session_fits_the_terminal(works: list[float], width: int) -> None:
    units = [unit(index, "SPEAK", [("hearing", ms), ("voice", ms / 7)]) for index, ms in enumerate(works)]
    assert max(map(len, meter(units, width=width).splitlines())) <= max(60, width)


@given(st.lists(st.text(min_size=1, max_size=8), unique=True, max_size=26))
@settings(deadline=None)
def test_each_stage_has_a_letter_of_its_own(names: list[str]) -> None:
    given = letters(names)
    assert list(given) == names
    assert len(set(given.values())) == len(names)
    assert all(letter.isascii() and letter.islower() for letter in given.values())
