"""MiniCPM-o without a checkpoint: random weights at any size, and a size for tests.

Times, memory and bits are true with random weights; what is said is noise. None of them is zero.
"""

from collections.abc import Mapping

import torch
from torch import Tensor

from engine.models.layers.checked import Shape
from engine.models.minicpm_o.sizes import EncoderSizes

TINY_ENCODER = EncoderSizes(mels=8, width=32, layers=2, heads=2, inner=128, positions=240, out=48)


def make_up(shapes: Mapping[str, Shape], dtype: torch.dtype, seed: int = 1) -> dict[str, Tensor]:
    """Random weights of the asked-for shapes, the same on every machine, scaled so that signals stay about one."""
    generator = torch.Generator().manual_seed(seed)
    return {name: _weight(name, shape, generator).to(dtype) for name, shape in shapes.items()}


def _weight(name: str, shape: Shape, generator: torch.Generator) -> Tensor:
    spread = 0.1 if len(shape) < 2 else 0.8 * float(torch.Size(shape[1:]).numel()) ** -0.5
    return float(len(shape) == 1 and "norm" in name and name.endswith("weight")) + spread * torch.randn(
        shape, generator=generator
    )
