"""Whatever the callback's block sizes, a chunk is exact, and no sample is lost or doubled without being counted."""

from collections import deque

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.chunk import Chunker


def ramp(start: int, count: int) -> np.ndarray:
    """Samples that say which they are: float32 counts exactly to 2**24."""
    return np.arange(start, start + count, dtype=np.float32)


def write_all(chunker: Chunker, sizes: list[int]) -> int:
    written = 0
    for size in sizes:
        chunker.write(ramp(written, size))
        written += size
    return written


sizes = st.lists(st.integers(0, 70), max_size=60)


@settings(deadline=None, max_examples=200)
@given(blocks=sizes, chunk=st.integers(1, 50), first=st.none() | st.integers(1, 80))
def test_no_sample_lost_or_doubled_for_any_callback_sizes(blocks, chunk, first):
    chunker, heard, written = Chunker(chunk, first, max_queued=80), [], 0
    for size in blocks:
        chunker.write(ramp(written, size))
        written += size
        while taken := chunker.take():
            assert len(taken.samples) == (first or chunk if taken.index == 0 else chunk)
            assert taken.start_sample == sum(map(len, heard))
            assert taken.index == len(heard)
            heard.append(taken.samples)
    heard.append(chunker.rest().samples)
    assert np.array_equal(np.concatenate(heard), ramp(0, written))
    assert chunker.dropped_samples == 0


@settings(deadline=None, max_examples=200)
@given(
    acts=st.lists(st.none() | st.integers(0, 90), max_size=60),
    chunk=st.integers(1, 20),
    first=st.none() | st.integers(1, 40),
    bound=st.integers(1, 3),
)
def test_past_the_bound_the_oldest_chunks_go_whole(acts, chunk, first, bound):
    """Against a deque of whole chunks; None takes one, a number writes a block."""
    chunker, waiting, written, whole, taken_samples = Chunker(chunk, first, bound), deque(maxlen=bound), 0, 0, 0

    def start(index):
        return (chunk if first is None else first) + (index - 1) * chunk if index else 0

    for size in acts:
        if size is not None:
            chunker.write(ramp(written, size))
            written += size
            while start(whole + 1) <= written:
                waiting.append(whole)
                whole += 1
        elif taken := chunker.take():
            index = waiting.popleft()
            assert (taken.index, taken.start_sample) == (index, start(index))
            assert np.array_equal(taken.samples, ramp(start(index), start(index + 1) - start(index)))
            taken_samples += len(taken.samples)
        else:
            assert not waiting
        assert chunker.queued == len(waiting)
        waiting_samples = sum(start(index + 1) - start(index) for index in waiting)
        assert chunker.dropped_samples == start(whole) - taken_samples - waiting_samples


def test_a_chunk_is_its_own_memory():
    chunker = Chunker(16)
    write_all(chunker, [16])
    first = chunker.take()
    write_all(chunker, [1000])
    assert first is not None
    assert np.array_equal(first.samples, ramp(0, 16))


def test_the_rest_keeps_its_place_in_the_session():
    chunker = Chunker(16_000, 16_560)
    write_all(chunker, [320] * 110)  # 35 200 samples: 16 560 + 16 000 + 2 640
    assert [chunk.index for chunk in iter(chunker.take, None)] == [0, 1]
    rest = chunker.rest()
    assert (rest.index, rest.start_sample, len(rest.samples)) == (2, 32_560, 2_640)
    assert np.array_equal(rest.samples, ramp(32_560, 2_640))


@pytest.mark.parametrize(("chunk", "first", "bound"), [(0, None, 1), (16, 0, 1), (16, None, 0)])
def test_nothing_to_cut_is_refused(chunk, first, bound):
    with pytest.raises(ValueError, match=">= 1"):
        Chunker(chunk, first, bound)
