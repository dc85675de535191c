"""The diffusion transformer of Qwen2.5-Omni's flow: velocities of a whole window, attention within blocks of frames.

A layer attends within a block of frames; a few look a block back or ahead. Nothing is carried. Same operations on the
same layouts as released (transformers 5.x, `qwen2_5_omni`), so the bits are the same; tests hold that. What is constant
there and made anew with every evaluation is made once: what time says to each layer (so that the matrices which say it,
four in ten of all weights, are not held), positions and masks of each length. The one head that is turned by its
position has its weights' rows in the order in which it is turned. Entered by the engine thread.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor
from torch.nn import functional

from engine.models.layers.checked import Shapes, below, linear
from engine.models.layers.fused import mixed, scaled
from engine.models.layers.lanes import Lanes
from engine.models.layers.masks import added
from engine.models.layers.modulated import modulations, moved, parts
from engine.models.layers.named import Linear, Named

_FREQUENCIES, _TIME_SCALE, _WAVELENGTH = 256, 1000, 10_000  # of the time's embedding


@dataclass(frozen=True)
class BlockDitSizes:
    """The transformer's shape.

    Args:
        depth: Layers.
        width: Of every vector.
        heads: Of every attention.
        dim: Of every head.
        inner: Of every feed-forward.
        channels: Of the mel, hence of the velocity.
        given: Of what it is told of each frame beside the mel.
        block: Frames that attend to one another.
        ahead: Layers that see the next block too.
        back: Layers that see the last block too.
        rope_theta: Of positions.
    """

    depth: int = 22
    width: int = 1024
    heads: int = 16
    dim: int = 64
    inner: int = 2048
    channels: int = 80
    given: int = 128 + 512 + 192
    block: int = 24
    ahead: tuple[int, ...] = (10,)
    back: tuple[int, ...] = (0, 20)
    rope_theta: float = 10_000.0


def shapes(sizes: BlockDitSizes) -> Shapes:
    """Every tensor of the transformer itself, by its released name."""
    width, inside = sizes.width, sizes.heads * sizes.dim
    yield from linear("time_embed.time_mlp.0", _FREQUENCIES, width)
    yield from linear("time_embed.time_mlp.2", width, width)
    yield from linear("input_embed.proj", sizes.channels + sizes.given, width)
    for index in range(sizes.depth):
        yield from below(f"transformer_blocks.{index}", _layer_shapes(sizes, inside))
    yield from linear("norm_out.linear", width, 2 * width)
    yield from linear("proj_out", width, sizes.channels)


def _layer_shapes(sizes: BlockDitSizes, inside: int) -> Shapes:
    yield from linear("attn_norm.linear", sizes.width, 6 * sizes.width)
    for part in ("q", "k", "v"):
        yield from linear(f"attn.to_{part}", sizes.width, inside)
    yield from linear("attn.to_out.0", inside, sizes.width)
    yield from linear("ff.ff.0", sizes.width, sizes.inner)
    yield from linear("ff.ff.3", sizes.inner, sizes.width)


@dataclass(frozen=True)
class _Length:
    """What is constant for a number of frames.

    Args:
        cosine: Of every position, `[1, n, dim]`.
        sine: The same, signed: `x * cosine + (x with its halves changed over) * sine` is a turn.
        masks: By layer, what is added to scores, `[1, 1, n, n]`; layers that see the same share one.
    """

    cosine: Tensor
    sine: Tensor
    masks: tuple[Tensor, ...]


class BlockDit:
    """The transformer.

    Args:
        weights: Named as released, below `code2wav_dit_model`.
        sizes: Of the same transformer.
        times: Of each evaluation, a tensor without a shape, as the solver counts them.
        lanes: For what can be done at once; two of them.
    """

    def __init__(self, weights: Named, sizes: BlockDitSizes, times: Sequence[Tensor], lanes: Lanes) -> None:
        self._in, self._out = Linear(weights.below("input_embed.proj")), Linear(weights.below("proj_out"))
        self._layers = [
            _Layer(weights.below(f"transformer_blocks.{index}"), sizes, lanes) for index in range(sizes.depth)
        ]
        # Evaluations at one time are told the same: where a step of the solver ends, the next begins.
        said: dict[float, int] = {}
        self._said = [said.setdefault(float(time), len(said)) for time in times]
        embedded = [_embed(weights.below("time_embed.time_mlp"), torch.tensor(time, device=times[0].device))
                    for time in said]  # fmt: skip
        names = [f"transformer_blocks.{index}.attn_norm.linear" for index in range(sizes.depth)]
        # [time][layer], then attention and feed-forward
        self._modulations = [[modulations(parts(weights.below(name), time, 6)) for name in names] for time in embedded]
        last = [parts(weights.below("norm_out.linear"), time, 2) for time in embedded]
        self._last = [(shift, 1 + scale) for scale, shift in last]
        self._sizes, self._device = sizes, self._out.weight.device
        self._lengths: dict[int, _Length] = {}

    def foresee(self, frames: int) -> None:
        """Make the constants of windows of so many frames, and keep them."""
        if frames not in self._lengths:
            self._lengths[frames] = self._length(frames)

    def __call__(self, given: Tensor, evaluation: int) -> Tensor:
        """Velocities.

        Args:
            given: `[2, n, channels + given]`: what the mel is now, and what is told of each frame; with guidance, and
                without.
            evaluation: Which of the solver's.

        Returns:
            `[2, n, channels]`.
        """
        frames, said = given.shape[1], self._said[evaluation]
        length = self._lengths[frames] if frames in self._lengths else self._length(frames)
        x = self._in(given)
        for layer, mask, (attention, feed_forward) in zip(
            self._layers, length.masks, self._modulations[said], strict=True
        ):
            x = scaled(layer.attend(attention(x), length.cosine, length.sine, mask), attention.gate, x)
            x = scaled(layer.feed(feed_forward(x)), feed_forward.gate, x)
        return self._out(moved(x, *self._last[said]))

    def _length(self, frames: int) -> _Length:
        sizes, device = self._sizes, self._device
        rates = 1.0 / (sizes.rope_theta ** (torch.arange(0, sizes.dim, 2, dtype=torch.float) / sizes.dim))
        angles = torch.arange(frames, device=device)[:, None].float() * rates.to(device)
        cosine, sine = torch.cat((angles, angles), -1).cos(), angles.sin()
        blocks = torch.arange(frames, device=device) // sizes.block
        away = blocks[None] - blocks[:, None]  # how many blocks later a key is than its query
        kinds = [(index in sizes.back, index in sizes.ahead) for index in range(sizes.depth)]
        made = {(back, ahead): added((away >= -int(back)) & (away <= int(ahead))) for back, ahead in set(kinds)}
        return _Length(cosine[None], torch.cat((-sine, sine), -1)[None], tuple(made[kind] for kind in kinds))


def _embed(weights: Named, time: Tensor) -> Tensor:
    """A time in `[0, 1]` as a vector, for both of the batch: `[2, 1, width]`."""
    half = _FREQUENCIES // 2
    rates = torch.exp(torch.arange(half, device=time.device).float() * -(math.log(_WAVELENGTH) / (half - 1)))
    angles = _TIME_SCALE * time.repeat(2).unsqueeze(1) * rates.unsqueeze(0)
    waves = torch.cat((angles.sin(), angles.cos()), dim=-1)
    return Linear(weights.below("2"))(functional.silu(Linear(weights.below("0"))(waves))).unsqueeze(1)


class _Layer:
    def __init__(self, weights: Named, sizes: BlockDitSizes, lanes: Lanes) -> None:
        attention = weights.below("attn")
        self._query, self._key = (_turnable(attention.below(f"to_{part}"), sizes.dim) for part in "qk")
        self._value, self._join = Linear(attention.below("to_v")), Linear(attention.below("to_out.0"))
        self._up, self._down = Linear(weights.below("ff.ff.0")), Linear(weights.below("ff.ff.3"))
        self._shape, self._half, self._lanes = (2, -1, sizes.heads, sizes.dim), sizes.dim // 2, lanes

    def attend(self, x: Tensor, cosine: Tensor, sine: Tensor, mask: Tensor) -> Tensor:
        def turned(project: Linear) -> Tensor:
            vectors = project(x).view(self._shape)
            first = vectors[:, :, 0]  # [2, n, dim]
            first.copy_(mixed(first, cosine, first.roll(self._half, -1), sine))
            return vectors.transpose(1, 2)

        query, key, value = self._lanes.together(
            partial(turned, self._query),
            partial(turned, self._key),
            lambda: self._value(x).view(self._shape).transpose(1, 2),
        )
        found = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        return self._join(found.transpose(1, 2).reshape(2, x.shape[1], -1))

    def feed(self, x: Tensor) -> Tensor:
        return self._down(functional.gelu(self._up(x), approximate="tanh"))


def _turnable(weights: Named, dim: int) -> Linear:
    """A projection whose first head has the two halves that a turn mixes one after the other.

    As released they alternate, and are put so with every evaluation.
    """
    order = torch.cat((torch.arange(0, dim, 2), torch.arange(1, dim, 2)))
    held = {}
    for name in ("weight", "bias"):
        held[name] = weights[name].clone()
        held[name][:dim] = held[name][:dim][order.to(held[name].device)]
    return Linear(Named(held))
