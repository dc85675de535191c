"""Tensors of a checkpoint by name, and the layers that need nothing but their tensors. Entered by the engine thread."""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional


@dataclass(frozen=True)
class Named:
    """A checkpoint's tensors below a prefix.

    Args:
        tensors: All of them, by their full names.
        prefix: What the names asked for are put behind; empty at the top.
    """

    tensors: Mapping[str, Tensor]
    prefix: str = ""

    def __getitem__(self, name: str) -> Tensor:
        return self.tensors[self.prefix + name]

    def get(self, name: str) -> Tensor | None:
        """The tensor, or None where there is none of that name."""
        return self.tensors.get(self.prefix + name)

    def below(self, name: str) -> "Named":
        """The tensors whose names go on after `name.`."""
        return Named(self.tensors, f"{self.prefix}{name}.")

    def normed(self, name: str) -> Tensor:
        """A weight that is stored as a length and a direction for each first index, joined."""
        length, direction = (self[f"{name}.parametrizations.weight.original{part}"] for part in (0, 1))
        return torch._weight_norm(direction, length, 0)


class Linear:
    """`x @ weight.T + bias`, the bias where there is one."""

    def __init__(self, weights: Named) -> None:
        self.weight, self._bias = weights["weight"], weights.get("bias")

    def __call__(self, x: Tensor) -> Tensor:
        return functional.linear(x, self.weight, self._bias)


class Norm:
    """Layer norm over the last axis, scaled and shifted.

    Args:
        weights: `weight` and `bias`.
        eps: Added to the variance.
    """

    def __init__(self, weights: Named, eps: float = 1e-5) -> None:
        self._weight, self._bias, self._eps = weights["weight"], weights["bias"], eps

    def __call__(self, x: Tensor) -> Tensor:
        return functional.layer_norm(x, self._weight.shape, self._weight, self._bias, self._eps)
