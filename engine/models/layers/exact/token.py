"""Launches of the kernels in `token.cu`: what stands between the products of a token, where bits prove equal.

Everything runs on the current stream and can be captured. Entered by the engine thread.
"""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

DIM = 128  # of a head
WIDEST = 8192  # row that is normed
_TRIALS = 4


@cache
def compiled(device: torch.device) -> "TokenKernels | None":
    """The kernels for a device; None where they cannot be had: no CUDA, an older GPU than Ampere, no compiler."""
    make = getattr(torch.cuda, "_compile_kernel", None)
    if device.type != "cuda" or make is None or torch.cuda.get_device_capability(device) < (8, 0):
        return None
    source = Path(__file__).with_name("token.cu").read_text()
    try:
        return TokenKernels(*(make(source, name) for name in ("add_normed", "token_heads", "gated")))
    except (RuntimeError, OSError):  # what torch raises where NVRTC fails or is not there
        return None


class TokenKernels:
    """The compiled kernels; all tensors are bfloat16."""

    def __init__(self, add_normed: Any, token_heads: Any, gated: Any) -> None:
        self._add_normed, self._token_heads, self._gated = add_normed, token_heads, gated

    def add_normed(self, x: Tensor, delta: Tensor | None, weight: Tensor, eps: float) -> tuple[Tensor, Tensor]:
        """`x + delta` `[1, width]`, and its root-mean-square norm times `weight`."""
        total, out = (torch.empty_like(x) for _ in range(2))
        self._add_normed(
            grid=(1, 1, 1),
            block=(512, 1, 1),
            args=[out, total, x, x if delta is None else delta, weight, eps, x.shape[1], int(delta is not None)],
        )
        return total, out

    def heads(
        self, query: Tensor, key: Tensor, value: Tensor, norms: tuple[Tensor, Tensor] | None,
        turn: tuple[Tensor, Tensor], position: Tensor, keys_values: Tensor, eps: float,
    ) -> Tensor:  # fmt: skip
        """Norm and turn a token's queries and keys, and put keys and values where `position` says.

        Args:
            query: `[1, heads * 128]`.
            key: `[1, kv_heads * 128]`; `value` likewise.
            value: See there.
            norms: Weights of the queries' and keys' norms, `[128]`, where there are any.
            turn: Cosine and sine, `[1, 128]`.
            position: int64 `[1]`.
            keys_values: Of one layer, `[ticks, 2, kv_heads, 128]`, dense but for the first axis.
            eps: Of the norms.

        Returns:
            Queries, `[heads, 1, 128]`.
        """
        heads, kv_heads = query.shape[1] // DIM, key.shape[1] // DIM
        out = query.new_empty(heads, 1, DIM)
        weights = norms or (query, query)
        self._token_heads(
            grid=(-(-(heads + 2 * kv_heads) // 4), 1, 1),
            block=(128, 1, 1),
            args=[out, keys_values, query, key, value, *weights, *turn, position, keys_values.stride(0), heads,
                  kv_heads, eps, int(norms is not None)],
        )  # fmt: skip
        return out

    def gated(self, gate: Tensor, up: Tensor) -> Tensor:
        """`silu(gate) * up`, `[1, width]`."""
        out = torch.empty_like(gate)
        width = gate.shape[1]
        self._gated(grid=(-(-width // 512), 1, 1), block=(128, 1, 1), args=[out, gate, up, width])
        return out


def fit(
    sizes: tuple[int, int, int, int], eps: float, dtype: torch.dtype, device: torch.device,
    normed: Callable[..., Tensor], turned: Callable[..., Tensor],
) -> TokenKernels | None:  # fmt: skip
    """The kernels, where they come to the very bits of torch's on this machine, at the sizes at hand; else None.

    Args:
        sizes: Width, inner width, heads, heads of keys.
        eps: Of the norms.
        dtype: Of weights and states.
        device: Where they are.
        normed: As `token_stack.normed`.
        turned: As `token_stack.turned`.
    """
    width, inner, heads, kv_heads = sizes
    kernels = compiled(device)
    if kernels is None or dtype is not torch.bfloat16 or width % 4 or inner % 4 or not 128 <= width <= WIDEST:
        return None
    for seed in range(_TRIALS):
        generator = torch.Generator(device).manual_seed(seed)

        def made(*shape: int, generator: torch.Generator = generator) -> Tensor:
            return torch.randn(shape, generator=generator, device=device).to(dtype)

        x, delta, weight, gate, up = made(1, width), made(1, width), made(width), 4 * made(1, inner), made(1, inner)
        total, out = kernels.add_normed(x, delta, weight, eps)
        alone, first = kernels.add_normed(x, None, weight, eps)
        same = [
            torch.equal(total, x + delta),
            torch.equal(out, normed(total, weight, eps)),
            torch.equal(alone, x),
            torch.equal(first, normed(x, weight, eps)),
            torch.equal(kernels.gated(gate, up), functional.silu(gate) * up),
        ]
        query, key, value = made(1, heads * DIM), made(1, kv_heads * DIM), made(1, kv_heads * DIM)
        norms, turn, position = (made(DIM), made(DIM)), (made(1, DIM), made(1, DIM)), torch.tensor([1], device=device)
        for given in (norms, None):
            state = made(3, 2, kv_heads, DIM)
            expected = state.clone()
            found = kernels.heads(query, key, value, given, turn, position, state, eps)
            parts = query.unflatten(1, (-1, DIM)), key.unflatten(1, (-1, DIM))
            if given:
                parts = normed(parts[0], given[0], eps), normed(parts[1], given[1], eps)
            expected[1, 0], expected[1, 1] = turned(parts[1], *turn)[0], value.unflatten(1, (-1, DIM))[0]
            same += [torch.equal(found[:, 0], turned(parts[0], *turn)[0]), torch.equal(state, expected)]
        if not all(same):
            return None
    return kernels
