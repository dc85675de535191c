"""Flow matching's solver: from noise to mel in a few Euler steps on a cosine schedule, guided without a classifier.

The schedule is constant and lives on the device; noise is an input. Entered by the engine thread.
"""

from collections.abc import Callable

import torch
from torch import Tensor


class GuidedEuler:
    """The solver.

    Args:
        steps: Euler steps.
        guidance: How far to go beyond the guided velocity, away from the unguided one.
        device: Where the chunks are. The schedule is worked out there, as released, since cosines differ by device.
    """

    def __init__(self, steps: int, guidance: float, device: torch.device) -> None:
        grid = 1 - torch.cos(torch.linspace(0, 1, steps + 1, device=device) * 0.5 * torch.pi)
        self._guidance = guidance
        self.times: list[Tensor] = []  # of each step, [1]: summed up width by width, as released
        self._widths: list[Tensor] = []
        time = grid[0].unsqueeze(0)
        for step in range(steps):
            self.times.append(time)
            self._widths.append(grid[1] - grid[0] if step == 0 else grid[step + 1] - time)
            time = time + self._widths[-1]

    def __call__(self, noise: Tensor, velocity: Callable[[Tensor, int], Tensor]) -> Tensor:
        """Solve.

        Args:
            noise: `[1, channels, n]`.
            velocity: Of a chunk at a step, `[2, channels, n]`: guided, then unguided.

        Returns:
            `[1, channels, n]`.
        """
        x = noise
        for step, width in enumerate(self._widths):
            guided, unguided = velocity(x, step).chunk(2, dim=0)
            x = x + width * ((1.0 + self._guidance) * guided - self._guidance * unguided)
        return x
