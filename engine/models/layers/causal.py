"""Convolutions that look back alone, whole or in pieces: what they look back at is zeros, or is carried.

Carried, a piece's output is what the whole's would be there: the same sums, over the same taps. Transposed ones, as
Qwen3-Omni has them, are cut at both ends by what a tick reaches beyond its own place: so a tick's output needs the next
tick, the first tick of all has none of its own, and that is lost once, at the beginning. Entered by the engine thread.
"""

import torch
from torch import Tensor
from torch.nn import functional

from engine.models.layers.carry import continued
from engine.models.layers.residual import Convolution


class Causal:
    """A convolution, as many ticks out as in.

    Args:
        weight: `[out, in / groups, kernel]`.
        bias: `[out]`.
        dilation: Ticks from tap to tap.
        groups: Of channels.
        tail: What is carried, `[reach, 1, in]`, zero at the beginning; None where every launch is a whole.
    """

    def __init__(
        self, weight: Tensor, bias: Tensor, *, dilation: int = 1, groups: int = 1, tail: Tensor | None = None
    ) -> None:
        self._convolve = Convolution(weight, bias, dilation=dilation, groups=groups)
        self._reach, self._tail = (weight.shape[2] - 1) * dilation, tail

    def __call__(self, x: Tensor) -> Tensor:
        """`x` `[1, in, t]` as `[1, out, t]`."""
        x = functional.pad(x, (self._reach, 0)) if self._tail is None else continued(self._tail, x)
        return self._convolve(x)


class CausalUp:
    """A transposed convolution whose kernel is its rate, or twice that.

    Args:
        weight: `[in, out, kernel]`.
        bias: `[out]`.
        rate: Ticks out to a tick in.
        tail: The last tick in, `[1, 1, in]`, where the kernel reaches beyond the rate; None where every launch is a
            whole.
    """

    def __init__(self, weight: Tensor, bias: Tensor, rate: int, tail: Tensor | None = None) -> None:
        self._weight, self._bias, self._rate, self._tail = weight, bias, rate, tail
        self._cut = weight.shape[2] - rate

    def __call__(self, x: Tensor, *, begins: bool = True) -> Tensor:
        """Upsample.

        Args:
            x: `[1, in, t]`.
            begins: Nothing came before.

        Returns:
            `[1, out, t * rate]`, without the first and the last tick's reach where it begins.
        """
        if self._tail is not None and self._cut:
            last = x[:, :, -1:].permute(2, 0, 1)
            x = x if begins else torch.cat((self._tail.permute(1, 2, 0), x), 2)
            self._tail.copy_(last)
        x = functional.conv_transpose1d(x, self._weight, self._bias, self._rate)
        return x[..., self._cut : x.shape[2] - self._cut].contiguous()
