"""The diffusion transformer chunk by chunk, against the released one; its convolutions in pieces and whole."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.models.layers.dit import Dit, DitStates, _Block, _Convolutions
from engine.models.layers.euler import GuidedEuler
from engine.models.layers.lanes import Lanes
from engine.models.layers.named import Named
from engine.models.token2wav.made_up import TINY
from tests.golden.token2wav import random_modules

CPU = torch.device("cpu")
pytestmark = pytest.mark.usefixtures("one_thread")
SIZES = TINY.flow.estimator
STEPS, ROOM = 2, 160


@pytest.fixture(scope="module")
def released_dit(released, one_thread):
    return random_modules(released, TINY, STEPS, ROOM)[0].decoder.estimator.requires_grad_(False)


@pytest.fixture(scope="module")
def weights(released_dit):
    return Named(released_dit.state_dict())


def states() -> DitStates:
    """Room for `ROOM` frames; what has not been written is no number."""
    keys = (2, SIZES.heads, 2 * SIZES.dim)
    return DitStates(
        torch.full((ROOM, STEPS, SIZES.depth, *keys), torch.nan),
        torch.full((ROOM, 2, *keys), torch.nan),
        torch.zeros(2, STEPS, SIZES.depth, 2, 2 * SIZES.width),
    )


@settings(deadline=None, max_examples=20)
@given(chunks=st.lists(st.integers(2, 40), min_size=1, max_size=4), step=st.sampled_from(range(STEPS)))
def test_equal_to_the_released_transformer_bit_for_bit_outputs_and_states(released_dit, weights, chunks, step):
    times, carried = GuidedEuler(STEPS, 0.7, CPU).times, states()
    ours = Dit(weights, SIZES, times, carried, Lanes(CPU))
    generator = torch.Generator().manual_seed(sum(chunks))
    convolutions = attentions = None
    held = 0

    for count in chunks:
        x = torch.randn(2, 4 * SIZES.channels, count, generator=generator)
        parts = x.split(SIZES.channels, 1)
        speaker = parts[2][:, :, :1].expand(-1, -1, count)
        x = torch.cat((*parts[:2], speaker, parts[3]), 1)
        expected, convolutions, attentions = released_dit.forward_chunk(
            parts[0], parts[1], times[step].repeat(2), speaker[:, :, 0], parts[3], convolutions, attentions
        )
        convolutions, attentions = convolutions.clone(), attentions.clone()

        found = ours(x, step, held, (range(held + count),))

        assert torch.equal(found, expected)
        held += count
        assert torch.equal(carried.attention[:held, step].permute(1, 2, 3, 0, 4), attentions)
        assert torch.equal(carried.convolution[:, step].permute(1, 2, 3, 0), convolutions)
        assert carried.attention[:, 1 - step].isnan().all(), "the other step's state is its own"


def test_new_keys_stand_before_those_carried(weights):
    carried = states()
    ours = Dit(weights, SIZES, GuidedEuler(STEPS, 0.7, CPU).times, carried, Lanes(CPU))
    first, second = torch.randn(2, 2, 4 * SIZES.channels, 5, generator=torch.Generator().manual_seed(1))
    ours(first, 0, 0, (range(5),))
    old = carried.attention[:5, 0].clone()

    ours(second, 0, 5, (range(10),))

    assert torch.equal(carried.attention[5:10, 0], old)


def test_only_what_is_to_be_kept_is_carried(weights):
    carried = states()
    ours = Dit(weights, SIZES, GuidedEuler(STEPS, 0.7, CPU).times, carried, Lanes(CPU))
    x = torch.randn(2, 4 * SIZES.channels, 6, generator=torch.Generator().manual_seed(1))
    ours(x, 0, 0, (range(6),))
    before = carried.attention[:6, 0].clone()

    ours(x, 0, 6, ())
    assert torch.equal(carried.attention[:6, 0], before)
    ours(x, 0, 6, (range(2), range(9, 12)))
    assert torch.equal(carried.attention[2:5, 0], before[3:])
    assert torch.equal(carried.attention[5, 0], before[5])


@settings(deadline=None, max_examples=20)
@given(chunks=st.lists(st.integers(1, 20), min_size=1, max_size=5))
def test_causal_convolutions_are_the_same_in_pieces_and_whole(weights, chunks):
    convolve = _Convolutions(_Block(weights.below("blocks.0"), SIZES, Lanes(CPU)).weights)
    x = torch.randn(2, sum(chunks), SIZES.width, generator=torch.Generator().manual_seed(1))
    whole = convolve(x, torch.zeros(2, 2, 2 * SIZES.width))
    tails = torch.zeros(2, 2, 2 * SIZES.width)

    pieces = [convolve(piece, tails) for piece in x.split(chunks, 1)]

    torch.testing.assert_close(torch.cat(pieces, 1), whole)
