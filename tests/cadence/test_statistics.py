import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from engine.cadence import Spread, Tally, measure, summary, verdict
from engine.timing import AudioRecord, Fault, UnitRecord
from tests import made_up_sessions as made_up
from tests.made_up_sessions import MS, conversation, unit

figures_of = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=200)


@given(figures_of)
@settings(deadline=None)
def test_a_percentile_is_a_value_that_was_measured_and_that_enough_units_keep(values: list[float]) -> None:
    for worse, keeps in (("more", float.__le__), ("less", float.__ge__)):
        spread = Spread.of(values, worse)  # type: ignore[arg-type]
        assert spread is not None
        assert spread.worst == (max if worse == "more" else min)(values)
        for share, value in ((0.5, spread.median), (0.95, spread.p95), (0.99, spread.p99)):
            assert value in values
            kept = sum(keeps(each, value) for each in values)
            assert kept >= math.ceil(share * len(values) - 1e-9)
            better = [each for each in values if keeps(each, value) and each != value]
            assert len(better) < share * len(values) + 1e-9  # and no better value would do


def test_no_values_have_no_spread() -> None:
    assert Spread.of([]) is None


def test_a_unit_on_time_and_a_late_one() -> None:
    figures = measure(
        [unit(0), unit(1, "SPEAK", [("words", 1100.0)], response_delay_ms=1800.0), unit(2, late_ms=101.1)]
    )
    assert (figures.units, figures.overruns, figures.tightest) == (3, 1, 1)
    assert figures.events == {"LISTEN": 2, "SPEAK": 1}
    assert figures.slack_ms is not None
    assert figures.slack_ms.worst == pytest.approx(-100.9)
    assert figures.cadence_ms == 1000
    assert figures.response_delay_ms == Spread(1, 1800, 1800, 1800, 1800, 1800)


def test_runs_of_one_stage_in_a_unit_add_up_and_its_paths_are_counted() -> None:
    figures = measure(
        [unit(0, work=[("words", 30.0), ("voice", 5.0), ("words", 12.0)]), unit(1, work=[("words", 10.0)])]
    )
    words, voice = figures.stages
    assert (words.name, words.ms.count, words.ms.worst, words.paths) == ("words", 2, 42.0, {"eager": 3})
    assert (voice.name, voice.ms.count) == ("voice", 1)


def test_dead_air_is_what_the_user_waits_for_an_answer_and_sits_through_in_gaps() -> None:
    gap = AudioRecord(gap_ms=120.0, underflows=2, dropped_ms=40, overflows=1)
    figures = measure([unit(0, "SPEAK", response_delay_ms=1500.0, audio=gap), unit(1, "SPEAK", audio=gap)])
    assert (figures.gap_ms, figures.underflows, figures.dead_air_ms) == (240, 4, 1740)
    assert "4 gaps, 0.24 s in all" in summary(figures)
    assert "80 ms lost, 2 overflows" in summary(figures)


@pytest.mark.parametrize("counted_in", [1, 2])  # as it sounds, or as the next unit begins
@pytest.mark.parametrize("gap_ms", [100.0, 300.0])
def test_a_late_answer_is_waited_for_once(counted_in: int, gap_ms: float) -> None:
    answer = unit(1, "SPEAK", [("words", 1199.1)], response_delay_ms=1500.0)  # 200 ms after its deadline
    units = [unit(0), answer, unit(2, "SPEAK"), unit(3, "SPEAK")]
    units[counted_in] = replace(units[counted_in], audio=AudioRecord(gap_ms=gap_ms, underflows=1))

    assert answer.slack_ms == pytest.approx(-200)
    assert measure(units).dead_air_ms == pytest.approx(1500 + max(0.0, gap_ms - 200))
    assert measure(units).gap_ms == gap_ms


def test_a_gap_later_in_a_late_answer_is_dead_air() -> None:
    gap = AudioRecord(gap_ms=70.0, underflows=1)
    units = [unit(0, "SPEAK", [("words", 1199.1)], response_delay_ms=1500.0), unit(1, "SPEAK"),
             unit(2, "SPEAK", audio=gap)]  # fmt: skip
    assert measure(units).dead_air_ms == 1570


def test_a_leak_has_a_slope_and_a_still_memory_has_none() -> None:
    still = measure([unit(index, rss=1 << 30) for index in range(100)])
    leak = measure([unit(index, rss=(1 << 30) + index * (1 << 20)) for index in range(100)])
    first_use = measure([unit(index, rss=(1 << 30) + min(index, 40) * (1 << 20)) for index in range(100)])
    assert still.rss_slope == pytest.approx(0)
    assert leak.rss_slope == pytest.approx(60 << 20)
    assert first_use.rss_slope == pytest.approx(0)
    assert measure([unit(index) for index in range(20)]).rss_slope is None


def test_a_session_that_kept_its_cadence_says_so_in_words() -> None:
    figures = measure([unit(index, work=[("words", 689.1 if index == 57 else 100.0)]) for index in range(120)])
    assert verdict(figures) == "every second finished before the next arrived: 120 of 120 units, least slack 0.31 s"


def test_a_session_that_did_not_names_the_worst() -> None:
    figures = measure([unit(index, work=[("words", 1209.1 if index == 57 else 100.0)]) for index in range(120)])
    assert verdict(figures) == "1 of 120 seconds finished after the next had arrived: the latest by 0.21 s, unit 57"


def test_short_units_are_not_called_seconds() -> None:
    assert verdict(measure([unit(0, work=[("lm", 12.0)], cadence_ns=80 * MS)])).startswith("every unit finished")


def test_a_session_without_a_unit_has_a_verdict_too() -> None:
    figures = measure([Fault(index=None, at_ns=0, stage=None, message="no microphone")])
    assert (verdict(figures), figures.faults) == ("no unit ran", 1)
    assert summary(figures) == "no unit ran"


@given(st.lists(made_up.records, max_size=8))
@settings(deadline=None, max_examples=60)
def test_any_session_can_be_measured(some: list[UnitRecord]) -> None:
    figures = measure(some)
    units = [record for record in some if isinstance(record, UnitRecord)]
    assert figures.units == len(units)
    assert figures.overruns == sum(record.slack_ms < 0 for record in units)
    assert summary(figures)


def test_a_conversation_reads_whole() -> None:
    text = summary(measure(conversation(120)))
    for part in ("slack ", "response delay ", "voice ", "memory "):
        assert part in text


def test_figures_told_as_a_session_runs_are_those_of_what_has_run() -> None:
    records = [*conversation(40), Fault(index=None, at_ns=0, stage=None, message="a fault")]
    tally = Tally()
    for count, record in enumerate(records, start=1):
        tally.add(record)
        assert tally.statistics() == measure(records[:count])
