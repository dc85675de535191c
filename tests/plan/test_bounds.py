"""The bounds against brute force: every number of ticks that a launch can bring to every state that is left alone."""

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from engine.clock import Rate
from engine.errors import AskedWrongly, UnboundedState
from engine.plan import plan
from engine.plan.advance import SHIFT, grow
from engine.stage import AtLimit, Order, Quota, StateSpec, T, Ticking, Timeline, Trim


def asked(spec: StateSpec, ticks: int) -> tuple[Timeline, ...]:
    """A stage whose launch, one a unit, brings any number of ticks up to so many."""
    return (Timeline("stage", Quota(speak=(ticks,)), "tick", states=(spec,)),)


@st.composite
def trims(draw: st.DrawFn) -> tuple[Trim, int]:
    """A trim, and the most ticks that a launch brings: few enough to try them all, and either may be the larger."""
    over = draw(st.integers(1, 80))
    ends = st.integers(-over, over)
    keep = tuple(draw(st.lists(st.tuples(ends, st.none() | ends), min_size=1, max_size=3)))
    return Trim(over, keep, each_unit=draw(st.booleans()), repeats=draw(st.integers(1, 2))), draw(st.integers(1, 200))


@settings(deadline=None, max_examples=200)
@given(made=trims(), order=st.sampled_from(Order))
@example(made=(Trim(270, ((-231, -149), (250, 343))), 750), order=Order.AFTER)  # true 144; every second value has 143
@example(made=(Trim(270, ((-200, 250), (-200, 250))), 130), order=Order.AFTER)  # keeps more of fewer ticks
def test_a_trims_bounds_are_what_trying_everything_comes_to(made: tuple[Trim, int], order: Order) -> None:
    keep, ticks = made
    spec = StateSpec("state", (T,), keep=keep, order=order)
    alone = keep.over // keep.repeats
    held = {*range(max(0, alone - 2), alone + 1), *range(0, alone, 7)}
    grown = [grow(spec, before, new, trims=trims) for before in held for new in range(ticks + 1)
             for trims in {True, not keep.each_unit}]  # fmt: skip

    if any(keep.kept(length) > alone for length in range(alone + 1, alone + ticks + 1)):
        with pytest.raises(UnboundedState, match=f"can leave more than {alone}"):
            plan(asked(spec, ticks))
        return
    most = {state.name: state.max_ticks for state in plan(asked(spec, ticks)).states}
    assert most["stage.state"] == max(one.most for one in grown)
    assert most.get("stage.state" + SHIFT, 0) == max(one.shift for one in grown)


@settings(deadline=None, max_examples=60)
@given(made=trims(), brought=st.lists(st.integers(0, 200), max_size=30))
def test_no_course_of_a_session_passes_them(made: tuple[Trim, int], brought: list[int]) -> None:
    keep, ticks = made
    try:
        planned = plan(asked(StateSpec("state", (T,), keep=keep), ticks))
    except UnboundedState:
        assume(False)
    most = {state.name: state.max_ticks for state in planned.states}
    position = planned.start
    for number in brought:
        unit, position = planned.advance(position, "S", ran={"stage": min(number, ticks)})
        assert all(needed <= most[name] for name, needed in unit.needed.items())


@pytest.mark.parametrize(("initial", "limit"), [(0, 10), (5, 29)])
def test_a_launch_that_does_not_fit_into_an_emptied_state_is_refused(initial: int, limit: int) -> None:
    lines = (
        Timeline("stage", Ticking(Rate(25)), "tick", states=(StateSpec("state", (T,), initial=initial, limit=limit),)),
    )

    with pytest.raises(AskedWrongly, match=f"starts again with {initial} ticks at its limit of {limit}, and a launch "
                       f"can bring 25 more; needed: a limit of at least {initial + 25}"):  # fmt: skip
        plan(lines, script="L")


def test_a_launch_that_just_fits_is_planned_and_needs_no_more() -> None:
    spec = StateSpec("state", (T,), initial=5, limit=30)
    made = plan((Timeline("stage", Ticking(Rate(25)), "tick", states=(spec,)),), script="L")

    assert (
        [made.unit(index).needed["stage.state"] for index in range(3)] == [30, 30, 30] == [made.states[0].max_ticks] * 3
    )


def test_a_limit_that_ends_the_session_may_be_smaller_than_a_launch() -> None:
    spec = StateSpec("state", (T,), limit=10, at_limit=AtLimit.END)

    assert plan((Timeline("stage", Ticking(Rate(25)), "tick", states=(spec,)),), script="L").states[0].max_ticks == 10
