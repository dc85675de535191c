"""code2wav without a checkpoint: random weights at any size, and a size for tests.

Times, memory and bits are true with random weights; the sound is noise. None of them is zero, so that nothing that a
released checkpoint would bring to bear is left out of a comparison.
"""

import torch
from torch import Tensor

from engine.models.layers.checked import Shape
from engine.models.layers.windowed_stack import WindowedSizes
from engine.models.qwen3_omni.sizes import Code2WavSizes, shapes

TINY = Code2WavSizes(
    codes=50,
    stack=WindowedSizes(layers=2, width=32, heads=2, inner=48, window=30),
    channels=32,
    ups=(2, 2),
    rates=(4, 3),
)
_ONES = ("norm.weight", "layernorm.weight", "scale", "gamma")  # about one where they scale


def make_up(sizes: Code2WavSizes, device: torch.device, seed: int = 1) -> dict[str, Tensor]:
    """Random weights under their released names, the same for a kind of device.

    Args:
        sizes: Of them.
        device: Where they are made.
        seed: Other weights for another.
    """
    generator = torch.Generator(device).manual_seed(seed)
    weights = {name: _weight(name, shape, generator) for name, shape in shapes(sizes).items()}
    weights[f"decoder.{len(sizes.rates) + 2}.conv.weight"] *= 0.3  # next to nothing is clipped
    return weights


def make_up_codes(sizes: Code2WavSizes, frames: int, generator: torch.Generator) -> Tensor:
    """So many frames of codes, int64 `[1, codebooks, frames]`."""
    return torch.randint(0, sizes.codes, (1, sizes.codebooks, frames), generator=generator)


def _weight(name: str, shape: Shape, generator: torch.Generator) -> Tensor:
    spread = 0.1 if len(shape) < 2 else 0.6 * float(torch.Size(shape[1:]).numel()) ** -0.5
    if name == "code_embedding.weight":
        spread = 4.0  # of a mean over codebooks, still about one
    return float(name.endswith(_ONES)) + spread * torch.randn(shape, generator=generator, device=generator.device)
