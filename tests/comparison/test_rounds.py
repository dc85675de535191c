import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.comparison.rounds import T_95, interval


def test_an_interval_is_students() -> None:
    # The textbook's: mean 5, deviation 2.138, eight values; t for seven degrees of freedom is 2.365.
    found = interval([2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0])
    assert found is not None
    assert found.mean == 5.0
    assert found.half == pytest.approx(2.365 * 2.13809 / 8**0.5, rel=1e-4)
    assert (found.low, found.high) == (found.mean - found.half, found.mean + found.half)


def test_one_value_says_nothing_of_others_and_a_missing_one_spoils_all() -> None:
    one = interval([3.5])
    assert one is not None
    assert (one.mean, one.half, one.low, one.high) == (3.5, None, None, None)
    assert interval([1.0, None]) is None
    assert interval([]) is None


@given(st.lists(st.floats(0, 1e6), min_size=2, max_size=60))
def test_an_interval_lies_around_its_mean(values: list[float]) -> None:
    found = interval(values)
    assert found is not None
    assert found.half is not None
    assert found.half >= 0
    assert min(values) - 1e-6 <= found.mean <= max(values) + 1e-6


def test_the_table_falls() -> None:
    assert list(T_95) == sorted(T_95, reverse=True)
    assert len(T_95) == 30
