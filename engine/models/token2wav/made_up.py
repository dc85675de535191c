"""token2wav without a checkpoint: random weights at any size, a size for tests, and timelines of that size.

Times, memory and bits are true with random weights; the sound is noise. None of them is zero, so that nothing that a
released checkpoint would bring to bear is left out of a comparison of bits.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from engine.models.layers.checked import Shape
from engine.models.layers.conformer import ConformerSizes
from engine.models.layers.dit import DitSizes
from engine.models.layers.hift import HiftSizes
from engine.models.token2wav.shapes import flow_shapes, vocoder_shapes
from engine.models.token2wav.sizes import FlowSizes, Token2WavSizes
from engine.models.token2wav.unit import VoicePrompt
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

# About one where they scale, so that signals neither vanish nor blow up.
_SCALES = ("norm.weight", "norm_ff.weight", "norm_mha.weight", "out.1.weight", "block.3.weight", "alpha", "original0")


@dataclass(frozen=True)
class MadeUp:
    """What a comparison needs beside the code.

    Args:
        sizes: Of both halves.
        flow: Weights under their released names.
        vocoder: The same.
        noise: The flow's, float32 `[1, channels, frames]`.
    """

    sizes: Token2WavSizes
    flow: Mapping[str, Tensor]
    vocoder: Mapping[str, Tensor]
    noise: Tensor

    def to(self, device: torch.device) -> "MadeUp":
        """The same on a device."""
        flow, vocoder = ({name: each.to(device) for name, each in half.items()} for half in (self.flow, self.vocoder))
        return MadeUp(self.sizes, flow, vocoder, self.noise.to(device))


def make_up(sizes: Token2WavSizes, noise_frames: int, seed: int = 1) -> MadeUp:
    """Random weights and noise, the same on every machine.

    Args:
        sizes: Of both halves.
        noise_frames: Mel frames of noise.
        seed: Other weights for another.
    """
    generator = torch.Generator().manual_seed(seed)
    flow = {name: _weight(name, shape, generator) for name, shape in flow_shapes(sizes.flow).items()}
    vocoder = {name: _weight(name, shape, generator) for name, shape in vocoder_shapes(sizes.vocoder).items()}
    vocoder["f0_predictor.classifier.weight"] *= 300  # Hz: some frames are voiced, some are not
    vocoder["f0_predictor.classifier.bias"].fill_(17.0)
    # Sound of a tenth or less, so that next to nothing is clipped.
    vocoder["conv_post.parametrizations.weight.original0"] *= 0.1
    vocoder["conv_post.bias"][: sizes.vocoder.window // 2 + 1] -= 1
    noise = torch.randn(1, sizes.flow.estimator.channels, noise_frames, generator=generator)
    return MadeUp(sizes, flow, vocoder, noise)


def make_up_prompt(sizes: Token2WavSizes, tokens: int, seed: int = 7) -> VoicePrompt:
    """A voice prompt of so many speech tokens."""
    generator = torch.Generator().manual_seed(seed)
    return VoicePrompt(
        torch.randint(0, sizes.flow.vocabulary, (1, tokens), generator=generator),
        torch.randn(1, 2 * tokens, sizes.vocoder.mels, generator=generator),
        torch.randn(1, sizes.flow.speaker, generator=generator),
    )


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


def _weight(name: str, shape: Shape, generator: torch.Generator) -> Tensor:
    spread = 0.1 if len(shape) < 2 else 0.6 * float(torch.Size(shape[1:]).numel()) ** -0.5
    return float(name.endswith(_SCALES)) + spread * torch.randn(shape, generator=generator)
