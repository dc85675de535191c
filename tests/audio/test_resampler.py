"""Resampled as it comes is resampled whole; a correction lasts that much longer; every sample is accounted for."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.audio.resampler import HELD_BACK, Resampler

PAIRS = [
    (48_000, 16_000),
    (44_100, 16_000),
    (16_000, 16_000),
    (24_000, 48_000),
    (22_050, 44_100),
    (8_000, 16_000),
    (96_000, 24_000),
]


def tone(seconds, rate_hz, hz=440.0):
    return (0.5 * np.sin(2 * np.pi * hz * np.arange(round(seconds * rate_hz)) / rate_hz)).astype(np.float32)


@pytest.mark.parametrize(("in_hz", "out_hz"), PAIRS)
def test_a_tone_comes_through_unharmed_and_in_time(in_hz, out_hz):
    resampler = Resampler(in_hz, out_hz)
    out = np.concatenate([resampler.process(tone(1, in_hz)), resampler.drain()])
    assert len(out) == pytest.approx(out_hz, abs=2)
    inner = slice(out_hz // 10, -out_hz // 10)
    error = out[inner] - tone(1, out_hz)[: len(out)][inner]
    assert np.abs(error).max() < 0.5 * 2 * np.pi * 440 * 2 / out_hz  # two samples off at most


@settings(deadline=None, max_examples=20)
@given(pair=st.sampled_from(PAIRS), blocks=st.lists(st.integers(0, 3000), max_size=12))
def test_blocks_of_any_size_give_the_same_samples(pair, blocks):
    samples = np.random.default_rng(1).uniform(-0.5, 0.5, sum(blocks)).astype(np.float32)
    whole, split = Resampler(*pair), Resampler(*pair)
    expected = np.concatenate([whole.process(samples), whole.drain()])
    pieces = [split.process(piece) for piece in np.split(samples, np.cumsum(blocks)[:-1])] if blocks else []
    assert np.allclose(np.concatenate([*pieces, split.drain()]), expected, atol=1e-5)


@settings(deadline=None, max_examples=20)
@given(pair=st.sampled_from(PAIRS), ppm=st.lists(st.integers(-1000, 1000), min_size=1, max_size=20))
def test_what_is_owed_is_what_comes(pair, ppm):
    resampler, went, worth = Resampler(*pair), 0, 0.0
    for correction in ppm:
        went += len(resampler.process(tone(0.05, pair[0]), correction * 1e-6))
        worth += round(0.05 * pair[0]) * pair[1] / pair[0] * (1 + correction * 1e-6)
        assert went + resampler.owed == pytest.approx(worth, abs=1e-6)
        assert 0 <= resampler.owed <= HELD_BACK * max(1, pair[1] / pair[0]) + 2
    owed = resampler.owed
    assert len(resampler.drain()) == pytest.approx(owed, abs=2)
    assert resampler.owed == 0


def test_after_a_drain_it_is_as_new():
    used, new = Resampler(24_000, 48_000), Resampler(24_000, 48_000)
    used.process(tone(0.1, 24_000), 5e-4)
    used.drain()
    assert np.array_equal(used.process(tone(0.2, 24_000)), new.process(tone(0.2, 24_000)))


def test_a_changing_correction_does_not_click():
    resampler, samples = Resampler(48_000, 16_000), tone(2, 48_000)
    out = [resampler.process(samples[at : at + 960], 1e-3 * np.sin(at / 4_800)) for at in range(0, len(samples), 960)]
    steady = np.concatenate(out)[1000:]
    # A sine's second difference is its level; a step in it would stand out.
    bend = np.abs(np.diff(steady, 2)).max()
    assert bend < 1.05 * 0.5 * (2 * np.pi * 440 / 16_000) ** 2
