"""The agent's voice: never early, never lost, never clicking, and silent when told. Time is moved by hand."""

import threading
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.clock import NS
from engine.playout import Playout

MS = 1_000_000
RATE_HZ = 1000  # one sample a millisecond: a due time in ms is a sample's number
FADE = 10


def voice(count: int, start: int = 1) -> np.ndarray:
    """Samples that say which they are, none of them zero."""
    return np.arange(start, start + count, dtype=np.float32)


class Listener:
    """Reads on from where it was, in blocks of one size, and keeps what it heard."""

    def __init__(self, playout: Playout, block: int = 20) -> None:
        self.playout, self.block, self.heard = playout, block, np.zeros(0, np.float32)

    def until(self, ms: int) -> np.ndarray:
        while (at := len(self.heard)) < ms:
            self.heard = np.append(self.heard, self.playout.read(at * MS, min(self.block, ms - at)))
        return self.heard


# --- laws ------------------------------------------------------------------------------------------------------------

# A push: how many ms after the one before, how long, how long until it is due.
pushes = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 50), st.integers(-30, 60)), max_size=12)
blocks = st.lists(st.integers(1, 70), min_size=1, max_size=8)
FOR_EVER = 4000


def hold(playout, pushes, blocks, flush_at=None):
    """Push and read as time goes by. Returns what was heard, what was pushed, and (due, first sample) of each push."""
    heard, pushed, dues, now, turn, flushed = [], [], [], 0, 0, 0
    events = []
    at = 0
    for after, length, due_in in pushes:
        at += after
        events.append((at, length, max(0, at + due_in)))

    def read_until(until):
        nonlocal now, turn
        while now < until:
            count = min(blocks[turn % len(blocks)], until - now)
            heard.append(playout.read(now * MS, count))
            now, turn = now + count, turn + 1

    for at, length, due in events:
        if flush_at is not None and at >= flush_at:
            read_until(flush_at)
            flushed, flush_at = playout.flush(flush_at * MS), None
        read_until(at)
        samples = voice(length, 1 + sum(map(len, pushed)))
        playout.push(samples, due * MS)
        pushed.append(samples)
        dues.append(due)
    if flush_at is not None:
        read_until(max(flush_at, now))
        flushed = playout.flush(now * MS)
    read_until(FOR_EVER)
    return np.concatenate(heard), pushed, dues, flushed


@settings(deadline=None, max_examples=200)
@given(pushes=pushes, blocks=blocks)
def test_nothing_is_lost_doubled_early_or_later_than_it_must_be(pushes, blocks):
    playout = Playout(RATE_HZ, fade_ms=0)
    heard, pushed, dues, _ = hold(playout, pushes, blocks)
    assert np.array_equal(heard[heard != 0], np.concatenate([*pushed, voice(0)]))

    arrivals = np.cumsum([after for after, _, _ in pushes])
    free, gap, gaps = 0, 0, 0  # when the one before ended
    for samples, due, arrival in zip(pushed, dues, arrivals, strict=True):
        if not len(samples):
            continue
        begins = max(due, free, arrival)
        assert heard[begins] == samples[0]
        assert begins >= due
        late = begins - max(due, free)
        gap, gaps = gap + late, gaps + (late > 0)
        free = begins + len(samples)

    counts = playout.counts
    assert (counts.gap_ms, counts.underflows) == (gap, gaps)
    assert counts.pushed == counts.played == sum(map(len, pushed))
    assert playout.unplayed_samples == counts.flushed == counts.dropped == 0


@settings(deadline=None, max_examples=200)
@given(pushes=pushes, blocks=blocks, flush_at=st.none() | st.integers(0, 400))
def test_the_size_of_the_blocks_changes_nothing(pushes, blocks, flush_at):
    one, other = Playout(RATE_HZ), Playout(RATE_HZ)
    heard, _, _, flushed = hold(one, pushes, blocks, flush_at)
    again, _, _, flushed_again = hold(other, pushes, [FOR_EVER], flush_at)
    assert np.array_equal(heard, again)
    assert flushed == flushed_again
    assert one.counts == other.counts


