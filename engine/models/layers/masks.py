"""What attention may see, as its kernels want it told: added to scores, made once. Entered by the engine thread."""

import math

import torch
from torch import Tensor

_ALIGNED = 16  # elements: rows that begin so far apart need not be copied by attention's kernel


def added(seen: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
    """What is seen, bool `[n, t]`, as it is added to scores: nothing where it is, minus infinity where not.

    Returns:
        `[1, 1, n, t]`, of the scores' type, its rows aligned.
    """
    count, ticks = seen.shape
    room = torch.zeros(count, -(-ticks // _ALIGNED) * _ALIGNED, dtype=dtype, device=seen.device)
    room[:, :ticks].masked_fill_(~seen, -math.inf)
    return room[None, None, :, :ticks]
