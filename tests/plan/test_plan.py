"""The plan's laws: bounds hold for every script, events told give what the script gave, and a cycle is a cycle."""

import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.clock import Rate
from engine.errors import AskedWrongly, UnboundedState
from engine.models.minicpm_o import timelines as minicpm_o
from engine.models.moshi import timelines as moshi
from engine.models.step_audio2 import timelines as step_audio2
from engine.plan import Plan, SessionFull, plan
from engine.stage import After, AtLimit, Lifetime, Order, Quota, Ring, Span, StateSpec, T, Tail, Ticking, Timeline, Trim

rates = st.builds(Rate, st.integers(1, 60), st.integers(1, 7))
keeps = st.one_of(
    st.builds(Ring, st.integers(1, 40)),
    st.builds(Tail, st.integers(1, 40)),
    st.builds(lambda head, tail: Trim(head + tail, ((0, head), (-tail, None))), st.integers(1, 30), st.integers(1, 30)),
    st.builds(
        lambda kept, more: Trim(kept + more, ((-kept, None),), each_unit=True), st.integers(1, 30), st.integers(0, 30)
    ),
)


@st.composite
def states(draw: st.DrawFn) -> StateSpec:
    keep = draw(st.none() | keeps)
    limit = None if keep else draw(st.integers(100, 200))  # above what one launch can bring: 60 ticks
    return StateSpec(
        "state",
        (2, T, 3),
        draw(st.sampled_from(["float32", "bfloat16"])),
        order=draw(st.sampled_from(Order)) if keep is None or isinstance(keep, Trim) else Order.AFTER,
        keep=keep,
        limit=limit,
        at_limit=AtLimit.RESET,
        reset=draw(st.sampled_from(Lifetime)),
        span=draw(st.sampled_from(Span)),
    )


@st.composite
def sessions(draw: st.DrawFn) -> Plan:
    """A root that ticks with the session or with the turn, and a stage that follows it, both with state."""
    chunk = draw(st.none() | st.integers(1, 20))
    root = Timeline(
        "root",
        Ticking(draw(rates), draw(st.none() | st.integers(1, 60)), speech=draw(st.booleans())),
        "tick",
        chunk=chunk,
        least=chunk and draw(st.integers(1, chunk)),
        look_ahead=draw(st.integers(0, 5)) if chunk else 0,
        primed=draw(st.integers(0, 5)) if chunk else 0,
        lag=draw(st.integers(0, 3)),
        context=(draw(st.integers(0, 4)), draw(st.integers(0, 4))),
        states=(draw(states()),),
    )
    leaf = Timeline("leaf", After("root", each=draw(st.booleans())), "tick", states=(draw(states()),))
    events = draw(st.lists(st.sampled_from("LSF"), min_size=1, max_size=6))
    return plan((root, leaf), cadence=Rate(draw(st.integers(1, 3))), script="".join(events))


@settings(deadline=None, max_examples=150)
@given(made=sessions())
def test_no_unit_of_any_script_exceeds_the_bounds(made):
    for index in range(40):
        unit = made.unit(index)
        for state in made.states:
            assert 0 <= unit.needed[state.name] <= state.max_ticks
        assert set(unit.needed) == {state.name for state in made.states}
        assert unit.bytes == sum(unit.needed[state.name] * state.item_bytes for state in made.states) <= made.max_bytes


@settings(deadline=None, max_examples=100)
@given(made=sessions())
def test_shapes_repeat_as_the_cycle_says_and_no_sooner(made):
    for name, cycle in made.cycles.items():
        course = [made.unit(index).stages[name].launches for index in range(cycle.warm_up + 3 * cycle.length)]
        assert course[cycle.warm_up :][: cycle.length] * 3 == course[cycle.warm_up :]
        if cycle.warm_up:
            assert course[cycle.warm_up - 1] != course[cycle.warm_up - 1 + cycle.length]


@settings(deadline=None, max_examples=100)
@given(made=sessions())
def test_the_ranking_counts_every_launch_of_the_cycle(made):
    for name, cycle in made.cycles.items():
        launches = [launch for index in range(cycle.warm_up, cycle.warm_up + cycle.length)
                    for launch in made.unit(index).stages[name].launches]  # fmt: skip
        ranked = [one for one in made.shapes if one.stage == name]
        assert sum(one.a_unit for one in ranked) * cycle.length == len(launches)
        assert {(one.shape, one.last) for one in ranked if one.a_unit} == {(one.shape, one.last) for one in launches}
    assert [one.a_unit for one in made.shapes] == sorted((one.a_unit for one in made.shapes), reverse=True)


