"""What counts is when the microphone was closed, not when the engine comes to it."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from app.audio.gate import Gate
from engine.clock import NS

RATE_HZ = 1000  # a sample is a millisecond
MS = 1_000_000


@given(
    changes=st.lists(st.tuples(st.integers(0, 500), st.booleans()), max_size=20),
    blocks=st.lists(st.integers(1, 200), min_size=1, max_size=20),
)
def test_a_sample_is_heard_where_the_gate_was_open_at_its_time(changes, blocks):
    gate, expected, at = Gate(), np.ones(sum(blocks), bool), 0
    for after, is_open in changes:
        at += after
        gate.set(is_open, at * MS)
        expected[at:] = is_open
    out, closed, start = [], 0, 0
    for block in blocks:
        samples = np.ones(block, np.float32)
        closed += gate.apply(samples, start * MS, RATE_HZ)
        out.append(samples)
        start += block
    assert np.array_equal(np.concatenate(out) == 1, expected)
    assert closed == np.count_nonzero(~expected)


def test_a_change_that_is_long_past_counts_from_the_first_sample():
    gate = Gate()
    gate.set(False, 0)
    assert not gate.is_open
    samples = np.ones(10, np.float32)
    assert gate.apply(samples, 5 * NS, RATE_HZ) == 10
    assert not samples.any()
