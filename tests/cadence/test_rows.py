from hypothesis import given, settings
from hypothesis import strategies as st

from engine.cadence.rows import OTHER, WAITING, rows_of, thinned
from engine.timing import UnitRecord
from tests import made_up_sessions as made_up
from tests.made_up_sessions import MS, unit


@given(st.lists(st.integers(1, 1500), max_size=300), st.integers(2, 40))
@settings(deadline=None)
def test_thinning_keeps_the_tightest_of_every_group_and_loses_no_unit(works: list[int], most: int) -> None:
    units = [unit(index, work=[("words", ms)], response_delay_ms=ms) for index, ms in enumerate(works)]
    rows, group = thinned(rows_of(units), most)
    assert len(rows) <= most
    assert len(rows) == -(-len(units) // group)
    assert group == 1 or len(units) > most * group // 2  # no more thinning than was needed
    assert [(row.first, row.last) for row in rows] == [
        (at, min(at + group, len(units)) - 1) for at in range(0, len(units), group)
    ]
    for row in rows:
        members = units[row.first : row.last + 1]
        assert row.slack_ms == min(member.slack_ms for member in members)
        assert row.overruns == sum(member.overrun for member in members)
        assert row.units == len(members)
        assert row.worst_delay_ms == max(member.response_delay_ms for member in members)


@given(st.lists(made_up.units, max_size=12))
@settings(deadline=None)
def test_the_spans_of_any_row_are_disjoint_and_in_order(units: list[UnitRecord]) -> None:
    for row in rows_of(units):
        at = 0.0
        for span in row.spans:
            assert at <= span.start_ms < span.end_ms or span.start_ms == span.end_ms == at
            at = span.end_ms
        assert row.used_ms == at


def test_a_late_start_is_waiting_and_the_rest_is_told_from_stages() -> None:
    before = unit(0, work=[("words", 1010.0)])
    _, row = rows_of([before, unit(1, work=[("words", 100.0), ("voice", 50.0)], late_ms=20)])
    assert [span.name for span in row.spans] == [WAITING, OTHER, "words", OTHER, "voice", OTHER]
    assert row.spans[0].end_ms == (before.finish_ns - before.deadline_ns) / 1e6  # from then on the engine was free
    assert sum(span.end_ms - span.start_ms for span in row.spans if span.name == "words") == 100


def test_short_units_are_folded_into_the_second_they_arrive_in() -> None:
    units = [
        unit(index, "SPEAK" if index == 30 else "LISTEN", [("lm", 12.0), ("mimi", 4.0)], cadence_ns=80 * MS)
        for index in range(50)
    ]
    rows = list(rows_of(units))
    assert [(row.first, row.last, row.event) for row in rows] == [
        (0, 12, "LISTEN"), (13, 24, "LISTEN"), (25, 37, "SPEAK"), (38, 49, "LISTEN")
    ]  # fmt: skip
    for row in rows:
        times = {span.name: span.end_ms - span.start_ms for span in row.spans}
        assert times["lm"] == 12 * row.units
        assert times["mimi"] == 4 * row.units
        assert 900 < row.cadence_ms < 1100


def test_nothing_waits_for_a_unit_that_there_is_not_or_that_is_done() -> None:
    for row in rows_of([unit(0, late_ms=20), unit(1, late_ms=20)]):
        assert [span.name for span in row.spans] == [OTHER, "voice_activity", OTHER]
        assert row.spans[0].start_ms == 0