@settings(deadline=None, max_examples=60)
@given(made=sessions(), far=st.integers(0, 10**9))
def test_a_unit_told_is_the_unit_planned(made, far):
    position = made.start
    for index in range(20):
        told, position = made.advance(position, made.script.at(index).event, index=index)
        assert told == made.unit(index)
        assert position == made.position(index + 1)
    again = made.advance(made.position(far), made.script.at(far).event, index=far)  # however far
    assert again == (made.unit(far), made.position(far + 1))


def test_a_plan_that_has_come_round_says_what_it_would_have_walked_to():
    made = plan(moshi.timelines(), script="LSF")

    for far in range(5000, 5012):
        told, position = made.advance(made.position(far), "LSF"[far % 3], index=far)
        assert (told, position) == (made.unit(far), made.position(far + 1))
    assert [made.unit(far).stages["temporal"].ticks for far in (10**9, 10**9 + 1)] == [12, 13]


@settings(deadline=None, max_examples=60)
@given(made=sessions(), events=st.text("LSF", min_size=1, max_size=12))
def test_looking_ahead_covers_whatever_happens(made, events):
    position = made.start
    for event in events:
        most = made.ahead(position)
        unit, position = made.advance(position, event)
        assert all(ticks <= most[name] for name, ticks in unit.needed.items())


@settings(deadline=None, max_examples=60)
@given(rate=rates, cadence=st.integers(1, 5), units=st.integers(1, 60))
def test_ticks_are_those_the_clock_has_completed(rate, cadence, units):
    made = plan((Timeline("stage", Ticking(rate), "tick"),), cadence=Rate(cadence), script="L")

    assert sum(made.unit(index).stages["stage"].ticks for index in range(units)) == units * rate // cadence


MODELS = [
    pytest.param(minicpm_o.timelines(system_tokens=64), 200, id="minicpm_o"),
    pytest.param(minicpm_o.timelines(window=(400, 300), prompt=20, solver_steps=10), 200, id="minicpm_o, a window"),
    pytest.param(step_audio2.timelines(question_s=3, prompt=33), 200, id="step_audio2"),
    pytest.param(moshi.timelines(), None, id="moshi"),
]


@pytest.mark.parametrize(("timelines", "session_s"), MODELS)
@settings(deadline=None, max_examples=12)
@given(events=st.lists(st.tuples(st.sampled_from("LSF"), st.none() | st.integers(0, 25)), min_size=1, max_size=30))
def test_the_released_models_stay_within_their_bounds_whatever_is_said(timelines, session_s, events):
    made = plan(timelines, session_s=session_s)
    most = {state.name: state.max_ticks for state in made.states}
    speaks = any(isinstance(line.drive, Ticking) and line.drive.speech for line in timelines)

    position = made.start
    for event, ticks in events:
        unit, position = made.advance(position, event, speech_ticks=ticks if speaks else None)
        assert all(held <= most[name] for name, held in unit.needed.items())
        assert unit.bytes <= made.max_bytes


def one_state(**options: object) -> tuple[Timeline, ...]:
    return (Timeline("stage", Ticking(Rate(10)), "tick", states=(StateSpec("state", (T, 4), **options),)),)


@pytest.mark.parametrize("options", [
    {}, {"reset": Lifetime.TURN}, {"keep": Trim(100, ((0, None),))}, {"order": Order.BEFORE},
])  # fmt: skip
def test_growth_without_a_bound_is_refused(options):
    with pytest.raises(UnboundedState, match=r"stage\.state grows by up to 10 ticks a unit"):
        plan(one_state(**options))


def test_a_declared_end_is_a_bound():
    made = plan(one_state(initial=7), session_s=30)

    assert made.states[0].max_ticks == 7 + 30 * 10
    assert made.unit(29).held["stage.state"] == 307
    with pytest.raises(SessionFull, match="unit 30; needed: one of the 30"):
        made.unit(30)


def test_a_limit_that_ends_the_session_is_never_passed():
    made = plan(one_state(limit=35, at_limit=AtLimit.END), script="L")

    assert [made.unit(index).held["stage.state"] for index in range(3)] == [10, 20, 30]
    with pytest.raises(SessionFull, match=r"40 ticks of stage\.state; needed: at most 35"):
        made.unit(3)
    with pytest.raises(SessionFull):
        made.ahead(made.position(3))
    assert made.cycle == 0


