"""A block of the flow's transformer from kernels that add in the libraries' order, and the proof that they do.

Used at those numbers of frames for which `fit` and `equal` find every bit equal on the device at hand. Entered by the
engine thread.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from engine.models.layers.exact.kernels import CHUNKS_AT_MOST, TAPS, WIDTH, Carry, Finish, Kernels

_DEPTHS = 16  # a chunk is a multiple of it
_CHUNKS = (2048, 1024, 512, 256, 128, 96, 64)  # of a sum, tried in this order after the whole
_TRIALS = 2
HEAD = 64


@dataclass(frozen=True)
class BlockWeights:
    """A block's tensors; pairs are a weight and a bias.

    Args:
        product: Queries', keys' and values', `[3 * 512, 512]`.
        query_norm: Over a head.
        key_norm: Over a head.
        out: Of the attention.
        first: The first convolution's, `[512, 3, 512]`: taps before channels, in TF32 on a GPU that computes in it.
        norm: Between the convolutions.
        second: Likewise.
        up: Of the feed-forward.
        down: Of the feed-forward.
    """

    product: tuple[Tensor, Tensor]
    query_norm: tuple[Tensor, Tensor]
    key_norm: tuple[Tensor, Tensor]
    out: tuple[Tensor, Tensor]
    first: tuple[Tensor, Tensor]
    norm: tuple[Tensor, Tensor]
    second: tuple[Tensor, Tensor]
    up: tuple[Tensor, Tensor]
    down: tuple[Tensor, Tensor]


@dataclass(frozen=True)
class Chunks:
    """How many numbers are summed at a time, by product."""

    product: int
    out: int
    up: int
    down: int


@dataclass(frozen=True)
class ExactBlocks:
    """The blocks at one number of frames.

    Args:
        kernels: Compiled.
        chunks: As found for that number.
    """

    kernels: Kernels
    chunks: Chunks

    def __call__(
        self,
        weights: BlockWeights,
        x: Tensor,
        modulations: Sequence[tuple[Tensor, Tensor, Tensor]],
        joined: Tensor,
        tails: Tensor,
        eps: tuple[float, float],
    ) -> Tensor:
        """One block.

        Args:
            weights: The block's.
            x: `[2, n, 512]`.
            modulations: Shift, scale and gate of attention, feed-forward and convolution, each `[2, 1, 512]`.
            joined: `[n + held, 2, heads, keys|values]`: new ones are written before those that are there.
            tails: `[2, 2, 1024]`, of both convolutions, read and then written over.
            eps: Of the norms that time moves, and of the others.

        Returns:
            `[2, n, 512]`.
        """
        run, chunks = self.kernels, self.chunks
        attention, feed_forward, convolution = modulations
        before, between = tails.split(WIDTH, 2)
        moved = run.modulated(x, attention[1], attention[0], eps[0])
        product = run.linear(moved, *weights.product, chunks.product)
        query = run.heads(product, weights.query_norm, weights.key_norm, eps[1], joined[: x.shape[1]])
        keys, values = joined.permute(1, 2, 0, 3).split(HEAD, 3)
        found = functional.scaled_dot_product_attention(query.transpose(1, 2), keys, values)
        found = found.transpose(1, 2).reshape(x.shape)
        x = run.linear(found, *weights.out, chunks.out, Finish(attention[2], x))
        heard, aside = run.read(x, convolution[1], convolution[0], eps[0], before)
        heard = run.convolution(heard, *weights.first)
        heard, later = run.activated(heard, *weights.norm, eps[1], between, Carry(before, aside))
        x = run.convolution(heard, *weights.second, Finish(convolution[2], x))
        moved = run.modulated(x, feed_forward[1], feed_forward[0], eps[0], Carry(between, later))
        inner = run.linear(moved, *weights.up, chunks.up, Finish())
        return run.linear(inner, *weights.down, chunks.down, Finish(feed_forward[2], x))


def fit(kernels: Kernels, weights: BlockWeights, frames: int) -> ExactBlocks | None:
    """The kernels as the library sums at so many frames; None where one of its orders is not known."""
    shape_known = weights.product[0].shape == (3 * WIDTH, WIDTH) and len(weights.query_norm[0]) == HEAD
    if not shape_known or frames < TAPS - 1:
        return None
    found = []
    for name in ("product", "out", "up", "down"):
        weight, bias = getattr(weights, name)
        if name == "product":  # three products of the library's
            weight, bias = weight[:WIDTH], bias[:WIDTH]
        chunk = _chunk(kernels, weight, bias, frames)
        if chunk is None:
            return None
        found.append(chunk)
    return ExactBlocks(kernels, Chunks(*found))


def _chunk(kernels: Kernels, weight: Tensor, bias: Tensor, frames: int) -> int | None:
    depth = weight.shape[1]
    for chunk in (depth, *(chunk for chunk in _CHUNKS if chunk < depth)):
        if depth <= chunk * CHUNKS_AT_MOST and chunk % _DEPTHS == depth % _DEPTHS == 0:
            trials = (_random(2, frames, depth, seed=seed, device=weight.device) for seed in range(_TRIALS))
            if all(
                torch.equal(kernels.linear(x, weight, bias, chunk), functional.linear(x, weight, bias)) for x in trials
            ):
                return chunk
    return None


def equal(
    one: Callable[[Tensor, Tensor, Tensor], Tensor], other: Callable[[Tensor, Tensor, Tensor], Tensor], frames: int,
    held: int, heads: int, device: torch.device,
) -> bool:  # fmt: skip
    """Whether two ways to run a block, of `x`, `joined` and `tails`, come to the same bits, in all that they write."""
    for seed in range(_TRIALS):
        ran = []
        for way in (one, other):
            x = _random(2, frames, WIDTH, seed=seed, device=device)
            joined = _random(frames + held, 2, heads, 2 * HEAD, seed=seed + 10, device=device)
            tails = _random(2, 2, 2 * WIDTH, seed=seed + 20, device=device)
            ran.append((way(x, joined, tails), joined, tails))
        if not all(torch.equal(*pair) for pair in zip(*ran, strict=True)):
            return False
    return True


def _random(*shape: int, seed: int, device: torch.device) -> Tensor:
    return torch.randn(shape, generator=torch.Generator(device).manual_seed(seed), device=device)
