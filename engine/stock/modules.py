"""The released flow and vocoder as modules, at any size, over weights that are handed in and may be shared."""

import types
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from engine.models.token2wav.made_up import MadeUp
from engine.models.token2wav.sizes import Token2WavSizes

STEPS, FRAMES = 16, 1000  # for which the released buffers have room, whatever a session needs


def released_modules(
    released: types.SimpleNamespace, made: MadeUp, steps: int = STEPS, frames: int = FRAMES
) -> tuple[Any, Any]:
    """The released flow and vocoder, on the weights' device and over those very tensors.

    Args:
        released: As `package.import_released` gives it.
        made: Weights and noise.
        steps: Of the solver, for which the flow's buffers have room.
        frames: Of mel, for which they have room.
    """
    with left_uninitialised():
        flow, vocoder = _built(released, made.sizes, made.noise, steps, frames)
    for module, weights in ((flow, made.flow), (vocoder, made.vocoder)):
        module.load_state_dict(weights, assign=True)
        module.to(made.noise.device).requires_grad_(False).eval()
    return flow, vocoder


def _built(
    released: types.SimpleNamespace, sizes: Token2WavSizes, noise: Tensor, steps: int, frames: int
) -> tuple[Any, Any]:
    device = noise.device
    encoder, dit = sizes.flow.encoder, sizes.flow.estimator
    conformer = released.conformer.UpsampleConformerEncoderV2(
        input_size=encoder.width,
        output_size=encoder.width,
        pre_lookahead_len=encoder.look_ahead,
        num_blocks=encoder.layers,
        num_up_blocks=encoder.up_layers,
        up_stride=encoder.stride,
        up_scale_factor=encoder.stride,
        attention_heads=encoder.heads,
        linear_units=encoder.inner,
    )
    with torch.device("meta"):  # the released buffers have room for released sizes: two gigabytes, here made anew
        estimator = released.dit.DiT(
            in_channels=4 * dit.channels,
            out_channels=dit.channels,
            mlp_ratio=dit.inner / dit.width,
            depth=dit.depth,
            num_heads=dit.heads,
            head_dim=dit.dim,
            hidden_size=dit.width,
        )
        solver = released.flow_matching.CausalConditionalCFM(estimator, sizes.flow.guidance)
    attention = (dit.depth, 2, dit.heads, frames, 2 * dit.dim)
    convolution = (dit.depth, 2, 2 * dit.width, 2)
    for module, first in ((estimator, ()), (solver, (steps,))):
        room = torch.zeros(*first, *attention, device=device), torch.zeros(*first, *convolution, device=device)
        module.register_buffer("att_cache_buffer", room[0], persistent=False)
        module.register_buffer("cnn_cache_buffer", room[1], persistent=False)
    solver.register_buffer("rand_noise", noise, persistent=False)
    flow = released.flow.CausalMaskedDiffWithXvec(
        input_size=encoder.width,
        output_size=dit.channels,
        spk_embed_dim=sizes.flow.speaker,
        vocab_size=sizes.flow.vocabulary,
        encoder=conformer,
        decoder=solver,
    )
    hift = sizes.vocoder
    vocoder = released.hift.HiFTGenerator(
        in_channels=hift.mels,
        base_channels=hift.channels,
        f0_predictor=released.hift.ConvRNNF0Predictor(in_channels=hift.mels, cond_channels=hift.pitch),
    )
    return flow, vocoder


@contextmanager
def left_uninitialised() -> Iterator[None]:
    """While entered, modules do not draw first weights, which takes seconds, and would be replaced at once."""
    init = torch.nn.init
    names = ("normal_", "uniform_", "xavier_uniform_", "kaiming_uniform_", "constant_", "zeros_", "ones_")
    was = {name: getattr(init, name) for name in names}
    for name in names:
        setattr(init, name, lambda tensor, *_, **__: tensor)
    try:
        yield
    finally:
        for name, function in was.items():
            setattr(init, name, function)
