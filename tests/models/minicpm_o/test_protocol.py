"""The unit protocol against a table of cases, each worked out by hand from the released control flow."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.models.minicpm_o.protocol import (
    Draw,
    Feed,
    Launch,
    Limits,
    Marks,
    Protocol,
    Slide,
    Unit,
    Window,
    WindowLimits,
    WindowMode,
    launches,
)  # fmt: skip

M = Marks()
L, S, E, X, T, B, END = M.listen, M.speak, M.chunk_eos, M.chunk_tts_eos, M.turn_eos, M.tts_bos, M.unit_end


def begun(**limits) -> Protocol:
    return Protocol(M, Limits(**limits), lambda tokens: sum(token < 100 for token in tokens))


def run(protocol: Protocol, drawn: list[int], *, forced: bool = False) -> tuple[list[int], list[int], Unit]:
    """A unit that draws these tokens: what was fed, what of it conditions speech, and what it came to."""
    course, fed, speaks, rest = protocol.unit(forced=forced), [], [], list(drawn)
    answer = None
    while True:
        try:
            asked = course.send(answer)
        except StopIteration as done:
            assert not rest, "it draws all of them"
            return fed, speaks, done.value
        answer = None
        if asked == Draw():
            answer = rest.pop(0)
        else:
            assert isinstance(asked, Feed)
            fed.append(asked.token)
            speaks += [asked.token] if asked.speaks else []


# what is drawn; fed; said; terminator; listens; ends the turn; the turn has ended afterwards; speech is under way
CASES = {
    "it listens": ([L], [], [], L, True, False, True, False),
    "it speaks until the unit's end": ([S, 1, 2, E], [S, 1, 2], [1, 2], E, False, False, False, True),
    "the first token never conditions, mark or not": (
        [7, 1, X],
        [7, 1],
        [1],
        X,
        False,
        False,
        False,
        True,
    ),
    "it speaks, and says nothing": ([S, E], [S], [], E, False, False, False, True),
    "its unit ends before it began: speech is made of nothing": ([E], [], [], E, False, False, True, True),
    "its turn ends": ([S, 1, T, E], [S, 1, T], [1, T], E, False, True, True, False),
    "its turn ends with its first token": ([T, E], [T], [], E, False, True, True, False),
    "listening after a turn's end swallows the unit": ([S, 1, T, L], [S, 1, T], [], L, True, False, True, False),
    "speaking after a turn's end undoes it": ([S, T, 3, E], [S, T, 3], [T, 3], E, False, False, False, True),
    "in a turn it may not listen": ([S, L, 1, E], [S, B, 1], [B, 1], E, False, False, False, True),
    "a speak mark within is said like any": ([S, S, 1, E], [S, S, 1], [S, 1], E, False, False, False, True),
}


@pytest.mark.parametrize(
    ("drawn", "fed", "said", "terminator", "listens", "ends", "ended", "speaking"), CASES.values(), ids=CASES.keys()
)
def test_a_first_unit(drawn, fed, said, terminator, listens, ends, ended, speaking):
    protocol = begun()

    was_fed, speaks, unit = run(protocol, drawn)

    assert was_fed == fed
    assert unit == Unit((terminator, END), listens, tuple(said), ends, opens_turn=not listens)
    assert listens or speaks == said
    assert (protocol.turn_ended, protocol.speaking) == (ended, speaking)
    assert unit.speech_may_end == (not listens)


def test_the_twentieth_step_ends_the_unit_undrawn():
    fed, _, unit = run(begun(characters=99), [S, *range(1, 19)])

    assert len(fed) == 19
    assert unit.said == tuple(range(1, 19))
    assert unit.closing == (E, END)
    assert not unit.ends_turn
    _, _, unit = run(begun(characters=99), [S, *range(1, 18), T])
    assert unit.ends_turn


def test_a_token_too_many_characters_is_drawn_and_not_fed():
    protocol = begun(characters=4)

    fed, _, unit = run(protocol, [S, 1, 2, 3, 4])

    assert fed == [S, 1, 2, 3]
    assert unit.said == (1, 2, 3)
    assert unit.closing == (E, END)
    # Special tokens have no length, and the first token is not asked.
    assert run(begun(characters=1), [5, T, E])[2].said == (T,)
    # Refused after a turn's end: the unit ends the turn, though the model may not listen before it ends again.
    fed, _, unit = run(protocol, [1, 2, 3, 4, T, 5])
    assert (fed, unit.ends_turn) == ([1, 2, 3, 4, T], True)
    assert not protocol.turn_ended


def test_turns():
    protocol = begun()

    units = [run(protocol, drawn)[2] for drawn in ([L], [S, 1, E], [2, L, E], [3, T, E], [L], [S, 4, E])]

    assert [unit.listens for unit in units] == [True, False, False, False, True, False]
    assert [unit.opens_turn for unit in units] == [False, True, False, False, False, True]
    assert [unit.ends_turn for unit in units] == [False, False, False, True, False, False]
    assert [unit.speech_may_end for unit in units] == [False, True, False, True, False, True]
    assert units[2].said == (B,)


@pytest.mark.parametrize("forgets", [False, True])
def test_a_barge_in_ends_the_turn_and_listens(forgets):
    protocol = begun(forgets_cut_turns=forgets)
    run(protocol, [S, 1, E])

    fed, speaks, unit = run(protocol, [], forced=True)

    assert (fed, speaks) == ([T], [])
    assert unit == Unit((L, END), listens=True, cut=True, forgets_speech=forgets)
    assert protocol.turn_ended
    # Released, the speech decoder does not know of it.
    assert run(protocol, [S, 2, E])[2].opens_turn is forgets


def test_a_forced_unit_without_a_turn_only_listens():
    protocol = begun()
    assert run(protocol, [], forced=True) == ([], [], Unit((L, END), listens=True))
    run(protocol, [S, T, L])
    assert run(protocol, [], forced=True) == ([], [], Unit((L, END), listens=True))


def test_first_units_may_be_made_to_listen_and_a_session_begins_anew():
    protocol = begun(forced_units=2)
    for _ in range(2):
        assert [run(protocol, [])[2].listens for _ in range(2)] == [True, True]
        assert run(protocol, [S, 1, E])[2].opens_turn
        protocol.begin()


def test_token2wav_is_launched_as_released():
    def of(waiting: int, ends: bool = False) -> list[Launch]:
        return list(launches(waiting, ends_turn=ends))

    assert of(3 + 25) == [Launch(28)]
    assert of(3 + 5) == [Launch(8)]
    assert of(3 + 4) == []
    assert of(3 + 25 + 4) == [Launch(28)]
    assert of(3 + 25 + 25) == [Launch(28), Launch(28)]
    assert of(3 + 25, True) == [Launch(28), Launch(3, last=True)]
    assert of(3 + 11, True) == [Launch(14), Launch(3, last=True)]
    assert of(3, True) == [Launch(3, last=True)]
    assert of(0, True) == []


@given(st.integers(0, 200), st.booleans())
def test_no_speech_token_is_lost_or_doubled(waiting, ends):
    made = list(launches(waiting, ends_turn=ends))

    taken = sum(launch.fed - (0 if launch.last else 3) for launch in made)
    assert taken == waiting if ends else 0 <= waiting - taken < 8


def listened() -> Unit:
    return Unit((L, END), listens=True)


def said(*tokens: int) -> Unit:
    return Unit((E, END), False, tokens)


def test_the_basic_window_drops_whole_units_one_by_one():
    window = Window(WindowLimits(WindowMode.BASIC, high=100, low=60), system=10)

    assert [window.close(13, listened()) for _ in range(6)] == [[]] * 6  # 88
    assert window.close(12, listened()) == []  # 100 are not over it
    slides = window.close(20, said(1))

    # 120, 107, 94, 81, 68, 55
    assert slides == [Slide(10, 23)] * 5
    assert [slide.moved for slide in slides] == [13] * 5
    assert window.ticks == 10 + 13 + 12 + 20
    assert Window(WindowLimits(WindowMode.BASIC, high=5, low=1), system=4).close(9, said()) == [Slide(4, 13)]


def test_no_window_drops_nothing():
    window = Window(WindowLimits(), system=10)
    assert [window.close(30, said(1)) for _ in range(1000)] == [[]] * 1000
    assert window.ticks == 30_010


def test_a_window_of_units_keeps_what_was_said_as_a_note():
    limits = WindowLimits(WindowMode.CONTEXT, units=2, note=3)
    window = Window(limits, system=7, opening=(50, 51), suffix=(60,), special=frozenset({T}))

    assert window.close(13, listened()) == []
    assert window.close(20, said(1, 2, T)) == []
    # Nothing was said in the first: it goes, and nothing is read again.
    assert window.close(13, listened()) == [Slide(8, 21)]
    # The second's words come in front of the suffix, and three ticks more of a note than there were.
    slides = window.close(15, said(3, 4))
    assert slides == [Slide(7, 8 + 20, (50, 51, 1, 2, 60))]
    assert slides[0].moved == 20 + 1 - 5
    assert window.ticks == 7 + 5 + 13 + 15
    # A unit without words: the note is read again all the same.
    assert window.close(14, said(T)) == [Slide(7, 12 + 13, (50, 51, 1, 2, 60))]
    # The note holds three words at most, its opening apart.
    assert window.close(14, listened()) == [Slide(7, 12 + 15, (50, 51, 2, 3, 4, 60))]
    window.begin()
    assert window.ticks == 8
