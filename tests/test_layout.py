"""Every state has its place, no two the same bytes, and those of a group share their rows."""

import mmap

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import AskedWrongly
from engine.layout import ALIGNMENT, lay_out
from engine.plan import PlannedState
from engine.stage import DTYPE_BYTES, Lifetime

GRANULE = 256

groups = st.fixed_dictionaries({
    "ticks": st.integers(0, 40).flatmap(lambda most: st.tuples(st.just(most), st.integers(0, most))),
    "reset": st.sampled_from(list(Lifetime)),
    "members": st.lists(
        st.tuples(st.sampled_from(list(DTYPE_BYTES)), st.lists(st.integers(1, 4), max_size=3)), min_size=1, max_size=4
    ),
})  # fmt: skip


def states_of(groups) -> list[PlannedState]:
    return [
        PlannedState(f"stage.{g}_{m}", dtype, tuple(item), *group["ticks"], group["reset"], f"group {g}" if g else "")
        for g, group in enumerate(groups)
        for m, (dtype, item) in enumerate(group["members"])
    ]


def touched(block, place, dtype) -> set[int]:
    """Which bytes a state takes up."""
    element = DTYPE_BYTES[dtype]
    starts = {place.offset * element}
    for size, stride in zip(place.shape, place.stride, strict=True):
        starts = {start + index * stride * element for start in starts for index in range(size)}
    return {start + byte for start in starts for byte in range(element)} if starts else set()


@settings(deadline=None, max_examples=100)
@given(st.lists(groups, max_size=5).map(states_of))
def test_no_two_states_share_a_byte_and_all_lie_in_their_blocks(states):
    layout, taken = lay_out(states, GRANULE), set()
    places = layout.places()
    assert list(places.keys()) and set(places) == {state.name for state in states} if states else not places
    for state in states:
        block, place = places[state.name]
        assert place.shape == (state.max_ticks, *state.item_shape)
        mine = touched(block, place, state.dtype)
        assert len(mine) == state.max_bytes
        assert not mine & taken
        assert not mine or block.start <= min(mine) <= max(mine) < block.start + block.max_bytes
        taken |= mine
    assert not taken or max(taken) < layout.size
    assert layout.size % GRANULE == 0


@settings(deadline=None, max_examples=100)
@given(st.lists(groups, max_size=5).map(states_of))
def test_only_what_grows_has_granules_of_its_own(states):
    layout = lay_out(states, GRANULE)
    together = 0
    for block in layout.blocks:
        if block.grows:
            assert block.start % GRANULE == 0
            assert block.start >= layout.together_bytes
            assert block.max_bytes > GRANULE
            assert block.initial_bytes < block.max_bytes
        else:
            assert block.start % ALIGNMENT == 0
            assert block.start + block.max_bytes <= layout.together_bytes
            assert block.initial_bytes == block.max_bytes or block.max_bytes <= GRANULE
            together += block.max_bytes + ALIGNMENT
    assert layout.together_bytes < together + GRANULE


def test_what_never_grows_lies_with_the_small_however_big_it_is():
    full = PlannedState("a.full", "float32", (1000,), 9, initial=9)
    small = PlannedState("a.small", "float32", (), 60)
    growing = PlannedState("a.growing", "float32", (1000,), 9)
    places = lay_out([growing, full, small], GRANULE).places()
    assert [places[name][0].grows for name in ("a.full", "a.small", "a.growing")] == [False, False, True]


def test_a_tick_of_a_group_is_one_row():
    states = [PlannedState(f"words.layer_{n}", "bfloat16", (2, 3, 64), 4096, group="words") for n in range(30)]
    layout = lay_out(states, mmap.PAGESIZE)
    (block,) = layout.blocks
    assert block.row_bytes == 30 * 2 * 3 * 64 * 2
    for n, state in enumerate(states):
        place = layout.places()[state.name][1]
        assert place.offset == n * 2 * 3 * 64
        assert place.stride == (30 * 2 * 3 * 64, 3 * 64, 64, 1)


@pytest.mark.parametrize("other", [
    PlannedState("a.y", "float32", (8,), 99, 0, Lifetime.TURN, "g"),
    PlannedState("a.y", "float32", (8,), 100, 1, Lifetime.TURN, "g"),
    PlannedState("a.y", "float32", (8,), 100, 0, Lifetime.SESSION, "g"),
])  # fmt: skip
def test_states_that_do_not_grow_together_are_no_group(other):
    with pytest.raises(AskedWrongly, match=r"a\.y"):
        lay_out([PlannedState("a.x", "float32", (8,), 100, 0, Lifetime.TURN, "g"), other], GRANULE)
