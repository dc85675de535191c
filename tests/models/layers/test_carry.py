"""State carried in place: trims against lists, tails against whole sequences."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.models.layers.carry import continued, keep, place
from engine.plan.advance import grow
from engine.stage import StateSpec, T, Trim

ticks = st.integers(0, 12)


@settings(deadline=None, max_examples=150)
@given(
    held=ticks, new=st.integers(1, 6), head=st.integers(0, 6), tail=st.integers(1, 6), repeats=st.sampled_from((1, 2))
)
def test_what_is_kept_is_what_a_list_keeps_within_the_planned_shift(held, new, head, tail, repeats):
    head, tail = head * repeats, tail * repeats
    spec = StateSpec("keys", (3, T, 2), keep=Trim(head + tail, ((0, head), (-tail, None)), repeats=repeats))
    joined = held + new
    sources, planned = spec.keep.sources(joined), grow(spec, held, new)
    state = torch.arange(joined)[:, None, None].expand(joined, 3, 2).clone()
    shift = torch.full((planned.shift, 2), -1) if planned.shift else None

    keep(state, sources, shift)

    expected = [tick for piece in sources for tick in piece]
    assert state[: planned.after, 0, 0].tolist() == expected
    assert all((state[: len(expected), part] == state[: len(expected), :1][:, 0]).all() for part in range(3))


def test_ticks_that_stay_are_not_touched():
    state = torch.arange(10.0)[:, None].clone()
    before = state._version

    keep(state, (range(7),), None)

    assert state._version == before


def test_an_overlapping_move_without_its_buffer_is_our_own_mistake():
    with pytest.raises(AssertionError, match="shift buffer"):
        keep(torch.zeros(10, 1, 1), (range(3, 10),), None)


def test_pieces_are_put_one_after_the_other():
    state, joined = torch.zeros(5), torch.arange(10.0)

    place(state, joined, (range(2, 4), range(8, 10)))

    assert state.tolist() == [2, 3, 8, 9, 0]


@given(lengths=st.lists(st.integers(1, 5), min_size=1, max_size=5), reach=st.integers(1, 4))
def test_a_sequence_goes_on_from_its_tail_as_if_it_had_never_been_cut(lengths, reach):
    whole = torch.arange(1.0, 1 + sum(lengths)).view(1, 1, -1)
    padded = torch.nn.functional.pad(whole, (reach, 0))
    tail, at = torch.zeros(reach, 1, 1), 0

    for length in lengths:
        joined = continued(tail, whole[..., at : at + length])
        assert torch.equal(joined, padded[..., at : at + reach + length])
        at += length
