"""Bars tell what units did: each unit once, the newest sixty, whatever the snapshots between which they came."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from app.live.replayed import Replayed
from app.live.snapshot import SHOWN_UNITS, Running, Snapshot
from app.window import cadence_words as words
from app.window.cadence_model import SCALES, CadenceModel
from engine.cadence import measure
from engine.timing import UnitRecord
from tests.made_up_sessions import conversation, header, unit
from tests.window import scenes
from tests.window.watched import replayed, short_units

UNITS = tuple(record for record in conversation(150, seed=6, overruns=True) if isinstance(record, UnitRecord))
HEADER, FIGURES = header(), measure(UNITS)
NS = 1_000_000_000


def seen(done: int) -> Snapshot:
    """A snapshot after so many units."""
    return Snapshot(header=HEADER, units=UNITS[:done][-SHOWN_UNITS:], figures=FIGURES, now_ns=done * NS)


@given(some.lists(some.integers(1, 9), min_size=1, max_size=25))
@settings(max_examples=30, deadline=None)
def test_bars_are_the_newest_units_however_many_came_at_once(steps: list[int]) -> None:
    model, done = CadenceModel(), 0
    for step in steps:
        done = min(done + step, len(UNITS))
        model.take(seen(done))
        shown = UNITS[:done][-SHOWN_UNITS:]
        assert [bar.first for bar in model.bars] == [each.index for each in shown]
        assert [bar.overruns for bar in model.bars] == [int(each.overrun) for each in shown]
        assert [bar.slack_ms for bar in model.bars] == [each.slack_ms for each in shown]


def test_a_bars_pieces_are_its_stages_and_end_where_its_work_did() -> None:
    model = CadenceModel()
    model.take(seen(60))
    for bar, record in zip(model.bars, UNITS[:60], strict=True):
        assert bar.height == pytest.approx((record.finish_ns - record.arrival_ns) / 1e9, abs=2e-3)
        assert {each.name: each.ms for each in bar.stages} == {
            name: pytest.approx(sum(stage.wall_ms for stage in record.stages if stage.name == name))
            for name in {stage.name for stage in record.stages}
        }


def test_nothing_new_is_nothing_to_paint() -> None:
    model = CadenceModel()
    assert model.take(seen(20))
    assert not model.take(seen(20))
    assert model.take(seen(21))


def test_the_axis_holds_the_tallest_bar_and_cuts_only_past_its_longest() -> None:
    model = CadenceModel()
    for done in range(1, len(UNITS)):
        model.take(seen(done))
        tallest = max(bar.height for bar in model.bars)
        assert model.top == SCALES[-1] or tallest <= model.top
        assert model.top == SCALES[0] or tallest > SCALES[SCALES.index(model.top) - 1]


def test_a_stage_keeps_its_number_as_others_come_and_go() -> None:
    model, numbers = CadenceModel(), dict[str, int]()
    for done in range(1, 100):
        model.take(seen(done))
        for name, number in numbers.items():
            assert model.number(name) == number
        numbers = {name: index for index, name in enumerate(model.stages)}
    model.take(replace(seen(3), header=header(model="another")))
    assert len(model.stages) <= len(numbers)


def test_what_is_chosen_stays_chosen_as_time_goes_on_and_is_let_go_past_the_newest() -> None:
    model = CadenceModel()
    model.take(seen(70))
    newest = model.bars[-1]
    assert model.told is newest
    chosen = model.move(-5)
    assert chosen is not None
    assert chosen.first == newest.first - 5
    model.take(seen(75))
    assert model.told is not None
    assert model.told.first == chosen.first
    assert model.move(1000) is None
    assert model.told is model.bars[-1]
    oldest = model.move(-1000)
    assert oldest is model.bars[0]
    model.take(seen(76))
    assert model.chosen is None, "it has left the meter"


def test_the_bar_under_way_fills_and_is_gone_once_it_is_done() -> None:
    running = Running(10, 10 * NS, 11 * NS, 10 * NS + 5_000_000, stages={"hearing": 200.0}, stage="words")
    running = replace(running, stage_start_ns=10 * NS + 210_000_000)
    model, heights = CadenceModel(), []
    for now_ms in (300, 500, 900):
        model.take(replace(seen(10), running=running, now_ns=10 * NS + now_ms * 1_000_000))
        assert model.running is not None
        assert not model.running.late
        heights.append(model.running.height)
    assert heights == [pytest.approx(0.3), pytest.approx(0.5), pytest.approx(0.9)]
    model.take(replace(seen(10), running=running, now_ns=10 * NS + 1_200_000_000))
    assert model.running is not None
    assert model.running.late
    model.take(replace(seen(11), running=running, now_ns=11 * NS))
    assert model.running is None


def test_a_replay_that_is_sought_begins_again() -> None:
    model = CadenceModel()
    model.take(seen(140))
    model.take(seen(30))
    assert [bar.first for bar in model.bars] == list(range(30))


@pytest.fixture
def short(tmp_path: Path) -> Replayed:
    return replayed(tmp_path / "short.jsonl", short_units())


def test_short_units_are_told_by_the_second(short: Replayed) -> None:
    model = CadenceModel()
    for tenth in range(0, 700):
        model.take(short.at(tenth * NS // 10))
    assert len(model.bars) == SHOWN_UNITS
    assert all(bar.units in (12, 13) for bar in model.bars)
    late = [bar for bar in model.bars if bar.overruns]
    assert [bar.first <= 400 <= bar.last for bar in late] == [True], "a late one among its second's units is not hidden"


def test_words_tell_a_bar_whole() -> None:
    record = unit(7, "SPEAK", [("hearing", 290.0), ("words", 800.0)], response_delay_ms=1720.0)
    model = CadenceModel()
    model.take(Snapshot(header=header(), units=(record,), figures=measure([record])))
    (bar,) = model.bars
    assert words.headline(bar).startswith("Unit 7, speak, ")
    assert "late" in words.headline(bar)
    assert "answer after 1.72 s" in words.headline(bar)
    assert words.in_figures(bar) == "hearing 0.29 s, words 0.80 s"
    assert "words: 0.80 s (eager)" in words.tooltip(bar)
    assert "1 overrun" in words.summary(model)


def test_an_empty_meter_says_so() -> None:
    assert words.verdict(CadenceModel()) == "No second yet"


def test_the_summary_counts_as_the_session_does() -> None:
    model = CadenceModel()
    snapshot = scenes.talking(60, overruns=True)
    model.take(snapshot)
    assert snapshot.figures is not None
    assert f"{snapshot.figures.overruns} overruns" in words.verdict(model)
