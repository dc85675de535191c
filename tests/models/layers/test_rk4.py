"""The solver of the fourth order against the released one."""

import torch
from transformers.models.qwen2_5_omni.modeling_qwen2_5_omni import RungeKutta4ODESolver

from engine.models.layers.rk4 import GuidedRungeKutta

GUIDANCE = 0.5


def velocities(x: torch.Tensor, time: torch.Tensor) -> torch.Tensor:
    return torch.cat((torch.sin(3 * x + time), x * time - 0.1))


def test_equal_to_the_released_solver_bit_for_bit_on_its_own_time_points():
    noise = torch.randn(1, 7, 5, generator=torch.Generator().manual_seed(1))
    ours = GuidedRungeKutta(10, GUIDANCE, -1.0, torch.device("cpu"))
    points = torch.linspace(0, 1, 10)
    points += -1.0 * (torch.cos(torch.pi / 2 * points) - 1 + points)
    met = []

    def theirs(time: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        met.append(float(time))
        guided, unguided = velocities(x, time).chunk(2)
        return guided + (guided - unguided) * GUIDANCE

    expected = RungeKutta4ODESolver(theirs, noise).integrate(points)[-1]

    assert torch.equal(ours(noise, lambda x, evaluation: velocities(x, ours.times[evaluation])), expected)
    assert met == [float(time) for time in ours.times]
    assert len(met) == 36
