"""What a launch does to a state, against lists: what is kept, and where a copy in place would go wrong."""

from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from engine.clock import Rate
from engine.plan.advance import grow, launches
from engine.stage import Order, Ring, StateSpec, T, Tail, Ticking, Timeline, Trim

ends = st.integers(-40, 40)
segments = st.lists(st.tuples(ends, st.none() | ends), min_size=1, max_size=3).map(tuple)
trims = st.builds(Trim, st.integers(1, 60), segments, repeats=st.integers(1, 3))


@settings(deadline=None, max_examples=400)
@given(trim=trims, ticks=st.integers(1, 90))
def test_a_trim_is_slices_of_the_repeated_sequence_and_then_its_first_part(trim, ticks):
    repeated = list(range(ticks)) * trim.repeats
    if len(repeated) > trim.over:
        kept = [tick for start, stop in trim.keep for tick in repeated[start:stop]]
        repeated = kept[: len(kept) // trim.repeats * trim.repeats]

    assert [tick for piece in trim.sources(ticks) for tick in piece] == repeated[: len(repeated) // trim.repeats]
    assert trim.kept(ticks) == len(repeated) // trim.repeats


@settings(deadline=None, max_examples=400)
@given(trim=trims, held=st.integers(0, 60), new=st.integers(1, 30))
def test_without_a_shift_buffer_pieces_can_be_moved_in_place_and_with_one_they_fit_it(trim, held, new):
    grown = grow(StateSpec("state", (T,), keep=trim), held, new)
    sources = trim.sources(held + new)
    state = list(range(held + new))
    moved = [piece for piece, to in zip(sources, starts(sources), strict=True) if piece.start != to]

    to = 0
    for piece in sources:
        part = state[piece.start : piece.stop]
        if not grown.shift:  # where source and target do not meet, so that any order of copying is right
            assert piece.start == to or piece.start >= to + len(piece) or to >= piece.stop
        state[to : to + len(piece)] = part
        to += len(piece)
    kept = [tick for piece in sources for tick in piece]
    if grown.shift:
        assert grown.shift == sum(len(piece) for piece in moved)
    else:
        assert state[:to] == kept
    assert grown.after == len(kept)
    assert grown.most == held + new


def starts(pieces: tuple[range, ...]) -> list[int]:
    return [sum(len(piece) for piece in pieces[:number]) for number in range(len(pieces))]


@given(held=st.integers(0, 100), new=st.integers(1, 60))
def test_new_ticks_before_the_old_are_joined_beside_them(held, new):
    spec = StateSpec("state", (T,), order=Order.BEFORE, keep=Trim(100, ((0, 60), (-40, None))))
    grown = grow(spec, held, new)

    assert grown.after == min(100, held + new)
    assert grown.most == max(held, grown.after)
    assert grown.shift == (held + new if held else 0)


@given(size=st.integers(1, 50), held=st.integers(0, 50), new=st.integers(1, 80))
def test_a_ring_and_a_tail_never_hold_more_than_they_have(size, held, new):
    for keep in (Ring(size), Tail(size)):
        grown = grow(StateSpec("state", (T,), keep=keep), min(held, size), new)
        assert grown.most == grown.after == min(size, min(held, size) + new)
        assert grown.shift == 0


@settings(deadline=None)
@given(
    chunk=st.integers(1, 30), least=st.integers(1, 30), look_ahead=st.integers(0, 9), waiting=st.integers(0, 120),
    last=st.booleans(),
)  # fmt: skip
def test_chunks_are_cut_until_too_little_is_left(chunk, least, look_ahead, waiting, last):
    least = min(least, chunk)
    line = Timeline("a", Ticking(Rate(1)), "tick", chunk=chunk, least=least, look_ahead=look_ahead)
    cut = list(launches(line, waiting, last))

    left = waiting - sum(takes for _, takes, _ in cut)
    for fed, takes, ends_turn in cut:
        assert fed == takes + (0 if ends_turn else look_ahead)
        assert ends_turn or least <= takes <= chunk
    assert left == 0 if last else left < look_ahead + least
    assert [ends_turn for _, _, ends_turn in cut].count(True) <= int(last)
    buffer = list(range(waiting))  # the driver's own loop
    while len(buffer) >= look_ahead + least:
        buffer = buffer[min(chunk, len(buffer) - look_ahead) :]
    assert left == (0 if last else len(buffer))


@given(grain=st.integers(1, 40), arrived=st.lists(st.integers(0, 100), max_size=20))
def test_a_grain_takes_whole_multiples_and_loses_nothing(grain, arrived):
    line = Timeline("a", Ticking(Rate(1)), "tick", grain=grain, yields=Fraction(1, grain))
    waiting = taken = 0
    for number, ticks in enumerate(arrived, 1):
        waiting += ticks
        for fed, takes, _ in launches(line, waiting, False):
            assert fed == takes
            taken += takes
            waiting -= takes
        assert taken == sum(arrived[:number]) // grain * grain
        assert taken + waiting == sum(arrived[:number])
