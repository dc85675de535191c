"""The vocoder against the released one."""

import pytest
import torch

from engine.models.layers.harmonics import draw_noise
from engine.models.layers.hift import Hift, HiftSizes
from engine.models.layers.lanes import Lanes
from engine.models.layers.named import Named
from engine.models.token2wav.made_up import TINY
from tests.golden.token2wav import random_modules

CPU = torch.device("cpu")
pytestmark = pytest.mark.usefixtures("one_thread")
SIZES = TINY.vocoder


@pytest.fixture(scope="module")
def pair(released, one_thread):
    vocoder = random_modules(released, TINY, 1, 8)[1].requires_grad_(False)
    return vocoder, Hift(Named(vocoder.state_dict()), SIZES, Lanes(CPU))


@pytest.mark.parametrize("frames", [2, 6, 14, 50, 58])
def test_equal_to_the_released_vocoder_bit_for_bit_from_the_same_seed(pair, frames):
    theirs, ours = pair
    mel = torch.randn(1, SIZES.mels, frames, generator=torch.Generator().manual_seed(frames))
    torch.manual_seed(frames)
    expected, source = theirs(mel)

    found = ours.source(mel, draw_noise(SIZES.source, frames, torch.Generator().manual_seed(frames)))

    assert torch.equal(found, source)
    sound = ours(mel, found)
    assert torch.equal(sound, expected)
    assert sound.shape == (1, frames * SIZES.frame)
    assert 0.01 < sound.abs().mean() < 0.5, "neither silent nor clipped, or equality would say little"


def test_both_voiced_and_unvoiced_frames_are_met(pair):
    mel = torch.randn(1, SIZES.mels, 50, generator=torch.Generator().manual_seed(50))

    voiced = pair[1]._pitch(mel) > SIZES.source.voiced_hz

    assert voiced.any()
    assert not voiced.all()


def test_released_sizes_are_those_of_24_khz():
    assert HiftSizes().frame == 480
    assert HiftSizes().downs == (15, 3, 1)
