"""The conformer encoder of CosyVoice 2's token decoder: tokens in at one rate, vectors out at a multiple of it.

A look ahead of a few tokens, a stack of blocks, upsampling, a second stack. Chunk by chunk: convolutions go on from
their tails, and attention from keys and values, in states handed in and written in place; who trims those, and when, is
the caller's business. Same operations on the same layouts as released (`stepaudio2-minicpmo` 0.1.1), so the bits are
the same; tests hold that. Entered by the engine thread.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor
from torch.nn import functional

from engine.models.layers.carry import continued
from engine.models.layers.lanes import Lanes
from engine.models.layers.named import Linear, Named, Norm
from engine.models.layers.relative import RelativeAttention, RelativePositions
from engine.models.layers.residual import Convolution


@dataclass(frozen=True)
class ConformerSizes:
    """The encoder's shape.

    Args:
        layers: Blocks before upsampling.
        up_layers: Blocks after it.
        width: Of every vector.
        heads: Of every attention.
        inner: Of every feed-forward.
        look_ahead: Tokens.
        stride: Vectors to a token after upsampling.
    """

    layers: int = 6
    up_layers: int = 4
    width: int = 512
    heads: int = 8
    inner: int = 2048
    look_ahead: int = 3
    stride: int = 2


@dataclass(frozen=True)
class ConformerStates:
    """What the encoder carries, time-major.

    Args:
        look_ahead: The second look-ahead convolution's tail, `[2, 1, width]`.
        upsample: The upsampling convolution's tail, `[2 * stride, 1, width]`.
        attention: Keys and values before upsampling, `[ticks, layers, 1, heads, keys|values]`.
        up_attention: The same after it, `stride` ticks for each token.
    """

    look_ahead: Tensor
    upsample: Tensor
    attention: Tensor
    up_attention: Tensor


class _Embedding:
    def __init__(self, weights: Named, sizes: ConformerSizes) -> None:
        self._linear, self._norm = Linear(weights.below("out.0")), Norm(weights.below("out.1"))
        self._scale = math.sqrt(sizes.width)

    def __call__(self, x: Tensor) -> Tensor:
        return self._norm(self._linear(x)) * self._scale


def _convolution(weights: Named) -> Convolution:
    return Convolution(weights["weight"], weights["bias"])


class _Block:
    def __init__(self, weights: Named, lanes: Lanes) -> None:
        self.attention = RelativeAttention(weights.below("self_attn"), lanes)
        self._before, self._between = (Norm(weights.below(name), 1e-12) for name in ("norm_mha", "norm_ff"))
        self._up, self._down = (Linear(weights.below(f"feed_forward.w_{part}")) for part in (1, 2))

    def __call__(self, x: Tensor, past: Tensor, distance: Tensor) -> Tensor:
        x = x + self.attention(self._before(x), past, distance)
        return x + self._down(functional.silu(self._up(self._between(x))))


class ConformerEncoder:
    """The encoder.

    Args:
        weights: Named as released, below `encoder`.
        sizes: Of the same encoder.
        states: Handed in; whoever does that keeps count of their ticks.
        lanes: For what can be done at once.
    """

    def __init__(self, weights: Named, sizes: ConformerSizes, states: ConformerStates, lanes: Lanes) -> None:
        self._embed, self._up_embed = (_Embedding(weights.below(name), sizes) for name in ("embed", "up_embed"))
        ahead = weights.below("pre_lookahead_layer")
        self._ahead, self._behind = _convolution(ahead.below("conv1")), _convolution(ahead.below("conv2"))
        self._upsample = _convolution(weights.below("up_layer.conv"))
        self._blocks = [_Block(weights.below(f"encoders.{index}"), lanes) for index in range(sizes.layers)]
        self._up_blocks = [_Block(weights.below(f"up_encoders.{index}"), lanes) for index in range(sizes.up_layers)]
        self._norm = Norm(weights.below("after_norm"))
        self._sizes, self._states = sizes, states
        device = weights["after_norm.weight"].device
        self._positions, self._up_positions = (
            RelativePositions([block.attention for block in blocks], sizes.width, device)
            for blocks in (self._blocks, self._up_blocks)
        )

    def foresee(self, tokens: int, held: int) -> None:
        """Make the constants of a launch that takes `tokens` tokens after `held` ticks, and keep them."""
        self._positions.foresee(held + tokens)
        self._up_positions.foresee((held + tokens) * self._sizes.stride)

    def __call__(self, x: Tensor, held: int, *, last: bool = False) -> Tensor:
        """Encode a chunk.

        Args:
            x: `[1, n, width]`, the look-ahead among them.
            held: Ticks of `attention` before the launch; `up_attention` holds `stride` times as many.
            last: No look-ahead is among them, because nothing follows: what would be there counts as nothing.

        Returns:
            `[1, stride * taken, width]`; `taken` is `n`, without the look-ahead where there is one.
        """
        sizes, states = self._sizes, self._states
        x = self._embed(x)
        if last:
            x = functional.pad(x, (0, 0, 0, sizes.look_ahead))
        ahead = functional.leaky_relu(self._ahead(x.transpose(1, 2).contiguous()))
        seen = self._behind(continued(states.look_ahead, ahead))
        x = seen.transpose(1, 2).contiguous() + x[:, : -sizes.look_ahead]
        x = _through(self._blocks, x, held, states.attention, self._positions)
        # Each token stands `stride` times in a row before the convolution makes vectors of their own of them.
        repeated = functional.interpolate(x.transpose(1, 2).contiguous(), scale_factor=float(sizes.stride))
        x = self._upsample(continued(states.upsample, repeated)).transpose(1, 2).contiguous()
        x = _through(self._up_blocks, self._up_embed(x), held * sizes.stride, states.up_attention, self._up_positions)
        return self._norm(x)


def _through(blocks: Sequence[_Block], x: Tensor, held: int, state: Tensor, positions: RelativePositions) -> Tensor:
    """`x` `[1, n, width]` through a stack whose keys and values stand in `state` `[ticks, layers, 1, heads, ...]`."""
    ticks = held + x.shape[1]
    for block, past, distance in zip(blocks, state[:ticks].unbind(1), positions.of(ticks), strict=True):
        x = block(x, past, distance)
    return x
