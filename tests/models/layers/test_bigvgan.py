"""The vocoder's filter and its lengths; its bits are held to the released ones with the whole tail."""

import pytest
import torch
from transformers.models.qwen2_5_omni.modeling_qwen2_5_omni import kaiser_sinc_filter1d

from engine.models.layers.bigvgan import BigVgan, BigVganSizes, low_pass
from engine.models.layers.lanes import Lanes
from engine.models.layers.named import Named
from engine.models.qwen2_5_omni.made_up import TINY, make_up, under

CPU = torch.device("cpu")
pytestmark = pytest.mark.usefixtures("one_thread")


def test_the_filter_is_the_released_one_bit_for_bit():
    assert torch.equal(low_pass(CPU), kaiser_sinc_filter1d(cutoff=0.25, half_width=0.3, kernel_size=12))


@pytest.mark.parametrize("frames", [1, 2, 7])
def test_a_frame_is_as_many_samples_at_any_length(frames):
    vocoder = BigVgan(Named(under("code2wav_bigvgan_model", make_up(TINY, CPU))), TINY.vocoder, Lanes(CPU))

    sound = vocoder(torch.zeros(1, TINY.vocoder.mels, frames))

    assert sound.shape == (1, frames * TINY.vocoder.frame)
    assert sound.isfinite().all()


def test_released_sizes_are_those_of_24_khz():
    assert BigVganSizes().frame == 240
