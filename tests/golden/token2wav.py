"""The released token2wav's modules at any size, their weights random; a size for tests, and timelines of that size."""

import types
from dataclasses import replace
from typing import Any

import torch

from engine.models.layers.conformer import ConformerSizes
from engine.models.layers.dit import DitSizes
from engine.models.layers.hift import HiftSizes
from engine.models.token2wav.sizes import FlowSizes, Token2WavSizes
from engine.stage import StateSpec, T, Timeline

TINY = Token2WavSizes(
    FlowSizes(
        vocabulary=4300,  # the silent token is 4218
        speaker=24,
        encoder=ConformerSizes(layers=2, up_layers=2, width=32, heads=2, inner=48),
        estimator=DitSizes(depth=2, width=48, heads=3, dim=16, inner=96, channels=16),
    ),
    HiftSizes(mels=16, pitch=24, channels=16),
)


def random_modules(released: types.SimpleNamespace, sizes: Token2WavSizes, steps: int, frames: int) -> tuple[Any, Any]:
    """The released flow and vocoder of these sizes, every weight random and none of them zero.

    Args:
        released: As `import_released` gives it.
        sizes: Of both.
        steps: Of the solver, for which the released buffers have room; released, 16.
        frames: For which they have room; released, 1000.
    """
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
    with torch.device("meta"):  # the released buffers have room for released sizes: two gigabytes
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
        module.register_buffer("att_cache_buffer", torch.zeros(*first, *attention), persistent=False)
        module.register_buffer("cnn_cache_buffer", torch.zeros(*first, *convolution), persistent=False)
    solver.register_buffer("rand_noise", torch.empty(1, dit.channels, frames), persistent=False)
    flow = released.flow.CausalMaskedDiffWithXvec(
        input_size=encoder.width,
        output_size=dit.channels,
        spk_embed_dim=sizes.flow.speaker,
        vocab_size=sizes.flow.vocabulary,
        encoder=conformer,
        decoder=solver.to_empty(device="cpu"),
    )
    hift = sizes.vocoder
    vocoder = released.hift.HiFTGenerator(
        in_channels=hift.mels,
        base_channels=hift.channels,
        f0_predictor=released.hift.ConvRNNF0Predictor(in_channels=hift.mels, cond_channels=hift.pitch),
    )
    generator = torch.Generator().manual_seed(1)
    for module in (flow, vocoder):
        for name, weight in module.state_dict().items():
            # About one where they scale, so that signals neither vanish nor blow up.
            scales = name.endswith(
                ("norm.weight", "norm_ff.weight", "norm_mha.weight", "out.1.weight", "block.3.weight")
            )
            scales |= name.endswith(("alpha", "original0"))
            spread = 0.1 if weight.ndim < 2 else 0.6 * weight.shape[1:].numel() ** -0.5
            weight.copy_(float(scales) + spread * torch.randn(weight.shape, generator=generator))
    vocoder.f0_predictor.classifier.weight.data *= 300  # Hz: some frames are voiced, some are not
    vocoder.f0_predictor.classifier.bias.data.fill_(17.0)
    # Sound of a tenth or less, so that next to nothing is clipped.
    vocoder.conv_post.parametrizations.weight.original0.data *= 0.1
    vocoder.conv_post.bias.data[: hift.window // 2 + 1] -= 1
    solver.rand_noise.normal_(generator=generator)
    return flow.eval(), vocoder.eval()


def resized(lines: tuple[Timeline, ...], sizes: Token2WavSizes) -> tuple[Timeline, ...]:
    """token2wav's timelines with the same clocks and trims, and states of other sizes."""
    encoder, dit = sizes.flow.encoder, sizes.flow.estimator
    heads, dim = encoder.heads, encoder.width // encoder.heads
    keys, tails = (2, dit.heads, 2 * dit.dim), (2, 2 * dit.width)
    shapes: dict[str, tuple[tuple[int | str, ...], tuple[int, ...] | None]] = {
        "flow_encoder.look_ahead_conv": ((1, encoder.width, T), None),
        "flow_encoder.upsample_conv": ((1, encoder.width, T), None),
        "flow_encoder.attention": ((encoder.layers, 1, heads, T, 2 * dim), (1, heads, 2 * dim)),
        "flow_encoder.up_attention": ((encoder.up_layers, 1, heads, T, 2 * dim), (1, heads, 2 * dim)),
        "flow.conv": ((0, dit.depth, *tails, T), None),
        "flow.attention": ((0, dit.depth, 2, dit.heads, T, 2 * dit.dim), (2, *keys)),
        "vocoder.mel": ((1, dit.channels, T), None),
    }

    def resize(stage: str, spec: StateSpec) -> StateSpec:
        shape, shift = shapes.get(f"{stage}.{spec.name}", (spec.shape, spec.shift_shape))
        return replace(spec, shape=tuple(ours or theirs for ours, theirs in zip(shape, spec.shape, strict=True)),
                       shift_shape=shift)  # fmt: skip

    return tuple(replace(line, states=tuple(resize(line.name, spec) for spec in line.states)) for line in lines)