def test_a_limit_that_resets_does_so_before_the_launch():
    made = plan(one_state(initial=5, limit=30), script="L")

    assert [made.unit(index).stages["stage"].shape for index in range(5)] == [
        (10, 5),
        (10, 15),
        (10, 5),
        (10, 15),
        (10, 5),
    ]
    assert [made.unit(index).held["stage.state"] for index in range(3)] == [15, 25, 15]


def test_a_turns_end_resets_what_belongs_to_turns_and_nothing_else():
    turn, session = (StateSpec(name, (T,), initial=3, keep=Ring(50), reset=reset) for name, reset in
                     (("turn", Lifetime.TURN), ("session", Lifetime.SESSION)))  # fmt: skip
    made = plan((Timeline("stage", Ticking(Rate(10)), "tick", states=(turn, session)),), script="S F")

    assert dict(made.unit(1).held) == {"stage.turn": 3, "stage.session": 23}
    assert made.unit(1).needed["stage.turn"] == 23
    dropped = made.end_turn(made.position(1))
    assert dict(dropped.held) == {"stage.turn": 3, "stage.session": 13}
    assert dict(made.position(1).held) == {
        "stage.turn": 13,
        "stage.session": 13,
    }  # and the position it began from stands


def test_two_stages_grow_one_state():
    lines = (
        Timeline("prefill", Quota(opens=(20,)), "token", states=(StateSpec("keys", (T,), limit=100),)),
        Timeline("decode", Quota(speak=(8,), flush=(8,)), "token", chunk=1, shares=("prefill.keys",)),
    )
    made = plan(lines, script="LSSF")

    assert [made.unit(index).held["prefill.keys"] for index in range(4)] == [0, 28, 36, 44]
    assert [launch.shape for launch in made.unit(2).stages["decode"].launches] == [(1, 28 + n) for n in range(8)]
    told, _ = made.advance(made.start, "SPEAK", ran={"prefill": 12, "decode": 3})
    assert told.held["prefill.keys"] == 15


def test_a_shift_that_overlaps_itself_has_a_second_buffer_of_the_part_it_moves():
    keep = Trim(100, ((0, 20), (-80, None)))
    made = plan(one_state(initial=20, keep=keep, shift_shape=(2,)), script="L")

    state, shift = made.states
    assert (state.max_ticks, shift.name, shift.item_shape, shift.max_ticks) == (110, "stage.state.shift", (2,), 80)
    assert [made.unit(index).needed[shift.name] for index in (7, 8)] == [0, 80]  # 20 + 9 x 10 is the first over 100
    assert made.bytes_at(8) == 110 * 4 * 4 + 80 * 2 * 4


def test_a_shift_past_itself_needs_none():
    made = plan(one_state(keep=Trim(19, ((-10, None),))), script="L")  # of 20 the last ten, moved by ten

    assert [state.name for state in made.states] == ["stage.state"]
    assert made.bytes_at(1) == 20 * 16


@pytest.mark.parametrize(("lines", "message"), [
    ((), "no timelines"),
    ((Timeline("a", Ticking(Rate(1)), "tick"), Timeline("a", Ticking(Rate(1)), "tick")), "two stages named a"),
    ((Timeline("a", After("b"), "tick"),), "a follows b"),
    ((Timeline("a", Ticking(Rate(1)), "tick", shares=("b.keys",)),), r"a shares b\.keys"),
    (one_state(initial=9, keep=Ring(8)), "starts with 9 ticks"),
])  # fmt: skip
def test_timelines_that_do_not_fit_are_refused(lines, message):
    with pytest.raises(AskedWrongly, match=message):
        plan(lines)


def test_a_ratio_that_makes_parts_of_a_tick_is_refused():
    lines = (Timeline("stage", Ticking(Rate(3)), "tick", yields=Fraction(1, 2)),)

    with pytest.raises(AskedWrongly, match="which makes 3/2; needed: whole ticks"):
        plan(lines, script="L").unit(0)


def test_a_script_cannot_tick_faster_than_the_clock():
    lines = (Timeline("voice", Ticking(Rate(25), speech=True), "token"),)

    with pytest.raises(AskedWrongly, match="26 speech ticks; needed: at most 25"):
        plan(lines, script="S26").unit(0)


def test_a_plan_is_made_and_printed_without_torch():
    code = (
        "import sys\n"
        "from engine.models.minicpm_o.timelines import timelines\n"
        "from engine.plan import plan\n"
        "assert 'flow_encoder' in plan(timelines(), session_s=60).describe()\n"
        "sys.exit('torch' in sys.modules or 'numpy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[2], check=False).returncode == 0
