"""Whatever a device's quartz does and however its blocks come, sample n of the session belongs to moment n."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.audio.steady import HOLE_S, MAKE_UP_S, Steady

OUT_HZ = 16_000


class Device:
    """Counts seconds: its sample at the true time t is t."""

    def __init__(self, rate_hz=48_000, drift=0.0):
        self.rate_hz, self.drift, self.frame = rate_hz, drift, 0

    def block(self, frames):
        """Returns the samples, and where on the session's grid the first belongs."""
        seconds = (self.frame + np.arange(frames)) / (self.rate_hz * (1 + self.drift))
        self.frame += frames
        return seconds.astype(np.float32), seconds[0] * OUT_HZ

    def lose(self, frames):
        self.frame += frames


def place(steady, device, blocks, drift=None):
    out = [steady.place(*device.block(frames), device.drift if drift is None else drift) for frames in blocks]
    return np.concatenate([np.zeros(0, np.float32), *out])


def held_back(steady):
    """How many session samples come out once more has gone in."""
    before = steady.filled - steady.skipped
    return len(steady.fill_to(steady.position + OUT_HZ)) - (steady.filled - steady.skipped - before)


def offsets_ms(samples, first=0):
    """How far each sample is from where it belongs; soxr lets through 0.99984 of a level at some ratios."""
    belongs = (first + np.arange(len(samples))) / OUT_HZ
    return 1e3 * np.sign(samples - belongs) * np.maximum(0.0, np.abs(samples - belongs) - 2e-4 * belongs)


@settings(deadline=None, max_examples=25)
@given(
    rate_hz=st.sampled_from([16_000, 44_100, 48_000]),
    drift_ppm=st.integers(-300, 300),
    knows=st.booleans(),
    blocks=st.lists(st.integers(100, 3000), min_size=40, max_size=80),
)
def test_a_drifting_device_keeps_to_the_sessions_clock(rate_hz, drift_ppm, knows, blocks):
    device = Device(rate_hz, drift_ppm * 1e-6)
    steady = Steady(rate_hz, OUT_HZ)
    out = place(steady, device, blocks, drift=None if knows else 0.0)
    inner = offsets_ms(out)[200:-400]
    # What is not known of the drift is made up for: it cannot be off by more than drift times the time that takes.
    off_ms = 0.3 if knows else 0.3 + 1e-3 * abs(drift_ppm) * MAKE_UP_S
    assert np.abs(inner).max() < off_ms
    assert steady.filled == steady.skipped == 0
    assert len(out) == steady.position
    came = device.frame / rate_hz / (1 + device.drift) * OUT_HZ
    assert len(out) + held_back(steady) == pytest.approx(came, abs=2 + off_ms * OUT_HZ / 1e3)


@pytest.mark.parametrize("lost_ms", [60, 200, 900])
def test_silence_takes_the_place_of_what_is_missing(lost_ms):
    device, steady = Device(), Steady(48_000, OUT_HZ)
    before = place(steady, device, [960] * 50)
    device.lose(48 * lost_ms)
    out = np.concatenate([before, place(steady, device, [960] * 50)])
    assert steady.filled == pytest.approx(16 * lost_ms, abs=2)
    assert np.abs(offsets_ms(out)[-8000:-400]).max() < 0.3
    assert (out[16_000 : 16_000 + 16 * lost_ms - 40] == 0).all()
    assert np.count_nonzero(out == 0) >= 16 * lost_ms - 2


def test_a_small_hole_that_is_known_is_filled_at_once():
    device, steady = Device(), Steady(48_000, OUT_HZ)
    place(steady, device, [960] * 50)
    device.lose(480)
    samples, at = device.block(960)
    steady.place(samples, at, 0.0, afresh=True)
    assert steady.filled == pytest.approx(160, abs=2)


def test_what_is_too_much_is_left_out():
    device, steady = Device(), Steady(48_000, OUT_HZ)
    before = place(steady, device, [960] * 50)
    device.lose(-4800)  # the same 100 ms once more
    out = np.concatenate([before, place(steady, device, [960] * 50)])
    assert steady.skipped == pytest.approx(1600, abs=2)
    assert np.abs(offsets_ms(out)[-8000:-400]).max() < 0.3


def test_a_small_error_is_made_up_for_without_a_hole():
    device, steady = Device(), Steady(48_000, OUT_HZ)
    place(steady, device, [960] * 50)
    device.lose(round(48_000 * HOLE_S * 0.8))
    out = place(steady, device, [960] * 50 * 40)
    assert steady.filled == steady.skipped == 0
    assert out[1000:].all()
    first = steady.position - len(out)
    assert np.abs(offsets_ms(out, first)[-16_000:-400]).max() < 1.0


@settings(deadline=None, max_examples=40)
@given(events=st.lists(st.tuples(st.integers(1, 2000), st.integers(-3000, 9000)), min_size=1, max_size=20))
def test_every_sample_is_accounted_for(events):
    """Placed samples come out, are held back, or are skipped; what else comes out was filled."""
    device, steady, went, placed = Device(), Steady(48_000, OUT_HZ), 0, 0
    for frames, lost in events:
        went += len(place(steady, device, [frames]))
        placed += frames
        device.lose(max(lost, -device.frame))
    assert went == steady.position
    accounted = went - steady.filled + steady.skipped + held_back(steady)
    assert accounted == pytest.approx(placed / 3, abs=2 * len(events) + 2 + 1e-3 * placed)


def test_silence_can_stand_for_a_device_that_is_gone():
    device, steady = Device(), Steady(48_000, OUT_HZ)
    place(steady, device, [960] * 50)
    out = steady.fill_to(40_000)
    assert steady.position == 40_000
    assert not out[400:].any()
    device.lose(48_000 * 3)
    back = place(steady, device, [960] * 50)
    assert np.abs(offsets_ms(back, 40_000)[-8000:-400]).max() < 0.3


@pytest.mark.parametrize("behind", [-200, 0, 30, 500, 790])
def test_what_comes_after_silence_is_at_its_place_at_once_however_near_that_is(behind):
    device, steady = Device(), Steady(48_000, OUT_HZ)
    place(steady, device, [960] * 50)
    device.lose(48_000)
    steady.fill_to(2 * OUT_HZ - behind)
    first = steady.position
    back = place(steady, device, [960] * 50)
    assert np.abs(offsets_ms(back, first)[max(0, behind) + 2000 : -400]).max() < 0.3


def test_what_lies_before_is_no_place_to_fill_to():
    device, steady = Device(), Steady(48_000, OUT_HZ)
    place(steady, device, [960] * 50)
    assert len(steady.fill_to(7)) == 0
