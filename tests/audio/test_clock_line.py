"""The line through a device's callbacks: its drift is found, bursts and late callbacks do not bend it, holes show."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.audio.clock_line import ClockLine
from engine.clock import NS

RATE_HZ, BLOCK = 48_000, 960


def run(line, seconds, drift=0.0, late_ms=lambda block: 0.0, lost=lambda block: 0, flagged=-1):
    """Feed a line with callbacks; returns the steps that it saw, and the last position and true time."""
    steps, missing, position, true_ns = [], 0, 0, 0.0
    for block in range(1, round(seconds * RATE_HZ / BLOCK) + 1):
        missing += lost(block)
        position = block * BLOCK
        true_ns = (position + missing) * NS / (RATE_HZ * (1 + drift))
        if step := line.observe(position, round(true_ns + late_ms(block) * 1e6), block == flagged):
            steps.append(step / 1e6)
    return steps, position, true_ns


@settings(deadline=None, max_examples=30)
@given(drift_ppm=st.integers(-300, 300), seed=st.integers(0, 99))
def test_a_quartz_is_followed_whatever_the_jitter(drift_ppm, seed):
    rng = np.random.default_rng(seed)
    line = ClockLine(RATE_HZ)
    steps, position, true_ns = run(line, 90, drift_ppm * 1e-6, lambda _: rng.exponential(3.0))
    assert steps == []
    assert 1e6 * line.drift == pytest.approx(drift_ppm, abs=15)
    assert line.time_ns(position) == pytest.approx(true_ns, abs=1.5e6)


def test_bursts_and_a_stalled_interpreter_do_not_bend_it():
    """Blocks in bursts of five; every ten seconds nothing comes for 400 ms, then all at once."""
    line = ClockLine(RATE_HZ)
    steps, position, true_ns = run(
        line, 60, late_ms=lambda block: 20.0 * (-block % 5) + max(0.0, 400.0 - 20.0 * (block % 500))
    )
    assert steps == []
    assert abs(line.drift) < 20e-6
    assert line.time_ns(position) == pytest.approx(true_ns, abs=2e6)
    assert line.worst_ns == pytest.approx(80e6, abs=5e6)


@settings(deadline=None, max_examples=40)
@given(
    changes=st.dictionaries(st.integers(2, 40), st.sampled_from([10, 30, 50, 70]), min_size=1, max_size=4),
    drift_ppm=st.sampled_from([-100, 0, 100]),
    seed=st.integers(0, 99),
)
def test_a_server_that_hands_on_sooner_or_later_than_before_has_lost_nothing(changes, drift_ppm, seed):
    """However often and however early it changes its ways, the quartz stays what it is."""
    rng, line, ways = np.random.default_rng(seed), ClockLine(RATE_HZ), [(0, 50), *sorted(changes.items())]

    def late_ms(block):
        return rng.exponential(2.0) + [way_ms for at_s, way_ms in ways if at_s * RATE_HZ <= block * BLOCK][-1]

    steps, position, true_ns = run(line, 120, drift_ppm * 1e-6, late_ms)
    assert all(abs(step) > 50 for step in steps)  # no less can be told from frames that are missing or too many
    assert 1e6 * line.drift == pytest.approx(drift_ppm, abs=250)
    assert line.time_ns(position) == pytest.approx(true_ns + ways[-1][1] * 1e6, abs=6e6)


def test_a_server_whose_hand_wanders_has_no_other_quartz():
    """As PulseAudio was seen to: from 20 ms sooner it comes 2 ms later a second, and after eight back at once."""
    for seconds in range(15, 195, 20):
        line = ClockLine(RATE_HZ)
        run(line, seconds, late_ms=lambda block: 40.0 if block < 400 else 20.0 + 0.04 * (block % 400))
        assert abs(line.drift) < 60e-6


def test_a_start_is_not_believed():
    line = ClockLine(RATE_HZ)
    steps, position, true_ns = run(line, 10, late_ms=lambda block: -50.0 if block < 12 else 0.0)
    assert steps == []
    assert line.time_ns(position) == pytest.approx(true_ns, abs=1e6)


def test_a_few_frames_that_the_driver_says_it_lost_show_once():
    line = ClockLine(RATE_HZ)
    lost = 20 * RATE_HZ // 1000
    steps, position, true_ns = run(line, 20, lost=lambda block: lost if block == 400 else 0, flagged=400)
    assert steps == [pytest.approx(20, abs=1)]
    assert line.time_ns(position) == pytest.approx(true_ns, abs=1e6)


@pytest.mark.parametrize("lost_ms", [100, 3000])
def test_frames_that_were_lost_without_a_word_show_once(lost_ms):
    line = ClockLine(RATE_HZ)
    steps, position, true_ns = run(line, 20, lost=lambda block: lost_ms * RATE_HZ // 1000 if block == 400 else 0)
    assert steps == [pytest.approx(lost_ms, abs=1)]
    assert line.time_ns(position) == pytest.approx(true_ns, abs=1e6)


def test_frames_that_are_too_many_show_once():
    line = ClockLine(RATE_HZ)
    steps, _, _ = run(line, 20, lost=lambda block: -100 * RATE_HZ // 1000 if block == 400 else 0)
    assert steps == [pytest.approx(-100, abs=1)]


def test_nothing_is_claimed_before_a_whole_window():
    line = ClockLine(RATE_HZ)
    run(line, 0.9)
    assert not line.settled
    line = ClockLine(RATE_HZ)
    run(line, 1.1)
    assert line.settled
    assert line.drift == 0