@settings(deadline=None, max_examples=200)
@given(pushes=pushes, blocks=blocks, flush_at=st.none() | st.integers(0, 400))
def test_no_click_but_where_speech_begins_on_time(pushes, blocks, flush_at):
    """A voice that is all ones rises and falls by a step of the fade at most, but for the first sample on time."""
    playout = Playout(RATE_HZ)
    push = playout.push
    dues = []

    def push_ones(samples, due_ns):
        dues.append(due_ns // MS)
        push(np.ones_like(samples), due_ns)

    playout.push = push_ones
    heard, _, _, _ = hold(playout, pushes, blocks, flush_at)
    steps = np.diff(heard, prepend=0.0)
    assert steps.min() >= -1 / FADE - 1e-6
    assert set(np.flatnonzero(steps > 1 / FADE + 1e-6)) <= set(dues)
    assert 0 <= heard.min() <= heard.max() <= 1


@settings(deadline=None, max_examples=200)
@given(pushes=pushes, blocks=blocks, flush_at=st.integers(0, 400))
def test_every_sample_is_played_or_counted_as_flushed(pushes, blocks, flush_at):
    playout = Playout(RATE_HZ)
    _, pushed, _, flushed = hold(playout, pushes, blocks, flush_at)
    counts = playout.counts
    assert counts.pushed == sum(map(len, pushed)) == counts.played + counts.flushed
    assert counts.flushed == flushed
    assert playout.unplayed_samples == 0


# --- the cadence -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rate_hz", [16_000, 22_050, 24_000, 48_000])
def test_units_on_time_sound_as_one_piece_bit_for_bit(rate_hz):
    playout, origin_ns = Playout(rate_hz), 123_456_789_012_345
    said = np.random.default_rng(1).standard_normal(3 * rate_hz).astype(np.float32)
    heard, read = [], 0
    for unit in range(3):
        playout.push(said[unit * rate_hz : (unit + 1) * rate_hz], origin_ns + (unit + 1) * NS)
        until = (unit + 1) * rate_hz + rate_hz // 2
        while read < until:
            count = min(rate_hz // 50, until - read)
            heard.append(playout.read(origin_ns + read * NS // rate_hz, count))
            read += count
    heard.append(playout.read(origin_ns + read * NS // rate_hz, rate_hz))
    samples = np.concatenate(heard)
    fade = rate_hz // 100
    assert not samples[:rate_hz].any()
    assert np.array_equal(samples[rate_hz : 4 * rate_hz - fade], said[:-fade])
    assert np.all(np.abs(samples[4 * rate_hz - fade : 4 * rate_hz]) <= np.abs(said[-fade:]))
    assert not samples[4 * rate_hz :].any()
    assert playout.counts.underflows == 0


@settings(deadline=None, max_examples=100)
@given(due_ns=st.integers(0, 10 * MS), start_ns=st.integers(0, 10 * MS), rate_hz=st.sampled_from([16_000, 22_050]))
def test_it_begins_at_the_sample_nearest_to_its_time(due_ns, start_ns, rate_hz):
    playout = Playout(rate_hz)
    playout.push(np.ones(rate_hz, np.float32), due_ns)
    first = np.flatnonzero(playout.read(start_ns, rate_hz // 10))[0]
    assert abs(start_ns + first * NS / rate_hz - max(due_ns, start_ns)) <= 0.5 * NS / rate_hz + 1


def test_a_late_unit_leaves_a_faded_gap_and_moves_what_follows_until_a_pause():
    playout = Playout(RATE_HZ)
    listener = Listener(playout)
    ones = np.ones(100, np.float32)
    playout.push(ones, 100 * MS)
    listener.until(240)
    playout.push(ones, 200 * MS)  # 40 ms late
    playout.push(ones, 300 * MS)  # on time, but moved
    playout.push(ones, 500 * MS)  # after a pause of 100 ms that takes up the delay
    heard = listener.until(700)
    assert np.all(heard[100:190] == 1)
    assert np.allclose(heard[190:200], np.arange(10, 0, -1) / 10)
    assert not heard[200:240].any()
    assert np.allclose(heard[240:250], np.arange(1, 11) / 10)
    assert np.all(heard[250:430] == 1)
    assert np.allclose(heard[430:440], np.arange(10, 0, -1) / 10)
    assert not heard[440:500].any()
    assert np.all(heard[500:590] == 1)
    assert (playout.counts.gap_ms, playout.counts.underflows) == (40.0, 1)


def test_what_comes_while_the_voice_already_fades_brings_it_back():
    playout = Playout(RATE_HZ)
    playout.push(np.ones(100, np.float32), 0)
    playout.read(0, 95)
    playout.push(np.ones(100, np.float32), 100 * MS)
    heard = playout.read(95 * MS, 20)
    assert np.allclose(heard, np.minimum(np.arange(7, 27) / 10, 1))
    assert playout.counts.underflows == 0


def test_a_callback_whose_clock_shivers_makes_no_gap():
    playout, rng, heard = Playout(RATE_HZ), np.random.default_rng(2), []
    for unit in range(5):
        playout.push(voice(1000, 1 + 1000 * unit), (unit + 1) * NS)
        for block in range(50):
            start_ms = 1000 * unit + 20 * block + rng.uniform(-3, 3)
            heard.append(playout.read(int(start_ms * MS), 20))
    heard.append(playout.read(5 * NS, 2000))
    samples = np.concatenate(heard)
    sound = np.flatnonzero(samples)
    assert abs(sound[0] - 1000) <= 3
    assert np.array_equal(samples[sound[0] : sound[0] + 4990], voice(4990))
    assert (playout.counts.gap_ms, playout.counts.underflows) == (0, 0)


# --- barge-in --------------------------------------------------------------------------------------------------------


def test_a_flush_is_silent_within_a_block_and_tells_what_was_left_unsaid():
    playout = Playout(RATE_HZ)
    listener = Listener(playout)
    playout.push(np.ones(1000, np.float32), 0)
    playout.push(np.ones(500, np.float32), NS)
    listener.until(300)
    assert playout.unplayed_samples == 1200
    assert playout.flush(300 * MS) == 1200
    assert playout.unplayed_samples == 0
    heard = listener.until(2000)
    assert np.all(heard[:300] == 1)
    assert np.allclose(heard[300:310], np.arange(10, 0, -1) / 10)
    assert not heard[310:].any()
    assert (playout.counts.played, playout.counts.flushed) == (300, 1200)


def test_a_flush_ahead_of_the_reader_lets_sound_what_sounds_before_it():
    playout = Playout(RATE_HZ)
    playout.push(np.ones(110, np.float32), 0)
    playout.push(np.ones(100, np.float32), 500 * MS)
    playout.read(0, 80)
    playout.flush(100 * MS)
    playout.push(np.full(50, 0.5, np.float32), 150 * MS)
    heard = playout.read(80 * MS, 600)
    assert np.all(heard[:20] == 1)
    assert np.allclose(heard[20:30], np.arange(10, 0, -1) / 10)
    assert not heard[30:70].any()
    assert np.all(heard[70:110] == 0.5)
    assert not heard[120:].any()


def test_what_is_said_after_a_flush_ahead_of_the_reader_comes_on_time():
    playout = Playout(RATE_HZ)
    playout.push(np.ones(100, np.float32), 500 * MS)
    playout.flush(100 * MS)
    playout.push(np.full(50, 0.5, np.float32), 150 * MS)
    heard = playout.read(80 * MS, 600)
    assert np.flatnonzero(heard).tolist() == list(range(70, 120))
    assert playout.counts.underflows == 0


def test_a_sound_card_that_reads_ahead_still_gets_its_fade():
    playout = Playout(RATE_HZ)
    playout.push(np.ones(1000, np.float32), 0)
    playout.read(0, 300)
    playout.flush(100 * MS)  # by the clock; the card plays 200 ms later
    heard = playout.read(300 * MS, 100)
    assert np.allclose(heard[:10], np.arange(10, 0, -1) / 10)
    assert not heard[10:].any()


def test_what_is_said_after_a_flush_is_not_flushed():
    playout = Playout(RATE_HZ)
    listener = Listener(playout)
    playout.push(np.ones(1000, np.float32), 0)
    listener.until(300)
    playout.flush(300 * MS)
    playout.push(np.full(100, 0.5, np.float32), 400 * MS)
    heard = listener.until(600)
    assert not heard[310:400].any()
    assert np.all(heard[400:490] == 0.5)
    assert playout.unplayed_samples == 0
    assert playout.counts.underflows == 0


def test_a_second_flush_does_not_bring_a_fading_voice_back():
    playout = Playout(RATE_HZ)
    playout.push(np.ones(1000, np.float32), 0)
    playout.read(0, 300)
    playout.flush(300 * MS)
    heard = playout.read(300 * MS, 4)
    playout.push(np.ones(1000, np.float32), 350 * MS)
    assert playout.flush(304 * MS) == 1000
    heard = np.append(heard, playout.read(304 * MS, 100))
    assert np.allclose(heard[:10], np.arange(10, 0, -1) / 10)
    assert not heard[10:].any()


@pytest.mark.parametrize("due_ms", [21, 25, 50])
def test_what_waits_for_its_time_is_flushed_unheard(due_ms):
    playout = Playout(RATE_HZ)
    playout.push(np.ones(100, np.float32), due_ms * MS)
    playout.read(0, 20)
    assert playout.flush(20 * MS) == 100
    assert not playout.read(20 * MS, 200).any()
    assert not playout.sounding(0, NS)


def test_with_nothing_queued_a_flush_does_nothing():
    playout = Playout(RATE_HZ)
    assert playout.flush(0) == 0
    playout.push(np.ones(100, np.float32), 50 * MS)
    assert np.count_nonzero(playout.read(0, 200)) == 100


# --- bad input, bounds, threads --------------------------------------------------------------------------------------


def test_nan_and_infinity_are_silent_and_counted():
    playout = Playout(RATE_HZ)
    playout.push(np.array([0.5, np.nan, np.inf, -np.inf] * 20, np.float32), 0)
    heard = playout.read(0, 60)
    assert np.array_equal(heard, np.array([0.5, 0, 0, 0] * 15, np.float32))
    assert playout.counts.not_finite == 60


def test_what_the_pusher_does_with_its_samples_afterwards_is_not_heard():
    playout, samples = Playout(RATE_HZ), np.ones(100, np.float32)
    playout.push(samples, 0)
    samples[:] = 7
    assert playout.read(0, 80).max() == 1


def test_past_its_bound_it_drops_the_newest_and_counts():
    playout = Playout(RATE_HZ, max_queued_s=1)
    playout.push(voice(600), 0)
    playout.push(voice(600, 601), 600 * MS)
    assert (playout.unplayed_samples, playout.counts.dropped, playout.counts.pushed) == (1000, 200, 1000)
    heard = playout.read(0, 1200)
    assert np.array_equal(heard[:990], voice(990))
    assert not heard[1000:].any()


def test_it_knows_when_it_sounded():
    playout = Playout(RATE_HZ)
    playout.push(voice(50), 100 * MS)
    playout.push(voice(50), 300 * MS)
    Listener(playout).until(500)
    assert playout.sounding(0, 101 * MS)
    assert not playout.sounding(0, 100 * MS)
    assert playout.sounding(149 * MS, 500 * MS)
    assert not playout.sounding(150 * MS, 300 * MS)
    assert not playout.sounding(350 * MS, 900 * MS)


def test_a_callback_that_copies_allocates_no_block():
    playout, out = Playout(24_000), np.empty(480, np.float32)
    for unit in range(3):
        playout.push(np.ones(24_000, np.float32), unit * NS)
    playout.read_into(out, 0)
    tracemalloc.start()
    for block in range(1, 140):
        playout.read_into(out, block * 20 * MS)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert out.min() == 1
    assert peak < out.nbytes


def test_two_threads_lose_nothing():
    playout, units, heard = Playout(RATE_HZ, fade_ms=0), 200, []

    def speak():
        for unit in range(units):
            playout.push(voice(50, 1 + 50 * unit), unit * 50 * MS)

    engine = threading.Thread(target=speak)
    engine.start()
    at = 0
    while engine.is_alive() or playout.unplayed_samples:
        heard.append(playout.read(at * MS, 20))
        at += 20
    engine.join()
    samples = np.concatenate(heard)
    assert np.array_equal(samples[samples != 0], voice(50 * units))
    assert playout.counts.played == 50 * units
