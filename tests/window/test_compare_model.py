"""Over one time axis no zoom hides an overrun, every move stays on the axis, and the whole is always within reach."""

from hypothesis import given, settings
from hypothesis import strategies as some

from app.window import compare_words as words
from app.window.compare_model import LEAST_COLUMNS, MOST_COLUMNS, Close, CompareModel
from engine.comparison.figures import compared
from engine.comparison.session import measured
from engine.timing import Log, UnitRecord
from tests.made_up_sessions import conversation, header, unit, units


class MemoryLog(Log):
    """A log that is no file."""

    def __init__(self, records: list[UnitRecord]) -> None:
        super().__init__(None, header(), None, cut_short=False)  # type: ignore[arg-type]
        object.__setattr__(self, "_records", records)

    def records(self):  # type: ignore[no-untyped-def]
        return iter(self._records)  # type: ignore[attr-defined]


def model_of(*sessions: list[UnitRecord]) -> CompareModel:
    logs = [MemoryLog(records) for records in sessions]
    model = CompareModel()
    comparison = compared([measured(log, name) for log, name in zip(logs, "ABCDEF", strict=False)])
    model.show(comparison, [Close.of(log.units(), lambda: None) for log in logs])
    return model


def talk(seconds: int, **how: object) -> list[UnitRecord]:
    return [record for record in conversation(seconds, **how) if isinstance(record, UnitRecord)]  # type: ignore[arg-type]


moves = some.lists(
    some.one_of(
        some.tuples(some.just("zoom"), some.booleans()),
        some.tuples(some.just("pan"), some.integers(-500, 500)),
        some.tuples(some.just("move"), some.integers(-500, 500)),
        some.tuples(some.just("choose"), some.integers(0, LEAST_COLUMNS - 1)),
    ),
    max_size=25,
)


LONG = talk(600, seed=4, overruns=True, speed=1.6)


@given(some.sampled_from([1, 30, 130, 600]), moves)
@settings(max_examples=40, deadline=None)
def test_wherever_one_looks_every_overrun_in_view_is_shown(seconds: int, moves: list[tuple[str, int]]) -> None:
    records = LONG[:seconds]
    model = model_of(records, LONG[:40])
    for name, value in moves:
        getattr(model, name)(value)
        axis = model.axis
        assert axis.seconds >= LEAST_COLUMNS
        assert axis.columns <= MOST_COLUMNS
        assert 0 <= axis.begin_s <= max(seconds, 40)
        seen = sum(bar.overruns for bar in model.lanes[0].bars)
        assert seen == sum(unit.overrun for unit in records if axis.column_of(unit.index) is not None)
        assert len(model.lanes[0].bars) == len(model.lanes[1].bars) == axis.columns
        assert model.told_s is None or words.column(axis, model.told_s)
    model.whole()
    assert sum(bar.overruns for bar in model.lanes[0].bars) == sum(unit.overrun for unit in records)
    while model.zoomed[0]:
        model.zoom(nearer=True)
    while model.zoomed[1]:
        model.zoom(nearer=False)
    assert sum(bar.overruns for bar in model.lanes[0].bars) == sum(unit.overrun for unit in records)


@given(some.lists(some.lists(units, max_size=5), min_size=2, max_size=3))
@settings(max_examples=40, deadline=None)
def test_any_logs_can_be_looked_at(sessions: list[list[UnitRecord]]) -> None:
    model = model_of(*sessions)
    for nearer in (True, True, False, False):
        model.zoom(nearer)
        model.move(3)
        assert len(words.rows(model)) == 5 + len(model.stages)
        assert words.told(model) if any(sessions) else not words.told(model) or model.chosen_s is not None


def test_a_long_session_has_bars_of_many_seconds_and_hides_none_of_its_overruns() -> None:
    late = unit(15_000, "SPEAK", [("words", 1400.0)])
    day = [unit(index) for index in range(15_000)] + [late] + [unit(index) for index in range(15_001, 20_000)]
    model = model_of(day, talk(30))
    assert sum(bar.overruns for bar in model.lanes[0].bars) == 1
    assert model.told[0] is not None
    assert model.told[0].overruns == 1, "the worst second is the one that is told"
    while model.zoomed[0]:
        model.zoom(nearer=True)
    assert model.lanes[0].chosen is not None
    assert model.lanes[0].chosen.overruns == 1, "and zooming goes to it"
    assert "0:00:00" not in words.column(model.axis, model.told_s or 0)


def test_the_chosen_second_is_told_side_by_side() -> None:
    model = model_of(talk(40, seed=4, overruns=True, speed=2.0), talk(20, seed=4))
    assert "late" in words.told(model)
    model.move(1000)
    told = dict(words.rows(model))
    assert told["Unit"][1] == words.NO_UNIT, "the shorter one has ended"
    assert not model.lanes[1].bars[-1].event
