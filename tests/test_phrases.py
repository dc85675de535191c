import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.phrases import aligned, counted, printable, readable, size, spoken


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
    ("count", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1 KiB"),
        (1536, "1.5 KiB"),
        (912 << 20, "912 MiB"),
        (1.9 * 2**30, "1.9 GiB"),
        (5 << 40, "5120 GiB"),
    ],
)
def test_memory_reads_in_the_unit_that_suits_it(count: float, text: str) -> None:
    assert size(count) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (999, "999 B"), (1500, "1.5 kB"), (92_871_040, "92.9 MB"), (3_000_000_000, "3.00 GB")],
)
def test_a_download_reads_as_disks_count_it(count: int, text: str) -> None:
    assert readable(count) == text


def test_nouns_agree_with_their_count() -> None:
    assert [counted(n, "gap") for n in (0, 1, 2)] == ["0 gaps", "1 gap", "2 gaps"]


def test_a_file_cannot_steer_the_terminal() -> None:
    assert printable("pocket\x1b[2J\nü") == "pocket?[2J?ü"


@given(st.lists(st.tuples(st.text("abc", max_size=9), st.text("12", max_size=9), st.just("|")), min_size=1))
@settings(deadline=None)
def test_columns_line_up(rows: list[tuple[str, str, str]]) -> None:
    assert len({line.index("|") for line in aligned(rows, "lrl")}) == 1


def test_columns_are_as_wide_as_their_widest_and_stand_left_where_nothing_is_said() -> None:
    assert aligned([("a", "b", "12"), ("long", "c", "3")], "lr") == ["a     b  12", "long  c  3"]
    assert aligned([("a", "b"), ("long", "c")], gap=" | ") == ["a    | b", "long | c"]
    assert aligned([]) == []
