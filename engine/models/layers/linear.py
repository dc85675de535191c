"""Matrix products of a decoder that says one token at a time: weights of four bits, or float32.

Such a product reads every weight for one row of input, so a weight's size is its price. Four bits in groups of 32,
each with a scale and an offset, are the grid of the released file (GGUF's Q4_1): weights from there lose nothing,
others lose what four bits lose. Inputs are rounded to bfloat16, sums are float32, and the product is rounded to
bfloat16 before a bias is added in float32. A row's result does not depend on the rows beside it, nor a column's on its
neighbours: whole equals token by token, fused equals apart. Knows no model. Entered by the engine thread; packing by
whoever loads.

SmolLM2-135M's linear layers alone, on one busy core of a Zen 4 (2026-12-01), ms for a token and for 20: this 8 and 64
to 92; torch's dynamic int8 4.1 and 17 to 25; `_weight_int8pack_mm` 18 and 183. What follows a whole prompt diverges
from float32's by 0.004 nats with this, by 0.5 with dynamic int8, whose largest input sets the scale of all.
"""

import sys
from enum import StrEnum

import torch
from torch import Tensor, nn
from torch.nn import functional

GROUP = 32  # weights of a row that share a scale and an offset
_LEVELS, _MIDDLE = 15, 8
_ROWS = 16  # torch packs that many rows together


class Precision(StrEnum):
    """How the weights of a layer stack are held."""

    INT4 = "four bits a weight, in groups of 32"
    FLOAT32 = "float32"


def best_precision() -> Precision:
    """Four bits where torch has vector kernels for them, else float32.

    It has them on x86 with AVX2 or AVX-512, but not on Windows: Microsoft's compiler is given a scalar loop.
    """
    vector = sys.platform != "win32" and torch.backends.cpu.get_cpu_capability().startswith("AVX")
    return Precision.INT4 if vector else Precision.FLOAT32


def linear(weight: Tensor, bias: Tensor | None, precision: Precision) -> nn.Module:
    """A layer `x @ weight.T + bias`, float32 in and out.

    Args:
        weight: `[out, in]`, of any floating type.
        bias: `[out]`, or None.
        precision: How to hold the weight; one whose shape does not fit four-bit blocks is held in float32.
    """
    rows, columns = weight.shape
    if precision is Precision.INT4 and rows % _ROWS == 0 and columns % GROUP == 0:
        return Int4Linear(weight, bias)
    return Float32Linear(weight, bias)


class Float32Linear(nn.Module):
    """`x @ weight.T + bias`, all in float32."""

    def __init__(self, weight: Tensor, bias: Tensor | None = None) -> None:
        super().__init__()
        self._weight, self._bias = weight.float(), None if bias is None else bias.float()

    def forward(self, x: Tensor) -> Tensor:
        """`x` float32 `[..., in]` as float32 `[..., out]`."""
        return functional.linear(x, self._weight, self._bias)


class Int4Linear(nn.Module):
    """`x @ weight.T + bias` with four-bit weights; see `linear`."""

    def __init__(self, weight: Tensor, bias: Tensor | None = None) -> None:
        super().__init__()
        self._rows = len(weight)
        groups = weight.float().unflatten(1, (-1, GROUP))  # [out, group, 32]
        low, high = groups.aminmax(dim=2, keepdim=True)
        step = ((high - low) / _LEVELS).clamp(min=torch.finfo(torch.bfloat16).tiny)
        codes = ((groups - low) / step).round().clamp(0, _LEVELS).flatten(1).to(torch.int32)
        grid = torch.cat((step, low + _MIDDLE * step), 2)  # a code c stands for (c - 8) * step + middle
        self._packed = torch.ops.aten._convert_weight_to_int4pack_for_cpu(codes, 1)
        self._grid = grid.transpose(0, 1).bfloat16().contiguous()  # [group, out, step|middle]
        self._bias = None if bias is None else bias.float()

    def forward(self, x: Tensor) -> Tensor:
        """`x` float32 `[..., in]` as float32 `[..., out]`."""
        rows = x.reshape(-1, x.shape[-1]).bfloat16()
        product: Tensor = torch.ops.aten._weight_int4pack_mm_for_cpu(rows, self._packed, GROUP, self._grid).float()
        if self._bias is not None:
            product += self._bias
        return product.view(*x.shape[:-1], self._rows)


class HalfLinear(nn.Module):
    """`x @ weight.T` on float16 weights, for a vocabulary that is also the embedding: one tensor serves both.

    Args:
        weight: float16 `[out, in]`; held, not copied.
    """

    def __init__(self, weight: Tensor) -> None:
        super().__init__()
        self._weight = weight

    def forward(self, x: Tensor) -> Tensor:
        """`x` float32 `[..., in]` as float32 `[..., out]`."""
        product: Tensor = functional.linear(x.half(), self._weight)
        return product.float()
