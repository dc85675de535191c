"""What vocoders are made of: convolutions, pairs of them beside a way past, and several such blocks averaged.

Entered by the engine thread.
"""

from collections.abc import Callable, Sequence
from functools import partial

from torch import Tensor
from torch.nn import functional

from engine.models.layers.lanes import Lanes

Layer = Callable[[Tensor], Tensor]
DILATIONS = (1, 3, 5)  # of the first convolution of each pair, in the vocoders that repeat themselves


class Convolution:
    """A convolution over time.

    Args:
        weight: `[out, in / groups, kernel]`.
        bias: `[out]`, where there is one.
        dilation: Ticks from tap to tap.
        padding: Zeros at either end.
        groups: Of channels.
    """

    def __init__(
        self, weight: Tensor, bias: Tensor | None, *, dilation: int = 1, padding: int = 0, groups: int = 1
    ) -> None:
        self._weight, self._bias = weight, bias
        self._dilation, self._padding, self._groups = dilation, padding, groups

    def __call__(self, x: Tensor) -> Tensor:
        """`x` `[batch, in, t]` as `[batch, out, ...]`."""
        return functional.conv1d(
            x, self._weight, self._bias, padding=self._padding, dilation=self._dilation, groups=self._groups
        )


def centred(weight: Tensor, bias: Tensor | None, dilation: int = 1) -> Convolution:
    """A convolution of an odd kernel, as many ticks out as in."""
    return Convolution(weight, bias, dilation=dilation, padding=(weight.shape[2] - 1) // 2 * dilation)


class Residual:
    """Pairs of convolutions, an activation before each, each pair beside a way past it.

    Args:
        pairs: Activation, convolution, activation, convolution.
    """

    def __init__(self, pairs: Sequence[tuple[Layer, Layer, Layer, Layer]]) -> None:
        self._pairs = tuple(pairs)

    def __call__(self, x: Tensor) -> Tensor:
        """`x` `[1, channels, t]`, the same shape out."""
        for before, first, between, second in self._pairs:
            x = second(between(first(before(x)))) + x
        return x


def averaged(blocks: Sequence[Layer], x: Tensor, lanes: Lanes) -> Tensor:
    """What several blocks make of the same `x`, side by side, added in their order and divided by their number."""
    total: Tensor
    total, *others = lanes.together(*(partial(block, x) for block in blocks))
    for other in others:
        total += other
    return total / len(blocks)
