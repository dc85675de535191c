"""The tail without a checkpoint: random weights at any size, and a size for tests.

Times, memory and bits are true with random weights; the sound is noise. None of them is zero, so that nothing that a
released checkpoint would bring to bear is left out of a comparison of bits.
"""

from collections.abc import Mapping

import torch
from torch import Tensor

from engine.models.layers.bigvgan import BigVganSizes
from engine.models.layers.block_dit import BlockDitSizes
from engine.models.layers.checked import Shape
from engine.models.layers.ecapa import EcapaSizes
from engine.models.qwen2_5_omni.sizes import Token2WavSizes, shapes
from engine.models.qwen2_5_omni.unit import Voice

TINY = Token2WavSizes(
    codes=200,
    code_width=24,
    speaker=12,
    flow=BlockDitSizes(
        depth=3, width=48, heads=3, dim=16, inner=96, channels=16, given=10 + 24 + 12, ahead=(1,), back=(0, 2)
    ),
    voice=EcapaSizes(mels=16, out=10, channels=(16, 16, 16, 32), kernels=(5, 3, 3, 1), dilations=(1, 2, 3, 1),
                     attention=8, squeezed=8),
    vocoder=BigVganSizes(mels=16, channels=32, rates=(5, 3), kernels=(11, 7)),
    points=3,
)  # fmt: skip


def make_up(sizes: Token2WavSizes, device: torch.device, seed: int = 1) -> dict[str, Tensor]:
    """Random weights under their released names, the same for a kind of device.

    Args:
        sizes: Of both halves.
        device: Where they are made.
        seed: Other weights for another.
    """
    generator = torch.Generator(device).manual_seed(seed)
    weights = {name: _weight(shape, generator) for name, shape in shapes(sizes).items()}
    weights["code2wav_bigvgan_model.conv_post.weight"] *= (
        2  # sound of a tenth or so, of which next to nothing is clipped
    )
    return weights


def make_up_voice(sizes: Token2WavSizes, frames: int = 300, seed: int = 7) -> Voice:
    """A voice whose recording has so many mel frames."""
    generator = torch.Generator().manual_seed(seed)
    return Voice(
        torch.randn(1, sizes.speaker, generator=generator),
        torch.randn(1, frames, sizes.flow.channels, generator=generator),
    )


def under(prefix: str, weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Those of one module, by its own names."""
    start = f"{prefix}."
    return {name.removeprefix(start): each for name, each in weights.items() if name.startswith(start)}


def _weight(shape: Shape, generator: torch.Generator) -> Tensor:
    spread = 0.1 if len(shape) < 2 else 0.6 * float(torch.Size(shape[1:]).numel()) ** -0.5
    return spread * torch.randn(shape, generator=generator, device=generator.device)
