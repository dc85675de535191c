import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import WhisperFeatureExtractor

from engine.models.layers.mel import MELS, SAMPLE_RATE_HZ, LogMel, hz_to_mel, mel_filters, mel_to_hz


@pytest.fixture(scope="module")
def library() -> WhisperFeatureExtractor:
    return WhisperFeatureExtractor()


def test_the_filters_are_the_librarys(library: WhisperFeatureExtractor) -> None:
    assert np.array_equal(mel_filters().astype(np.float32), library.mel_filters.astype(np.float32))


@given(st.floats(0, 8000))
def test_the_scale_inverts(hz: float) -> None:
    assert mel_to_hz(hz_to_mel(np.array(hz))) == pytest.approx(hz, abs=1e-6)


@pytest.mark.parametrize("seconds", [4, 5, 8, 30])
@pytest.mark.parametrize("kind", ["noise", "silence", "speech-like"])
def test_a_windows_mel_is_the_librarys_to_the_bit(library: WhisperFeatureExtractor, seconds: int, kind: str) -> None:
    generator = np.random.default_rng(seconds)
    samples = seconds * SAMPLE_RATE_HZ
    speech = {
        "noise": generator.standard_normal(samples) * 0.1,
        "silence": np.zeros(samples),
        "speech-like": np.sin(np.arange(samples) / 20) * generator.random(samples // 160).repeat(160),
    }[kind].astype(np.float32)
    speech[-2 * SAMPLE_RATE_HZ :] = 0
    theirs = library(
        speech, sampling_rate=SAMPLE_RATE_HZ, max_length=samples, padding="max_length", return_tensors="pt"
    )

    mel = LogMel()(torch.from_numpy(speech)[None])

    assert mel.shape == (1, MELS, seconds * 100)
    assert torch.equal(mel, theirs.input_features)
