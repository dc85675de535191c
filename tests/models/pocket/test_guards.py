import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.models.pocket.guards import clean, cut_loop, is_speech, say_once


@given(st.lists(st.integers(0, 9), max_size=8), st.lists(st.integers(10, 99), min_size=1, max_size=24, unique=True))
def test_a_loop_is_cut_to_its_first_time(before: list[int], run: list[int]) -> None:
    times = 5 if len(run) == 1 else 4 if len(run) == 2 else 3

    assert cut_loop(before + run * times) == len(before) + len(run)
    assert cut_loop(before + run * (times - 1)) is None


@given(st.lists(st.integers(0, 10**6), unique=True, max_size=100))
def test_what_does_not_repeat_is_never_cut(tokens: list[int]) -> None:
    assert cut_loop(tokens) is None


def test_a_loop_that_has_ended_is_speech_again() -> None:
    assert cut_loop([7, 7, 7, 7, 7, 8]) is None


ONCE = "Press 7 to delete this message."


@pytest.mark.parametrize(
    "said",
    [f"{ONCE} {ONCE}", f"{ONCE} press 7, to delete this message! Press 7 to de", ONCE + ONCE],
    ids=["twice", "twice and a bit, otherwise spelt", "without a gap"],
)
def test_a_sentence_said_again_in_the_time_of_once_is_an_echo(said: str) -> None:
    assert say_once(said, 2.3) == ONCE
    assert say_once(said, 20.0) == said


def test_fast_speech_that_is_no_echo_is_kept() -> None:
    assert say_once(f"{ONCE} Press 8 to keep it.", 1.0) == f"{ONCE} Press 8 to keep it."


@pytest.mark.parametrize("said", ["", "No, no, no.", "Stop! Stop!", "Thank you. Thank you."])
def test_what_people_do_repeat_is_kept(said: str) -> None:
    assert say_once(said, 1.5) == said


@given(st.text(alphabet="abc .", max_size=60), st.floats(0.1, 5))
def test_an_echo_is_only_ever_shortened(text: str, seconds: float) -> None:
    once = say_once(text, seconds)

    assert text.startswith(once)
    assert say_once(once, seconds) == once or len(once) < len(text)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (" What is rain?", "What is rain?"),
        ("[BLANK_AUDIO]", ""),
        ("(music)", ""),
        (" (upbeat music) Hello there. *sighs*", "Hello there."),
        ("♪ la la la ♪", ""),
        ("[unclosed", ""),
        (" . . .", ""),
        ("", ""),
    ],
)
def test_only_words_are_left(said: str, words: str) -> None:
    assert clean(said) == words


def test_silence_is_told_from_speech() -> None:
    assert is_speech(no_speech=0.05, confidence=-0.2)
    assert is_speech(no_speech=0.7, confidence=-0.6)  # faint, but certain of its words
    assert is_speech(no_speech=0.3, confidence=-2.0)  # mumbled, but somebody spoke
    assert not is_speech(no_speech=0.7, confidence=-1.5)
    assert not is_speech(no_speech=0.98, confidence=-0.7)  # "you", with some certainty, of nothing at all
