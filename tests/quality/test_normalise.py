import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.quality.normalise import normalise
from tests.quality.word_errors import word_error_rate, word_errors

WORDS = st.lists(st.sampled_from("to be or not that is the question".split()), max_size=12)
TEXT = st.text(st.sampled_from("aA1 9.,:'-$%x=!?\u2019three ten"), max_size=40)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("It's 3:20 P.M.!", "it is three twenty pm"),
        ("March 21st", "march twenty-first"),
        ("7 x 8 = 56", "seven times eight equals fifty-six"),
        ("$1,200", "twelve hundred dollars"),
        ("I can\u2019t, won't", "I can not will not"),
        ("Press 1 (beep).", "press one"),
        ("okay o'clock", "OK oclock"),
        ("three point one four", "3.14"),
    ],
)
def test_what_is_said_alike_is_the_same(one: str, other: str) -> None:
    assert normalise(one) == normalise(other)


@pytest.mark.parametrize(("one", "other"), [("thirteen", "thirty"), ("is", "isn't"), ("1.5", "15"), ("am", "I'm")])
def test_what_is_said_differently_stays_different(one: str, other: str) -> None:
    assert normalise(one) != normalise(other)


@settings(deadline=None, max_examples=200)
@given(TEXT)
@example("1:x1")
@example("1:x 1")
def test_normalising_twice_changes_nothing(text: str) -> None:
    once = normalise(text)
    assert normalise(once) == once


def test_errors_by_hand() -> None:
    assert word_errors("the cat sat on the mat", "the cat sit on mat now") == 3
    assert word_errors("one two", "") == 2
    assert word_errors("", "one two") == 2
    assert word_error_rate([("a b c d", "a b c d"), ("a b c d", "a x c")]) == 2 / 8
    with pytest.raises(ValueError, match="no reference"):
        word_error_rate([("", "word")])


@settings(deadline=None, max_examples=100)
@given(WORDS, WORDS, WORDS)
def test_errors_are_a_distance(one: list[str], other: list[str], third: list[str]) -> None:
    a, b, c = " ".join(one), " ".join(other), " ".join(third)
    assert word_errors(a, b) == word_errors(b, a)
    assert (word_errors(a, b) == 0) == (a == b)
    assert word_errors(a, c) <= word_errors(a, b) + word_errors(b, c)
    assert abs(len(one) - len(other)) <= word_errors(a, b) <= max(len(one), len(other))
