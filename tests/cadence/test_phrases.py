import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.cadence.phrases import aligned, counted, printable, size, spoken


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (0, "0 ms"),
        (1.44, "1.4 ms"),
        (9.96, "10 ms"),
        (42.4, "42 ms"),
        (99.6, "0.10 s"),
        (311, "0.31 s"),
        (-70, "-70 ms"),
        (119e3, "119.00 s"),
        (150e3, "2.5 min"),
        (31e6, "8.6 h"),
    ],
)
def test_a_time_reads_in_the_unit_that_suits_it(ms: float, text: str) -> None:
    assert spoken(ms) == text


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0.0 MiB"), (912 << 20, "912 MiB"), (1 << 30, "1.00 GiB"), (9.96 * 2**20, "10 MiB")]
)
def test_bytes_read_in_the_unit_that_suits_them(count: float, text: str) -> None:
    assert size(count) == text


def test_nouns_agree_with_their_count() -> None:
    assert [counted(n, "gap") for n in (0, 1, 2)] == ["0 gaps", "1 gap", "2 gaps"]


def test_a_file_cannot_steer_the_terminal() -> None:
    assert printable("pocket\x1b[2J\nü") == "pocket?[2J?ü"


@given(st.lists(st.tuples(st.text("abc", max_size=9), st.text("12", max_size=9), st.just("|")), min_size=1))
@settings(deadline=None)
def test_columns_line_up(rows: list[tuple[str, str, str]]) -> None:
    assert len({line.index("|") for line in aligned(rows, "lrl")}) == 1
