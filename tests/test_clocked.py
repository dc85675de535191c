"""What follows the clock is found, whatever else moves; what cannot be told is refused."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.clocked import Node, NotClocked, clock_words, regimes

ARENA, SCRATCH = range(1 << 40, (1 << 40) + (1 << 30)), range(1 << 41, (1 << 41) + (1 << 20))
ROW = 147_456  # bytes of a tick
TICKS = (129, 130, 200, 256)


def attention(n, *, scratch=0, grid=(1, 3, 32), name="flash_fwd_splitkv", other=0):
    """A parameter block as such a kernel's: addresses, strides, lengths that stand side by side, a scale."""
    arguments = struct.pack(
        "<QQQqiiif", ARENA[0], SCRATCH[0] + scratch, ARENA[0] + (n - 1) * ROW, ROW, n, -(-n // 64) * 64, other, 0.125
    )
    return Node(name, (grid, (128, 1, 1), 0), arguments)


def product():
    return Node("gemv", ((32, 1, 1), (64, 1, 1), 0), struct.pack("<QQi", ARENA[5], SCRATCH[64], 4096))


def captured(*ticks, **more):
    return {n: [product(), attention(n, scratch=512 * i, **more), product()] for i, n in enumerate(ticks or TICKS)}


def test_lengths_rounded_lengths_and_moving_addresses_are_the_clocks_and_scratch_is_not():
    words = clock_words(captured(), [ARENA], [SCRATCH])

    assert [(word.node, word.offset, word.size) for word in words] == [(1, 16, 8), (1, 32, 4), (1, 36, 4)]


@given(st.integers(129, 256))
def test_at_any_tick_of_the_regime_the_words_make_the_very_capture(tick):
    captures = captured()
    words = clock_words(captures, [ARENA], [SCRATCH])
    patched = [bytearray(node.arguments) for node in captures[TICKS[0]]]
    for word in words:
        patched[word.node][word.offset : word.offset + word.size] = word.at(tick)

    assert patched == [node.arguments for node in (product(), attention(tick), product())]


@given(
    base=st.integers(-1000, 1000), per_tick=st.integers(-50, 50).filter(bool), size=st.sampled_from("iq"),
    tick=st.integers(1, 4000),
)  # fmt: skip
def test_any_line_is_found(base, per_tick, size, tick):
    def at(n):
        return [Node("k", (), struct.pack(f"<Q{size}", 7, base + per_tick * n))]

    if size == "q" and any(base + per_tick * n < 0 for n in (*TICKS, tick)):
        return  # a number of eight bytes that changes sign is two words; it is refused below
    (word,) = clock_words({n: at(n) for n in TICKS}, [ARENA], [SCRATCH])

    assert word.at(tick) == struct.pack(f"<{size}", base + per_tick * tick)[: word.size]


@pytest.mark.parametrize(
    ("captures", "why"),
    [
        ({n: [attention(n)] * (1 + n // 200) for n in TICKS}, "number of nodes follows the length: 1 at 129"),
        ({n: [attention(n, grid=(1, n // 128, 32))] for n in TICKS}, "node 0 .* is another at another length"),
        ({n: [attention(n, name=f"flash_{n // 200}")] for n in TICKS}, "is another at another length"),
        ({n: [attention(n, other=n * n)] for n in TICKS}, "byte 40 of node 0 .* follows no known clock: 16641 at 129"),
        ({n: [Node("copy", (), struct.pack("<Q", 4 * n), is_kernel=False)] for n in TICKS}, r"node 0 \(copy\)"),
        (
            {n: [Node("k", (), struct.pack("<Q", ARENA[0] + 8 * (n % 7)))] for n in TICKS},
            "byte 0 .* follows no known clock",
        ),
    ],
)
def test_what_cannot_be_told_is_refused_in_one_line(captures, why):
    with pytest.raises(NotClocked, match=why):
        clock_words(captures, [ARENA], [SCRATCH])


@given(
    st.integers(1, 40), st.integers(0, 400), st.integers(1, 9), st.lists(st.integers(10, 60), min_size=1, max_size=12)
)
def test_regimes_are_those_that_asking_every_length_would_find(first, count, stride, lengths):
    ends = [sum(lengths[: i + 1]) for i in range(len(lengths))]
    asked = []

    def signature(tick):
        asked.append(tick)
        return sum(tick > end for end in ends)

    ticks = range(first, first + count + 1)
    found = regimes(signature, ticks, stride)

    assert [tick for one in found for tick in one] == list(ticks), "each length once"
    slow = [tick for tick in ticks[1:] if sum(tick > e for e in ends) != sum(tick - 1 > e for e in ends)]
    assert [one.start for one in found[1:]] == slow
    assert len(asked) == len(set(asked))
