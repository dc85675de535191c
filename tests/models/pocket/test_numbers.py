import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.models.pocket.numbers import (
    LARGEST,
    decimal_in_words,
    from_digits,
    in_digits,
    in_words,
    ordinal_in_words,
    year_in_words,
)

NUMBERS = st.one_of(*(st.integers(0, 10**digits) for digits in (1, 2, 3, 4, 6, 9, 14)))


@settings(deadline=None, max_examples=300)
@given(NUMBERS)
def test_words_and_digits_are_inverse(value: int) -> None:
    assert in_digits(in_words(value)) == str(value)
    assert in_digits(in_words(value).upper().replace("-", " ")) == str(value)


@settings(deadline=None, max_examples=100)
@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_a_word_between_keeps_numbers_apart(one: int, other: int) -> None:
    assert in_digits(f"{in_words(one)} times {in_words(other)}") == f"{one} times {other}"
    assert in_digits(f"{in_words(one % 100)} and {in_words(other)}") == f"{one % 100} and {other}"


@pytest.mark.parametrize(
    ("words", "digits"),
    [
        ("three twenty", "3 20"),
        ("one two three", "1 2 3"),
        ("one hundred and five", "105"),
        ("a hundred and twenty three", "123"),
        ("thirty-two hundred", "3200"),
        ("five and six", "5 and 6"),
        ("twenty ten", "20 10"),
        ("three point one four", "3.14"),
        ("someone is often alone at the weight", "someone is often alone at the weight"),
        ("7 times eight", "7 times 8"),
        ("zero zero seven", "0 0 7"),
    ],
)
def test_numbers_in_running_words(words: str, digits: str) -> None:
    assert in_digits(words) == digits


def test_beyond_the_largest_name_digits_are_said() -> None:
    assert in_words(LARGEST).startswith("nine hundred ninety-nine trillion")
    assert in_words(LARGEST + 1) == "one" + 15 * " zero"


def test_forms_of_speech() -> None:
    assert [ordinal_in_words(n) for n in (1, 12, 20, 21, 33, 100)] == [
        "first",
        "twelfth",
        "twentieth",
        "twenty-first",
        "thirty-third",
        "one hundredth",
    ]
    assert [year_in_words(y) for y in (1066, 1900, 1905, 1995, 2000, 2008, 2026, 800)] == [
        "ten sixty-six",
        "nineteen hundred",
        "nineteen oh five",
        "nineteen ninety-five",
        "two thousand",
        "two thousand eight",
        "twenty twenty-six",
        "eight hundred",
    ]
    assert decimal_in_words("-1,234.50") == "minus one thousand two hundred thirty-four point five zero"
    assert decimal_in_words("007") == "zero zero seven"
    assert from_digits("1,234.5") * 2 == 2469
