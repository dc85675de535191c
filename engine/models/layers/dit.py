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

import torch
from torch import Tensor
from torch.nn import functional

from engine.models.layers.carry import continued, place
from engine.models.layers.named import Linear, Named, Norm

_FREQUENCIES, _TIME_SCALE, _WAVELENGTH = 256, 1000, 10_000  # of the time's embedding
_EPS = 1e-6  # of the norms that time scales and shifts


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
        joined: Room for one step's and block's new and old ones side by side, `[ticks, 2, heads, keys|values]`.
        convolution: Tails of both convolutions, `[2 ticks, steps, depth, 2, first|second width]`.
    """

    attention: Tensor
    joined: Tensor
    convolution: Tensor


@dataclass(frozen=True)
class _Modulation:
    """How one part of a block is moved by a step's time; each `[2, 1, width]`."""

    shift: Tensor
    scale: Tensor  # one more than the network says
    gate: Tensor

    def __call__(self, x: Tensor) -> Tensor:
        return functional.layer_norm(x, x.shape[-1:], eps=_EPS) * self.scale + self.shift


class Dit:
    """The transformer.

    Args:
        weights: Named as released, below `decoder.estimator`.
        sizes: Of the same transformer.
        times: Of each step, a tensor of one element, as the solver counts them.
        states: Handed in; whoever does that keeps count of their ticks.
    """

    def __init__(self, weights: Named, sizes: DitSizes, times: Sequence[Tensor], states: DitStates) -> None:
        self._in, self._out = Linear(weights.below("in_proj")), Linear(weights.below("final_layer.linear"))
        self._blocks = [_Block(weights.below(f"blocks.{index}"), sizes) for index in range(sizes.depth)]
        embedded = [_embed(weights.below("t_embedder.mlp"), time) for time in times]
        names = [f"blocks.{index}" for index in range(sizes.depth)]
        # [step][block], then the three parts in the order that they are stored: attention, feed-forward, convolution
        self._modulations = [[_modulations(weights.below(name), time) for name in names] for time in embedded]
        self._last = [_parts(weights.below("final_layer"), time, 2) for time in embedded]
        self._states = states

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
        states = self._states
        x = self._in(x.transpose(1, 2))
        for index, (block, modulations) in enumerate(zip(self._blocks, self._modulations[step], strict=True)):
            carried = states.attention[:, step, index]
            joined = _joined(carried, states.joined, held, x.shape[1])
            x = block(x, modulations, joined, states.convolution[:, step, index])
            if held:
                place(carried, joined, kept)
        shift, scale = self._last[step]
        x = functional.layer_norm(x, x.shape[-1:], eps=_EPS) * (1 + scale) + shift
        return self._out(x).transpose(1, 2)


def _joined(carried: Tensor, aside: Tensor, held: int, new: int) -> Tensor:
    """Where new keys and values and those carried stand one after the other; the first `new` are yet to be written."""
    if not held:
        return carried[:new]  # nothing is in the way
    joined = aside[: new + held]
    joined[new:] = carried[:held]
    return joined


def _embed(weights: Named, time: Tensor) -> Tensor:
    """A time `[1]` in `[0, 1)` as a vector, for both of the batch: `[2, 1, width]`."""
    half = _FREQUENCIES // 2
    rates = torch.exp(-math.log(_WAVELENGTH) * torch.arange(start=0, end=half) / half).to(time)
    angles = (time.repeat(2) * _TIME_SCALE)[:, None] * rates[None]
    waves = torch.cat((torch.cos(angles), torch.sin(angles)), -1)
    return Linear(weights.below("2"))(functional.silu(Linear(weights.below("0"))(waves))).unsqueeze(1)


def _parts(weights: Named, time: Tensor, count: int) -> tuple[Tensor, ...]:
    return Linear(weights.below("adaLN_modulation.1"))(functional.silu(time)).chunk(count, dim=-1)


def _modulations(weights: Named, time: Tensor) -> list[_Modulation]:
    parts = _parts(weights, time, 9)
    return [_Modulation(shift, 1 + scale, gate) for shift, scale, gate in zip(*[iter(parts)] * 3, strict=True)]


class _Block:
    def __init__(self, weights: Named, sizes: DitSizes) -> None:
        self._attention = _Attention(weights.below("attn"), sizes)
        self._convolutions = _Convolutions(weights.below("conv.block"))
        self._up, self._down = (Linear(weights.below(f"mlp.fc{part}")) for part in (1, 2))

    def __call__(self, x: Tensor, modulations: Sequence[_Modulation], joined: Tensor, tails: Tensor) -> Tensor:
        attention, feed_forward, convolution = modulations
        x = x + attention.gate * self._attention(attention(x), joined)
        x = x + convolution.gate * self._convolutions(convolution(x), tails)
        up = functional.gelu(self._up(feed_forward(x)), approximate="tanh")
        return x + feed_forward.gate * self._down(up)


class _Attention:
    def __init__(self, weights: Named, sizes: DitSizes) -> None:
        self._query, self._key, self._value = (Linear(weights.below(f"to_{part}")) for part in ("q", "k", "v"))
        self._query_norm, self._key_norm = Norm(weights.below("q_norm")), Norm(weights.below("k_norm"))
        self._out = Linear(weights.below("proj"))
        self._shape, self._dim = (2, -1, sizes.heads, sizes.dim), sizes.dim

    def __call__(self, x: Tensor, joined: Tensor) -> Tensor:
        """Write `x`'s `[2, n, width]` keys and values to the start of `joined`, and attend from `x` to all of it."""
        count = x.shape[1]
        query = self._query_norm(self._query(x).view(self._shape)).transpose(1, 2)
        new = joined[:count].transpose(0, 1)  # [2, n, heads, keys|values]
        new[..., : self._dim] = self._key_norm(self._key(x).view(self._shape))
        new[..., self._dim :] = self._value(x).view(self._shape)
        keys, values = joined.permute(1, 2, 0, 3).split(self._dim, 3)  # each [2, heads, t, dim]
        found = functional.scaled_dot_product_attention(query, keys, values)
        return self._out(found.transpose(1, 2).reshape(2, count, -1))


class _Convolutions:
    """Two causal convolutions over three frames, a norm and a Mish between them."""

    def __init__(self, weights: Named) -> None:
        self._first, self._second = ((weights[f"{part}.weight"], weights[f"{part}.bias"]) for part in (1, 6))
        self._norm = Norm(weights.below("3"))

    def __call__(self, x: Tensor, tails: Tensor) -> Tensor:
        """`x` `[2, n, width]`, after the frames in `tails` `[2 ticks, 2, first|second width]`."""
        before, between = tails.split(x.shape[2], 2)
        x = functional.conv1d(continued(before, x.transpose(1, 2)), *self._first)
        x = functional.mish(self._norm(x.transpose(1, 2)))
        return functional.conv1d(continued(between, x.transpose(1, 2)), *self._second).transpose(1, 2)
