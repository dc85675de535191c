"""Element-wise operations in one pass where torch takes two, each rounded as torch rounds it.

`multiply, then add` as one kernel keeps torch's bits only where it is not contracted into one fused operation, which
rounds once: the kernels here ask for the roundings by name. On a CPU torch's own two operations run. Entered by the
engine thread.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from torch import Tensor

_SCALED = """
template <typename T> T scaled(T x, T scale, T shift) { return __fadd_rn(__fmul_rn(x, scale), shift); }
"""
_MIXED = """
template <typename T> T mixed(T x, T scale, T y, T weight) {
  return __fadd_rn(__fmul_rn(x, scale), __fmul_rn(y, weight));
}
"""
# As torch's own kernels: a square is one product, the sine is the one that is not fast, and every step is rounded.
_SNAKED = """
template <typename T> T snaked(T x, T alpha, T inverse) {
  T angle = static_cast<T>(__fmul_rn(static_cast<float>(x), static_cast<float>(alpha)));
  T wave = static_cast<T>(sin(static_cast<float>(angle)));
  T square = static_cast<T>(__fmul_rn(static_cast<float>(wave), static_cast<float>(wave)));
  T added = static_cast<T>(__fmul_rn(static_cast<float>(inverse), static_cast<float>(square)));
  return static_cast<T>(__fadd_rn(static_cast<float>(x), static_cast<float>(added)));
}
"""


@cache
def _kernel(code: str) -> Any:
    return torch.cuda.jiterator._create_jit_fn(code)


def scaled(x: Tensor, scale: Tensor, shift: Tensor) -> Tensor:
    """`x * scale + shift`, float32."""
    if x.is_cuda:
        result: Tensor = _kernel(_SCALED)(x, scale, shift)
        return result
    return x * scale + shift


def mixed(x: Tensor, scale: Tensor, y: Tensor, weight: Tensor) -> Tensor:
    """`x * scale + y * weight`, float32."""
    if x.is_cuda:
        result: Tensor = _kernel(_MIXED)(x, scale, y, weight)
        return result
    return x * scale + y * weight


def snaked(x: Tensor, alpha: Tensor, inverse: Tensor) -> Tensor:
    """`x + inverse * sin(x * alpha) ** 2`, as torch's own operations have it."""
    return x + inverse * torch.pow(torch.sin(x * alpha), 2)


@cache
def snake_kernel(device: torch.device, dtype: torch.dtype) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
    """`snaked` in one pass, where that comes to the same bits on this device in this type; else as it is.

    Tried over a million arguments at each of several loudnesses, since the sine is a library's.
    """
    if device.type != "cuda" or dtype not in (torch.float32, torch.bfloat16):
        return snaked
    kernel: Callable[[Tensor, Tensor, Tensor], Tensor] = _kernel(_SNAKED)
    generator = torch.Generator(device).manual_seed(3)
    for loudness in (0.01, 1.0, 30.0):
        x, alpha, inverse = (
            (loudness * torch.randn(1, 1024, ticks, generator=generator, device=device)).to(dtype)
            for ticks in (1024, 1, 1)
        )
        if not torch.equal(kernel(x, alpha, inverse), snaked(x, alpha, inverse)):
            return snaked
    return kernel
