"""The source of a voice, against the released one that works sample by sample."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.models.layers.harmonics import Harmonics, HarmonicsSizes, draw_noise
from engine.models.layers.named import Named

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def pair(released):
    source = released.hift.SourceModuleHnNSF2(24_000, 480, 8, 0.1, 0.003, 10)
    return source.requires_grad_(False), Harmonics(Named(source.state_dict()), HarmonicsSizes())


@settings(deadline=None, max_examples=20)
@given(pitch=st.lists(st.one_of(st.just(10.0), st.floats(0, 12, width=32), st.floats(0, 700, width=32)), min_size=1,
                      max_size=60), seed=st.integers(0, 99))  # fmt: skip
def test_equal_to_the_released_source_bit_for_bit_from_the_same_seed(pair, pitch, seed):
    theirs, ours = pair
    frames = torch.tensor(pitch).view(1, -1)
    torch.manual_seed(seed)
    expected, _, _ = theirs(frames.repeat_interleave(480, 1).unsqueeze(2))
    generator = torch.Generator().manual_seed(seed)
    noise = draw_noise(HarmonicsSizes(), len(pitch), generator)

    assert torch.equal(ours(frames, noise), expected.transpose(1, 2))
    assert torch.equal(torch.rand(3, generator=generator), torch.rand(3)), "as much was drawn"


def test_without_voice_there_is_noise_alone(pair):
    noise = draw_noise(HarmonicsSizes(), 3, torch.Generator().manual_seed(1))

    silent, low = pair[1](torch.zeros(1, 3), noise), pair[1](torch.full((1, 3), 9.0), noise)

    assert torch.equal(silent, low)
    assert not torch.equal(silent, pair[1](torch.full((1, 3), 11.0), noise))
