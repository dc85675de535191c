"""A flow's solver of the fourth order: Runge and Kutta's 3/8 rule over a few time points, guided without a classifier.

Four evaluations from time point to time point. The points are constant and live on the device; what the released code
reads of them on the host (transformers 5.x, `qwen2_5_omni`) decides nothing. Noise is an input. Entered by the engine
thread.
"""

from collections.abc import Callable
from itertools import pairwise

import torch
from torch import Tensor

_THIRD, _TWO_THIRDS = 1 / 3, 2 / 3


class GuidedRungeKutta:
    """The solver.

    Args:
        points: Time points, the first and the last among them.
        guidance: How far to go beyond the guided velocity, away from the unguided one.
        sway: How far the points crowd together at the beginning, as a factor; released -1.
        device: Where the points are worked out, as released, since cosines differ by device.
    """

    def __init__(self, points: int, guidance: float, sway: float, device: torch.device) -> None:
        grid = torch.linspace(0, 1, points, device=device)
        grid += sway * (torch.cos(torch.pi / 2 * grid) - 1 + grid)
        self._guidance = guidance
        self._widths: list[Tensor] = []
        self.times: list[Tensor] = []  # of each evaluation, without a shape, in order
        for start, end in pairwise(grid):
            width = end - start
            self._widths.append(width)
            self.times += [start, start + width * _THIRD, start + width * _TWO_THIRDS, end]

    def __call__(self, noise: Tensor, velocities: Callable[[Tensor, int], Tensor]) -> Tensor:
        """Solve.

        Args:
            noise: `[1, n, channels]`.
            velocities: At a place, of an evaluation: `[2, n, channels]`, guided, then unguided.

        Returns:
            `[1, n, channels]`.
        """

        def velocity(x: Tensor, evaluation: int) -> Tensor:
            guided, unguided = velocities(x, evaluation).chunk(2, dim=0)
            return guided + (guided - unguided) * self._guidance

        x = noise
        for step, width in enumerate(self._widths):
            first = velocity(x, 4 * step)
            second = velocity(x + width * first * _THIRD, 4 * step + 1)
            third = velocity(x + width * (second - first * _THIRD), 4 * step + 2)
            fourth = velocity(x + width * (first - second + third), 4 * step + 3)
            x = x + (first + 3 * (second + third) + fourth) * width / 8
        return x
