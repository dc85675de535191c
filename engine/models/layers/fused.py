"""Element-wise operations in one pass where torch takes two, each rounded as torch rounds it.

`multiply, then add` as one kernel keeps torch's bits only where it is not contracted into one fused operation, which
rounds once: the kernels here ask for the roundings by name. On a CPU torch's own two operations run. Entered by the
engine thread.
"""

from functools import cache
from typing import Any

import torch
from torch import Tensor

_SCALED = """
template <typename T> T scaled(T x, T scale, T shift) { return __fadd_rn(__fmul_rn(x, scale), shift); }
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
