"""The diffusion transformer of Step-Audio 2's flow: a velocity for every frame of a chunk, one solver step at a time.

Each block attends, convolves causally and feeds forward, all three shifted, scaled and gated by the step's time. Chunk
by chunk, each step and block carry keys, values and two convolutions' tails of their own, in states handed in and
written in place. As released, new keys stand *before* those carried, so new and old are joined aside and put back.

What depends on the step's time alone is constant, so it is worked out once, by the released operations, and the
matrices it comes from are not held. Same operations on the same layouts as released (`stepaudio2-minicpmo` 0.1.1), so
the bits are the same; tests hold that. Entered by the engine thread.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor
from torch.nn import functional

from engine.models.layers.carry import continued, place
from engine.models.layers.exact.dit_block import BlockWeights, ExactBlocks, equal, fit
from engine.models.layers.exact.kernels import compiled, rounded
from engine.models.layers.fused import scaled
from engine.models.layers.lanes import Lanes, Started
from engine.models.layers.modulated import EPS, Modulation, modulations, moved, parts
from engine.models.layers.named import Linear, Named

_FREQUENCIES, _TIME_SCALE, _WAVELENGTH = 256, 1000, 10_000  # of the time's embedding
_WEIGHED_EPS = 1e-5  # of those with weights
_MEMORY = 2  # the lane that moves keys and values, beside two that work some out


@dataclass(frozen=True)
class DitSizes:
    """The transformer's shape.

    Args:
        depth: Blocks.
        width: Of every vector.
        heads: Of every attention.
        dim: Of every head.
        inner: Of every feed-forward.
        channels: Of the mel, hence of the velocity; the input has four times as many.
    """

    depth: int = 16
    width: int = 512
    heads: int = 8
    dim: int = 64
    inner: int = 2048
    channels: int = 80


@dataclass(frozen=True)
class DitStates:
    """What the transformer carries, time-major. Of a batch of two, the second is the one without guidance.

    Args:
        attention: Keys and values, `[ticks, steps, depth, 2, heads, keys|values]`, the newest chunk first.
        joined: Room for two blocks' new and old ones side by side, `[ticks, 2 blocks, 2, heads, keys|values]`.
        convolution: Tails of both convolutions, `[2 ticks, steps, depth, 2, first|second width]`.
    """

    attention: Tensor
    joined: Tensor
    convolution: Tensor


class Dit:
    """The transformer.

    Args:
        weights: Named as released, below `decoder.estimator`.
        sizes: Of the same transformer.
        times: Of each step, a tensor of one element, as the solver counts them.
        states: Handed in; whoever does that keeps count of their ticks.
        lanes: For what can be done at once; three of them.
    """

    def __init__(
        self, weights: Named, sizes: DitSizes, times: Sequence[Tensor], states: DitStates, lanes: Lanes
    ) -> None:
        self._in, self._out = Linear(weights.below("in_proj")), Linear(weights.below("final_layer.linear"))
        self._blocks = [_Block(weights.below(f"blocks.{index}"), sizes, lanes) for index in range(sizes.depth)]
        embedded = [_embed(weights.below("t_embedder.mlp"), time) for time in times]
        names = [f"blocks.{index}" for index in range(sizes.depth)]
        # [step][block], then the three parts in the order that they are stored: attention, feed-forward, convolution
        self._modulations = [
            [modulations(parts(weights.below(f"{name}.adaLN_modulation.1"), time, 9)) for name in names]
            for time in embedded
        ]
        last = [parts(weights.below("final_layer.adaLN_modulation.1"), time, 2) for time in embedded]
        self._last = [(shift, 1 + scale) for shift, scale in last]
        self._states, self._lanes, self._heads = states, lanes, sizes.heads
        self._exact: dict[int, ExactBlocks | None] = {}  # by frames

    def foresee(self, count: int) -> None:
        """Find out whether chunks of so many frames come to the same bits by kernels of our own; where so, use them."""
        kernels = compiled(self._in.weight.device)
        if kernels is not None and count not in self._exact:
            blocks = fit(kernels, self._blocks[0].weights, count)
            self._exact[count] = (
                blocks if blocks and all(map(partial(self._stands, blocks, count), self._blocks)) else None
            )

    def _stands(self, blocks: ExactBlocks, count: int, block: "_Block") -> bool:
        """Whether one block comes to the same bits either way, in all that it writes."""
        moves, room = self._modulations[0][0], self._states.joined.shape[0] - count
        return equal(
            lambda x, joined, tails: block(x, moves, joined, tails),
            lambda x, joined, tails: block.exactly(blocks, x, moves, joined, tails),
            *(count, room, self._heads, self._in.weight.device),
        )

    def __call__(self, x: Tensor, step: int, held: int, kept: Sequence[range]) -> Tensor:
        """Velocities of a chunk.

        Args:
            x: `[2, 4 * channels, n]`: what the chunk is now, its meaning, its speaker, and what is known of it.
            step: Which of the solver's steps.
            held: Ticks of `attention` before the launch.
            kept: Which ticks of the new and then the old ones to hold on to; none where nothing follows.

        Returns:
            `[2, channels, n]`.
        """
        carries = _Carries(self._states, step, held, x.shape[2], self._lanes)
        exact = self._exact.get(x.shape[2])
        x = self._in(x.transpose(1, 2))
        for index, (block, moves) in enumerate(zip(self._blocks, self._modulations[step], strict=True)):
            joined = carries.joined(index)
            tails = self._states.convolution[:, step, index]
            x = block(x, moves, joined, tails) if exact is None else block.exactly(exact, x, moves, joined, tails)
            carries.keep(index, joined, kept)
        carries.settle()
        return self._out(moved(x, *self._last[step])).transpose(1, 2)


class _Carries:
    """One step's keys and values, block by block: fetched a block ahead and put back a block behind, on a lane.

    New ones stand before those carried, which are fetched to their place behind them; two places are used in turn.
    """

    def __init__(self, states: DitStates, step: int, held: int, new: int, lanes: Lanes) -> None:
        self._states, self._step, self._held, self._new, self._lanes = states, step, held, new, lanes
        self._fetched = self._kept = Started(None, None)
        self._fetch(0)

    def _carried(self, index: int) -> Tensor:
        return self._states.attention[:, self._step, index]

    def _fetch(self, index: int) -> None:
        if self._held and index < self._states.attention.shape[2]:
            behind = self._states.joined[self._new : self._new + self._held, index % 2]
            self._fetched = self._lanes.start(_MEMORY, lambda: behind.copy_(self._carried(index)[: self._held]))

    def joined(self, index: int) -> Tensor:
        """Where a block's new keys and values stand before those carried; the new are yet to be written."""
        if not self._held:
            return self._carried(index)[: self._new]  # nothing is in the way
        self._fetched.join()
        self._fetch(index + 1)
        return self._states.joined[: self._new + self._held, index % 2]

    def keep(self, index: int, joined: Tensor, kept: Sequence[range]) -> None:
        """Hold on to some of a block's."""
        if self._held:
            self._kept = self._lanes.start(_MEMORY, lambda: place(self._carried(index), joined, kept))

    def settle(self) -> None:
        """Wait until all is put back."""
        if self._held:
            self._kept.join()


