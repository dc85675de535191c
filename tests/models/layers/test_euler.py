"""The solver: its schedule's laws, and the released solver over a velocity that depends on everything."""

import math

import pytest
import torch

from engine.models.layers.euler import GuidedEuler

CPU = torch.device("cpu")


@pytest.mark.parametrize("steps", [1, 5, 10])
def test_times_follow_the_cosine_schedule_from_zero(steps):
    times = torch.cat(GuidedEuler(steps, 0.7, CPU).times)

    torch.testing.assert_close(times, torch.tensor([1 - math.cos(math.pi / 2 * n / steps) for n in range(steps)]))
    assert times[0] == 0


def test_a_steady_velocity_is_gone_along_for_one_unit_of_time_and_beyond_by_the_guidance():
    solve = GuidedEuler(7, 0.7, CPU)
    noise = torch.randn(1, 4, 6)
    guided, unguided = torch.randn(1, 4, 6), torch.randn(1, 4, 6)

    found = solve(noise, lambda x, step: torch.cat((guided, unguided)))

    torch.testing.assert_close(found, noise + 1.7 * guided - 0.7 * unguided)


@pytest.mark.parametrize("steps", [3, 5, 10])
def test_equal_to_the_released_solver_bit_for_bit(released, steps):
    class Estimator:
        out_channels = 4

        def forward_chunk(self, *, x, mu, t, spks, cond, **_):
            return torch.sin(x + t[:, None, None]) + mu, torch.zeros(1), torch.zeros(1)

    with torch.device("meta"):
        theirs = released.flow_matching.CausalConditionalCFM.__new__(released.flow_matching.CausalConditionalCFM)
        torch.nn.Module.__init__(theirs)
    theirs.inference_cfg_rate, theirs.cnn_cache_buffer = 0.7, torch.zeros(steps, 1)
    theirs.__dict__["estimator"] = Estimator()
    theirs.att_cache_buffer = torch.zeros(steps, 1, 1, 1, 9, 1)
    theirs.rand_noise = torch.randn(1, 4, 9)
    mu = torch.randn(1, 4, 6)
    expected, _, _ = theirs.forward_chunk(mu, torch.zeros(1, 4), torch.zeros(1, 4, 6), n_timesteps=steps)
    solve = GuidedEuler(steps, 0.7, CPU)

    def velocity(x, step):
        return torch.sin(x.repeat(2, 1, 1) + solve.times[step]) + torch.cat((mu, torch.zeros_like(mu)))

    assert torch.equal(solve(theirs.rand_noise[:, :, :6], velocity), expected)
