"""Snake: an activation that adds a sine's square to its input (arXiv 2006.08195). Entered by the engine thread."""

from torch import Tensor

from engine.models.layers.fused import snake_kernel
from engine.models.layers.named import Named

_NEVER_ZERO = 0.000000001  # beside what is divided by


class Snake:
    """`x + sin(alpha x)² / beta`, both a channel.

    Args:
        alpha: `[channels]`.
        beta: `[channels]`; as released, in the plain Snake it is alpha.
    """

    def __init__(self, alpha: Tensor, beta: Tensor) -> None:
        self._alpha = alpha.view(1, -1, 1).contiguous()
        self._inverse = 1.0 / (beta.view(1, -1, 1) + _NEVER_ZERO)
        self._snaked = snake_kernel(alpha.device, alpha.dtype)

    def __call__(self, x: Tensor) -> Tensor:
        """`x` `[1, channels, t]`, the same shape out."""
        return self._snaked(x, self._alpha, self._inverse)


def plain(weights: Named) -> Snake:
    """The one whose sine's square is divided by its frequency: one weight a channel."""
    return Snake(weights["alpha"], weights["alpha"])


def beta(weights: Named) -> Snake:
    """SnakeBeta: two weights a channel, stored as logarithms."""
    return Snake(weights["alpha"].exp(), weights["beta"].exp())
