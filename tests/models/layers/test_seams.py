"""A stack in seams is the stack, to the bit, at every length, from graphs made once."""

import torch

from engine.models.layers.seams import SeamedStack
from engine.models.layers.token_stack import TokenStack
from engine.models.minicpm_o.made_up import TINY_LANGUAGE, make_up
from engine.models.minicpm_o.sizes import stack_shapes
from tests.bench.pretended import AtOnePlace

SIZES = TINY_LANGUAGE.stack


@torch.inference_mode()
def test_lengths_and_addresses_change_and_graphs_do_not():
    weights = make_up(dict(stack_shapes(SIZES, head_norms=True)), torch.bfloat16)
    state, other = (torch.zeros(64, *SIZES.tick_shape, dtype=torch.bfloat16) for _ in range(2))
    stack, made = TokenStack(weights, SIZES, state), []

    def graphed(work):
        again = AtOnePlace(work)
        made.append(again)
        return again, again()

    seamed, whole = SeamedStack(stack, 4, SIZES.width, state, graphed), TokenStack(weights, SIZES, other)
    state.zero_()
    generator, held = torch.Generator().manual_seed(1), 0
    addresses = {again.result[0].data_ptr() for again in made}
    for _ in range(6):
        x = torch.randn(7, SIZES.width, generator=generator).bfloat16()
        for part, way in ((x[:4], seamed), (x[4:], stack)):
            positions = torch.arange(held, held := held + len(part))
            assert torch.equal(way(part, positions, held), whole(part, positions, held))
    assert torch.equal(state, other)
    assert len(made) == SIZES.layers + 1
    assert {again.result[0].data_ptr() for again in made} == addresses