def _embed(weights: Named, time: Tensor) -> Tensor:
    """A time `[1]` in `[0, 1)` as a vector, for both of the batch: `[2, 1, width]`."""
    half = _FREQUENCIES // 2
    rates = torch.exp(-math.log(_WAVELENGTH) * torch.arange(start=0, end=half) / half).to(time)
    angles = (time.repeat(2) * _TIME_SCALE)[:, None] * rates[None]
    waves = torch.cat((torch.cos(angles), torch.sin(angles)), -1)
    return Linear(weights.below("2"))(functional.silu(Linear(weights.below("0"))(waves))).unsqueeze(1)


class _Block:
    def __init__(self, weights: Named, sizes: DitSizes, lanes: Lanes) -> None:
        attention, convolutions = weights.below("attn"), weights.below("conv.block")
        products = [attention.below(f"to_{part}") for part in ("q", "k", "v")]
        self.weights = BlockWeights(
            product=(torch.cat([one["weight"] for one in products]), torch.cat([one["bias"] for one in products])),
            query_norm=_pair(attention.below("q_norm")),
            key_norm=_pair(attention.below("k_norm")),
            out=_pair(attention.below("proj")),
            first=_taps_first(convolutions.below("1")),
            norm=_pair(convolutions.below("3")),
            second=_taps_first(convolutions.below("6")),
            up=_pair(weights.below("mlp.fc1")),
            down=_pair(weights.below("mlp.fc2")),
        )
        self._attend = _Attention(self.weights, sizes, lanes)
        self._convolve = _Convolutions(self.weights)

    def __call__(self, x: Tensor, moves: Sequence[Modulation], joined: Tensor, tails: Tensor) -> Tensor:
        """As the libraries compute it."""
        attention, feed_forward, convolution = moves
        x = scaled(self._attend(attention(x), joined), attention.gate, x)
        x = scaled(self._convolve(convolution(x), tails), convolution.gate, x)
        up = functional.gelu(functional.linear(feed_forward(x), *self.weights.up), approximate="tanh")
        return scaled(functional.linear(up, *self.weights.down), feed_forward.gate, x)

    def exactly(
        self, blocks: ExactBlocks, x: Tensor, moves: Sequence[Modulation], joined: Tensor, tails: Tensor
    ) -> Tensor:
        """By kernels of our own, to the same bits."""
        told = [(one.shift, one.scale, one.gate) for one in moves]
        return blocks(self.weights, x, told, joined, tails, (EPS, _WEIGHED_EPS))


