"""Launches of the kernels in `exact.cu`, compiled as they are first wanted by NVRTC, which comes with torch.

Shapes and orders are the kernels' own and stand there. Everything runs on the current stream and can be captured.
Entered by the engine thread.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

WIDTH, TAPS = 512, 3  # of the rows that are normed and convolved; of a convolution
CHUNKS_AT_MOST = 4  # of a sum
_ROWS, _COLUMNS, _DEPTH, _STAGES = 20, 32, 16, 3  # of a warp's part of a product, as in the source
_WARPS, _TILE = 4, 64  # of a block; frames of a convolution's block


@cache
def compiled(device: torch.device) -> "Kernels | None":
    """The kernels for a device; None where they cannot be had: no CUDA, an older GPU than Ampere, no compiler."""
    make = getattr(torch.cuda, "_compile_kernel", None)
    if device.type != "cuda" or make is None or torch.cuda.get_device_capability(device) < (8, 0):
        return None
    source = Path(__file__).with_name("exact.cu").read_text()
    try:
        return Kernels(*(make(source, name) for name in ("linear", "normed", "heads", "convolution")))
    except (RuntimeError, OSError):  # what torch raises where NVRTC fails or is not there
        return None


@dataclass(frozen=True)
class Finish:
    """What becomes of a product: `residual + gate * product`, or, without either, its GELU.

    Args:
        gate: `[batch, 1, columns]`.
        residual: `[batch, frames, columns]`.
    """

    gate: Tensor | None = None
    residual: Tensor | None = None


class Kernels:
    """The compiled kernels."""

    def __init__(self, linear: Any, normed: Any, heads: Any, convolution: Any) -> None:
        self._linear, self._normed, self._heads, self._convolution = linear, normed, heads, convolution

    def linear(self, x: Tensor, weight: Tensor, bias: Tensor, chunk: int, finish: Finish | None = None) -> Tensor:
        """`x` `[batch, frames, depth]` times `weight` `[columns, depth]`, summed `chunk` at a time."""
        batch, frames, depth = x.shape
        rows, columns, chunks = batch * frames, len(weight), -(-depth // chunk)
        assert chunks <= CHUNKS_AT_MOST, (depth, chunk)
        assert chunk % _DEPTH == depth % _DEPTH == 0, (depth, chunk)
        out = x.new_empty(batch, frames, columns)
        self._linear(
            grid=(-(-rows // _ROWS), -(-columns // _COLUMNS), 1),
            block=(32 * chunks, 1, 1),
            shared_mem=4 * chunks * _STAGES * (_ROWS * _DEPTH + _COLUMNS * (_DEPTH + 4)),
            args=[out, x, weight, bias, rows, depth, columns, chunk, chunks, *_finished(finish, out), frames],
        )
        return out

    def modulated(self, x: Tensor, scale: Tensor, shift: Tensor, eps: float, carry: "Carry | None" = None) -> Tensor:
        """`norm(x) * scale + shift`, `[batch, frames, 512]`; each of the latter `[batch, 1, 512]`."""
        return self._norm(x, scale, shift, eps, 0, None, carry)

    def read(self, x: Tensor, scale: Tensor, shift: Tensor, eps: float, tail: Tensor) -> "tuple[Tensor, Tensor]":
        """The same for a convolution: rounded, behind its tail `[ticks, batch, 512]`; and its next tail, unrounded."""
        aside = x.new_empty(len(tail), x.shape[0], WIDTH)
        return self._norm(x, scale, shift, eps, 0, Carry(tail, aside), None), aside

    def activated(
        self, x: Tensor, weight: Tensor, bias: Tensor, eps: float, tail: Tensor, carry: "Carry"
    ) -> "tuple[Tensor, Tensor]":
        """`mish(norm(x, weight, bias))` for a convolution, as `read`."""
        aside = x.new_empty(len(tail), x.shape[0], WIDTH)
        return self._norm(x, weight, bias, eps, 1, Carry(tail, aside), carry), aside

    def _norm(
        self, x: Tensor, scale: Tensor, shift: Tensor, eps: float, kind: int, lead: "Carry | None",
        carry: "Carry | None",
    ) -> Tensor:  # fmt: skip
        batch, frames, _ = x.shape
        ahead = len(lead.state) if lead else 0
        out = x.new_empty(batch, ahead + frames, WIDTH)
        tail, aside, tail_strides = (lead.state, lead.fresh, lead.state.stride()) if lead else (x, x, (0, 0, 0))
        into, fresh, into_strides = (carry.state, carry.fresh, carry.state.stride()) if carry else (x, x, (0, 0, 0))
        self._normed(
            grid=(batch * (frames + ahead + (len(carry.state) if carry else 0)), 1, 1),
            block=(WIDTH // 4, 1, 1),
            args=[out, x, scale, shift, eps, kind, batch * frames, frames, ahead, tail, *tail_strides[:2], aside,
                  into, fresh, *into_strides[:2]],
        )  # fmt: skip
        return out

    def heads(
        self, product: Tensor, query: tuple[Tensor, Tensor], key: tuple[Tensor, Tensor], eps: float, new: Tensor
    ) -> Tensor:
        """Queries, keys and values, `[batch, frames, 3 * heads * 64]`, the first two normed.

        Args:
            product: All three.
            query: The norm's weight and bias; `key` likewise.
            key: See there.
            eps: Of the norms.
            new: Takes keys and values, `[frames, batch, heads, 128]`, the last two axes dense.

        Returns:
            `[batch, frames, heads, 64]`.
        """
        batch, frames, _ = product.shape
        count = new.shape[2]
        out = product.new_empty(batch, frames, count, 64)
        warps = batch * frames * 3 * count
        self._heads(
            grid=(-(-warps // 8), 1, 1),
            block=(256, 1, 1),
            args=[out, new, product, *query, *key, eps, batch * frames, frames, count, *new.stride()[:2]],
        )
        return out

    def convolution(self, x: Tensor, weight: Tensor, bias: Tensor, finish: Finish | None = None) -> Tensor:
        """`x` `[batch, 2 + frames, 512]` and `weight` `[512, 3, 512]`, both rounded: `[batch, frames, 512]`."""
        batch, frames = x.shape[0], x.shape[1] - TAPS + 1
        out = x.new_empty(batch, frames, WIDTH)
        self._convolution(
            grid=(WIDTH // 8, batch, -(-frames // _TILE)),
            block=(32 * _WARPS, 1, 1),
            args=[out, x, weight, bias, frames, *_finished(finish, out)],
        )
        return out


@dataclass(frozen=True)
class Carry:
    """A tail as it is carried, `[ticks, batch, 512]`, rows dense; and the one to come, put aside, dense.

    Args:
        state: Carried from launch to launch.
        fresh: What it is to be.
    """

    state: Tensor
    fresh: Tensor


def _finished(finish: Finish | None, unused: Tensor) -> tuple[int, Tensor, Tensor]:
    if finish is None:
        return 0, unused, unused
    if finish.gate is None or finish.residual is None:
        return 1, unused, unused
    return 2, finish.gate, finish.residual


def rounded(x: Tensor) -> Tensor:
    """float32 rounded to TF32 as the tensor cores' own conversion does: to nearest, halves away from zero."""
    return ((x.view(torch.int32) + 0x1000) & ~0x1FFF).view(torch.float32)
