"""Attention by content and distance: its distances against the definition, its bits against the released ones."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.models.layers.lanes import Lanes
from engine.models.layers.named import Named
from engine.models.layers.relative import RelativeAttention, RelativePositions, _by_key, distances

CPU = torch.device("cpu")
pytestmark = pytest.mark.usefixtures("one_thread")
HEADS, WIDTH = 3, 24


@given(count=st.integers(1, 6), held=st.integers(0, 7))
def test_each_query_meets_each_key_at_its_distance(count, held):
    ticks = held + count
    # Scores that are the distance itself: from ticks - 1 behind to as far ahead, the same for every query.
    away = torch.arange(ticks - 1, -ticks, -1.0).expand(1, HEADS, count, 2 * ticks - 1).contiguous()

    scores = _by_key(away)

    expected = torch.arange(held, ticks)[:, None] - torch.arange(ticks)[None]
    assert torch.equal(scores, expected.float().expand(1, HEADS, count, ticks))


@pytest.fixture(scope="module")
def pair(released):
    attention = released.conformer.COSYVOICE_ATTENTION_CLASSES["rel_selfattn"](HEADS, WIDTH, 0.0)
    generator = torch.Generator().manual_seed(2)
    for weight in attention.parameters():
        weight.data = torch.randn(weight.shape, generator=generator)
    embedding = released.conformer.COSYVOICE_EMB_CLASSES["rel_pos_espnet"](WIDTH, 0.0)
    return attention.requires_grad_(False), embedding, RelativeAttention(Named(attention.state_dict()), Lanes(CPU))


@pytest.mark.parametrize("ticks", [1, 2, 57, 320])
def test_distances_are_a_slice_of_the_released_table(pair, ticks):
    assert torch.equal(distances(WIDTH, ticks), pair[1].position_encoding(None, ticks))


@settings(deadline=None, max_examples=25)
@given(held=st.integers(0, 40), count=st.integers(1, 28), seed=st.integers(0, 99))
def test_equal_to_the_released_attention_bit_for_bit(pair, held, count, seed):
    theirs, embedding, ours = pair
    ticks = held + count
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(1, count, WIDTH, generator=generator)
    # In a longer buffer of several layers, so that what is read is strided; what must not be read is no number.
    state = torch.full((ticks + 5, 2, 1, HEADS, 2 * WIDTH // HEADS), torch.nan)
    state[:held, 1] = torch.randn(state[:held, 1].shape, generator=generator)
    cache = state[:held, 1].permute(1, 2, 0, 3).contiguous()
    expected, after = theirs(
        x,
        x,
        x,
        torch.ones(0, 0, 0),
        embedding.position_encoding(None, ticks),
        cache if held else torch.zeros(0, 0, 0, 0),
    )

    positions = RelativePositions([ours], WIDTH, x.device)
    found = ours(x, state[:ticks, 1], positions.of(ticks)[0])

    assert torch.equal(found, expected)
    assert torch.equal(state[:ticks, 1].permute(1, 2, 0, 3), after)
    assert state[:, 0].isnan().all()


def test_what_is_foreseen_is_made_once(pair):
    positions = RelativePositions([pair[2]], WIDTH, torch.device("cpu"))
    positions.foresee(9)

    assert positions.of(9)[0] is positions.of(9)[0]
    assert torch.equal(positions.of(8)[0], positions.of(8)[0])
    assert positions.of(8)[0] is not positions.of(8)[0]