def _pair(weights: Named) -> tuple[Tensor, Tensor]:
    return weights["weight"], weights["bias"]


def _taps_first(weights: Named) -> tuple[Tensor, Tensor]:
    """A convolution's `[out, in, taps]` as `[out, taps, in]`, rounded as the library will where it computes in TF32."""
    weight = weights["weight"].permute(0, 2, 1).contiguous()
    in_tf32 = weight.is_cuda and torch.backends.cudnn.allow_tf32
    return (rounded(weight) if in_tf32 else weight), weights["bias"]


class _Attention:
    def __init__(self, weights: BlockWeights, sizes: DitSizes, lanes: Lanes) -> None:
        products = zip(*(both.chunk(3) for both in weights.product), strict=True)
        self._query, self._key, self._value = (partial(functional.linear, weight=w, bias=b) for w, b in products)
        self._weights = weights
        self._shape, self._dim, self._lanes = (2, -1, sizes.heads, sizes.dim), sizes.dim, lanes

    def __call__(self, x: Tensor, joined: Tensor) -> Tensor:
        """Write `x`'s `[2, n, width]` keys and values to the start of `joined`, and attend from `x` to all of it."""
        count = x.shape[1]
        new = joined[:count].transpose(0, 1)  # [2, n, heads, keys|values]

        def write_keys() -> None:
            new[..., : self._dim] = _normed(self._key(x).view(self._shape), self._weights.key_norm)

        def write_values() -> None:
            new[..., self._dim :] = self._value(x).view(self._shape)

        *_, query = self._lanes.together(
            write_keys, write_values, lambda: _normed(self._query(x).view(self._shape), self._weights.query_norm)
        )
        keys, values = joined.permute(1, 2, 0, 3).split(self._dim, 3)  # each [2, heads, t, dim]
        found = functional.scaled_dot_product_attention(query.transpose(1, 2), keys, values)
        return functional.linear(found.transpose(1, 2).reshape(2, count, -1), *self._weights.out)


class _Convolutions:
    """Two causal convolutions over three frames, a norm and a Mish between them."""

    def __init__(self, weights: BlockWeights) -> None:
        self._weights = weights

    def __call__(self, x: Tensor, tails: Tensor) -> Tensor:
        """`x` `[2, n, width]`, after the frames in `tails` `[2 ticks, 2, first|second width]`."""
        before, between = tails.split(x.shape[2], 2)
        x = _convolved(continued(before, x.transpose(1, 2)), self._weights.first)
        x = functional.mish(_normed(x.transpose(1, 2), self._weights.norm))
        return _convolved(continued(between, x.transpose(1, 2)), self._weights.second).transpose(1, 2)


def _convolved(x: Tensor, weights: tuple[Tensor, Tensor]) -> Tensor:
    """`x` `[2, width, 2 + n]`; the library finds the weight laid out as released, or it would take another kernel."""
    return functional.conv1d(x, weights[0].permute(0, 2, 1).contiguous(), weights[1])


def _normed(x: Tensor, weights: tuple[Tensor, Tensor]) -> Tensor:
    return functional.layer_norm(x, x.shape[-1:], *weights, _WEIGHED_EPS)
