"""The conformer chunk by chunk: against the released encoder, and against itself in one piece."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.models.layers.conformer import ConformerEncoder, ConformerSizes, ConformerStates
from engine.models.layers.lanes import Lanes
from engine.models.layers.named import Named
from engine.models.token2wav.made_up import TINY
from tests.golden.token2wav import random_modules

CPU = torch.device("cpu")
pytestmark = pytest.mark.usefixtures("one_thread")
SIZES = TINY.flow.encoder
DIM = SIZES.width // SIZES.heads


def states(sizes: ConformerSizes, ticks: int) -> ConformerStates:
    """Room for so many tokens; what has not been written is no number."""
    return ConformerStates(
        torch.zeros(2, 1, sizes.width),
        torch.zeros(2 * sizes.stride, 1, sizes.width),
        torch.full((ticks, sizes.layers, 1, sizes.heads, 2 * DIM), torch.nan),
        torch.full((ticks * sizes.stride, sizes.up_layers, 1, sizes.heads, 2 * DIM), torch.nan),
    )


@pytest.fixture(scope="module")
def released_encoder(released, one_thread):
    return random_modules(released, TINY, 1, 8)[0].encoder.requires_grad_(False)


chunks = st.lists(st.integers(2, 25), min_size=1, max_size=4)


@settings(deadline=None, max_examples=20)
@given(chunks=chunks, ends=st.booleans())
def test_equal_to_the_released_encoder_bit_for_bit_outputs_and_states(released_encoder, chunks, ends):
    carried = states(SIZES, sum(chunks))
    ours = ConformerEncoder(Named(released_encoder.state_dict()), SIZES, carried, Lanes(CPU))
    generator = torch.Generator().manual_seed(sum(chunks))
    convolutions = attentions = None
    held = 0

    for number, taken in enumerate(chunks):
        last = ends and number == len(chunks) - 1
        x = torch.randn(1, taken + (0 if last else SIZES.look_ahead), SIZES.width, generator=generator)
        expected, convolutions, attentions = released_encoder.forward_chunk(x, last, convolutions, attentions)

        assert torch.equal(ours(x, held, last=last), expected)

        held += taken
        before, after = attentions[: SIZES.layers, :, :, :held], attentions[SIZES.layers :]
        assert torch.equal(carried.attention[:held].permute(1, 2, 3, 0, 4), before)
        assert torch.equal(carried.up_attention[: 2 * held].permute(1, 2, 3, 0, 4), after)
        assert torch.equal(torch.cat((carried.look_ahead, carried.upsample)).permute(1, 2, 0), convolutions)


@settings(deadline=None, max_examples=20)
@given(chunks=chunks)
def test_without_attention_chunks_are_the_whole(released_encoder, chunks):
    """Attention sees no further than what has come, so only the convolutions are the same in pieces and whole."""
    sizes = replace(SIZES, layers=0, up_layers=0)
    weights = Named(released_encoder.state_dict())
    x = torch.randn(1, sum(chunks) + sizes.look_ahead, sizes.width, generator=torch.Generator().manual_seed(3))
    whole = ConformerEncoder(weights, sizes, states(sizes, sum(chunks)), Lanes(CPU))(x, 0)

    streaming, at, pieces = ConformerEncoder(weights, sizes, states(sizes, sum(chunks)), Lanes(CPU)), 0, []
    for taken in chunks:
        pieces.append(streaming(x[:, at : at + taken + sizes.look_ahead], at))
        at += taken

    torch.testing.assert_close(torch.cat(pieces, 1), whole)


def test_the_last_chunk_looks_ahead_into_nothing(released_encoder):
    sizes = replace(SIZES, layers=0, up_layers=0)
    weights = Named(released_encoder.state_dict())
    x = torch.randn(1, 6, sizes.width, generator=torch.Generator().manual_seed(4))

    assert ConformerEncoder(weights, sizes, states(sizes, 6), Lanes(CPU))(x, 0).shape == (1, 6, sizes.width)
    assert ConformerEncoder(weights, sizes, states(sizes, 6), Lanes(CPU))(x, 0, last=True).shape == (1, 12, sizes.width)
