"""Levels are the samples' own; the clip light stays on for a second; a peak between two looks is not missed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from app.audio.levels import HELD_NS, Level, LevelMeter
from engine.clock import NS


@given(arrays(np.float32, st.integers(1, 200), elements=st.floats(-1, 1, width=32)))
def test_peak_and_rms_are_the_samples(samples):
    meter = LevelMeter()
    meter.note(samples, 0)
    level = meter.level(0)
    assert level.peak == pytest.approx(np.abs(samples).max())
    assert level.rms == pytest.approx(np.sqrt(np.mean(samples.astype(float) ** 2)), abs=1e-4)


def test_a_peak_is_seen_by_all_who_look_and_stands_for_a_moment():
    meter = LevelMeter()
    meter.note(np.full(10, 0.8, np.float32), 0)
    for at_ns in range(20_000_000, 400_000_000, 20_000_000):
        meter.note(np.full(10, 0.1, np.float32), at_ns)
        for _ in range(2):
            seen = meter.level(at_ns)
            assert seen.peak == pytest.approx(0.8 if at_ns <= HELD_NS else 0.1)
            assert seen.rms == pytest.approx(0.1)


@pytest.mark.parametrize("loud", [1.0, -1.0, 7.0, np.nan])
def test_the_clip_light_stays_on_for_a_second(loud):
    meter = LevelMeter()
    meter.note(np.array([0.0, loud], np.float32), 5 * NS)
    meter.note(np.zeros(2, np.float32), 5 * NS + 1)
    assert meter.level(6 * NS - 1).clipped
    assert not meter.level(6 * NS).clipped
    level = meter.level(5 * NS)
    assert 0 <= level.peak <= 1
    assert 0 <= level.rms <= 1


def test_a_stream_that_stopped_is_silent():
    meter = LevelMeter()
    meter.note(np.full(10, 0.5, np.float32), 0)
    meter.note(np.zeros(0, np.float32), 0)
    assert meter.level(NS) == Level()
