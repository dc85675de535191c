"""Norms without weights of their own, shifted, scaled and gated by a time, as diffusion transformers have them.

What depends on the time alone is constant once the solver's times are. Entered by the engine thread.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor
from torch.nn import functional

from engine.models.layers.fused import scaled
from engine.models.layers.named import Linear, Named

EPS = 1e-6


@dataclass(frozen=True)
class Modulation:
    """How one part of a block is moved by a time; each `[2, 1, width]`.

    Args:
        shift: Added to the norm.
        scale: What the norm is multiplied with: one more than the network says.
        gate: What the part's result is multiplied with.
    """

    shift: Tensor
    scale: Tensor
    gate: Tensor

    def __call__(self, x: Tensor) -> Tensor:
        """`x` `[2, n, width]`, normed and moved."""
        return moved(x, self.shift, self.scale)


def moved(x: Tensor, shift: Tensor, scale: Tensor) -> Tensor:
    """`x`, normed, times `scale`, plus `shift`."""
    return scaled(functional.layer_norm(x, x.shape[-1:], eps=EPS), scale, shift)


def parts(linear: Named, time: Tensor, count: int) -> tuple[Tensor, ...]:
    """What a network says of an embedded time `[2, 1, width]`, in equal parts."""
    return tuple(part.contiguous() for part in Linear(linear)(functional.silu(time)).chunk(count, dim=-1))


def modulations(said: Sequence[Tensor]) -> list[Modulation]:
    """Of shift, scale and gate, one after another."""
    return [Modulation(shift, 1 + scale, gate) for shift, scale, gate in zip(*[iter(said)] * 3, strict=True)]
