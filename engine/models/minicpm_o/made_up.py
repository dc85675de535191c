"""MiniCPM-o without a checkpoint: random weights at any size, and a size for tests.

Times, memory and bits are true with random weights; what is said is noise. None of them is zero.
"""

from collections.abc import Mapping

import torch
from torch import Tensor

from engine.models.layers.checked import Shape
from engine.models.layers.decoder_stack import StackSizes
from engine.models.minicpm_o.sizes import EncoderSizes, SpeechSizes

TINY_ENCODER = EncoderSizes(mels=8, width=32, layers=2, heads=2, inner=128, positions=240, out=48)
TINY_SPEECH = SpeechSizes(
    StackSizes(width=32, inner=64, layers=2, heads=2, kv_heads=2, dim=16, eps=1e-6, rope_theta=10_000.0),
    texts=128,
    tokens=4301,  # one more than the tiny token2wav speaks
    llm=48,
    begin=120,
)


def make_up(shapes: Mapping[str, Shape], dtype: torch.dtype, seed: int = 1) -> dict[str, Tensor]:
    """Random weights of the asked-for shapes, the same on every machine, scaled so that signals stay about one."""
    generator = torch.Generator().manual_seed(seed)
    return {name: _weight(name, shape, generator).to(dtype) for name, shape in shapes.items()}


def _weight(name: str, shape: Shape, generator: torch.Generator) -> Tensor:
    spread = 0.1 if len(shape) < 2 or shape[1] == 1 else 0.8 * float(torch.Size(shape[1:]).numel()) ** -0.5
    scales = name.endswith("original0") or (len(shape) == 1 and "norm" in name and name.endswith("weight"))
    return float(scales) + spread * torch.randn(shape, generator=generator)
