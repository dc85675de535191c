import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.models.pocket.numbers import in_digits
from engine.models.pocket.spoken import as_spoken

PIECES = (
    "3:05|12:00 pm|$5.20|$1,|March 12|2026|H2O|5 km|(|)|...|-|Dr.|'|1,234|it's|well-known|caf\u00e9|\u65e5|!|?!|90%"
    "|\u2014|word|1st|*|3.5.|\u00bd|\u0663|x|#1|e.g."
)
WRITTEN = st.lists(st.sampled_from(PIECES.split("|")) | st.text(max_size=5), max_size=10).map(" ".join)


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("At 3:05 p.m. it rained.", "At three oh five p m it rained."),
        ("It is 3:20 in the afternoon.", "It is three twenty in the afternoon."),
        ("It is 3 o'clock.", "It is three o'clock."),
        ("From 10:00 on", "From ten o'clock on"),
        ("Today is Thursday, March 12, 2026.", "Today is Thursday, March twelfth, twenty twenty-six."),
        ("In 1995, 1,234 came.", "In nineteen ninety-five, one thousand two hundred thirty-four came."),
        ("7 times 256 is 1792.", "seven times two hundred fifty-six is one thousand seven hundred ninety-two."),
        ("$5.20, $1, \u00a31.01", "five dollars and twenty cents, one dollar, one pound and one penny"),
        (
            "H2O boils at 100\u00b0C (212\u00b0F).",
            "H two O boils at one hundred degrees celsius, two hundred twelve degrees fahrenheit.",
        ),
        ("Dr. Smith ran 1 km, e.g. today.", "doctor Smith ran one kilometer, for example today."),
        ("with 600 ms to spare", "with six hundred milliseconds to spare"),
        ("minus: -5, 10-20, 3.14", "minus: minus five, ten to twenty, three point one four"),
        ("1. **First**: caf\u00e9\u2014really\u2026", "First: cafe, really."),
        ("Wait...what?!", "Wait. what?"),
        ("well-known -- it's the '90s", "well-known, it's the ninety s"),
        ("...", ""),
        ("\u65e5\u672c", ""),
        ("", ""),
    ],
)
def test_what_is_written_is_said(written: str, said: str) -> None:
    assert as_spoken(written) == said


@settings(deadline=None, max_examples=300)
@given(WRITTEN)
def test_anything_can_be_said(written: str) -> None:
    said = as_spoken(written)
    assert re.fullmatch(r"[A-Za-z' ,.!?;:-]*", said)
    assert said == "" or (said[0].isalpha() and re.search(r"[A-Za-z]", said))
    assert not re.search(r"  |[,.!?;:]{2}| [,.!?;:]", said)
    assert as_spoken(said) == said


@settings(deadline=None, max_examples=100)
@given(st.integers(0, 10**12))
def test_no_number_changes_its_value(value: int) -> None:
    assert in_digits(as_spoken(f"It counts {value:,} of them.")) == f"It counts {value} of them."
