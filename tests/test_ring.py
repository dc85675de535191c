"""The ring is a deque with a bound, in memory of its own, for two threads."""

import threading
import tracemalloc
from collections import deque

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.ring import SampleRing

WRITE, READ, SKIP = "write", "read", "skip"
acts = st.lists(st.tuples(st.sampled_from([WRITE, READ, SKIP]), st.integers(0, 40)), max_size=60)


@settings(deadline=None, max_examples=300)
@given(capacity=st.integers(1, 30), acts=acts)
def test_it_is_a_deque_with_a_bound(capacity, acts):
    ring, kept = SampleRing(capacity), deque(maxlen=capacity)
    written, lost = 0, 0
    for act, n in acts:
        if act == WRITE:
            dropped = max(0, len(kept) + n - capacity)
            block = np.arange(written, written + n, dtype=np.float32)
            assert ring.write(block) == dropped
            kept.extend(block)
            written, lost = written + n, lost + dropped
        elif act == READ:
            out = np.full(n, -1, np.float32)
            count = ring.read_into(out)
            assert count == min(n, len(kept))
            assert out.tolist() == [kept.popleft() for _ in range(count)] + [-1] * (n - count)
        else:
            skipped = min(n, len(kept))
            ring.skip_to(ring.position + n)
            lost += len([kept.popleft() for _ in range(skipped)])
        assert len(ring) == len(kept)
        assert ring.written == written
        assert ring.lost_samples == lost
        assert ring.position == written - len(kept)


def test_a_position_once_passed_is_not_gone_back_to():
    ring = SampleRing(8)
    ring.write(np.arange(6, dtype=np.float32))
    ring.skip_to(4)
    ring.skip_to(1)
    assert (ring.position, ring.lost_samples) == (4, 4)


def test_neither_side_allocates():
    ring, block, out = SampleRing(4800), np.ones(480, np.float32), np.empty(480, np.float32)
    tracemalloc.start()
    for _ in range(100):
        ring.write(block)
        ring.read_into(out)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < block.nbytes


class Interrupted:
    """A place to read into whose filling is interrupted, once, by the other thread."""

    def __init__(self, size, interrupt):
        self.samples, self.interrupt = np.zeros(size, np.float32), interrupt

    def __len__(self):
        return len(self.samples)

    def __setitem__(self, where, samples):
        self.samples[where] = samples
        interrupt, self.interrupt = self.interrupt, lambda: None
        interrupt()


@pytest.mark.parametrize("burst", [2, 5, 8, 11])
def test_what_was_overwritten_while_it_was_read_is_read_anew(burst):
    ring = SampleRing(8)
    ring.write(np.arange(6, dtype=np.float32))  # two more fit; past that the writer comes round
    out = Interrupted(4, lambda: ring.write(np.arange(6, 6 + burst, dtype=np.float32)))
    assert ring.read_into(out) == 4
    oldest = max(0, 6 + burst - 8)
    assert out.samples.tolist() == [oldest, oldest + 1, oldest + 2, oldest + 3]
    assert (ring.lost_samples, ring.position) == (oldest, oldest + 4)


def test_no_room_is_refused():
    with pytest.raises(ValueError, match="at least one"):
        SampleRing(0)


def test_two_threads_lose_only_what_is_counted():
    """A writer that laps its reader all the time: whatever is read is in order, whole, and the rest is counted."""
    ring, total = SampleRing(700), 400_000

    def speak():
        for start in range(0, total, 160):
            ring.write(np.arange(start, start + 160, dtype=np.float32))

    writer = threading.Thread(target=speak)
    writer.start()
    out, read = np.empty(600, np.float32), 0
    while writer.is_alive() or len(ring):
        count = ring.read_into(out)
        read += count
        if count:
            end = ring._position
            assert np.array_equal(out[:count], np.arange(end - count, end, dtype=np.float32))
    writer.join()
    assert ring.written == total
    assert read + ring.lost_samples == total
