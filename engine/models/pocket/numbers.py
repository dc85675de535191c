"""English numbers, in words and in digits. Pure text: no voice, no recogniser, no thread.

The voice needs words where a text has digits; arithmetic and comparison need digits where a recogniser wrote words.
"""

import re
from fractions import Fraction

UNITS = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split()  # noqa: E501
TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
SCALES = ("thousand", "million", "billion", "trillion")
LARGEST = 1000 ** (len(SCALES) + 1) - 1
ORDINALS = {"one": "first", "two": "second", "three": "third", "five": "fifth", "eight": "eighth", "nine": "ninth",
            "twelve": "twelfth"}  # fmt: skip

_SMALL = {word: value for value, word in enumerate(UNITS)} | {word: 10 * (at + 2) for at, word in enumerate(TENS)}
_LARGE = {word: 1000 ** (at + 1) for at, word in enumerate(SCALES)}
_NAMES = "|".join(sorted([*_SMALL, *_LARGE, "hundred"], key=len, reverse=True))
_AND = "|".join(rf"(?<={word})\s+and\s+" for word in ("hundred", *SCALES))  # elsewhere "and" parts two numbers
_RUN = re.compile(rf"\b(?:{_NAMES})(?:(?:{_AND}|[\s-]+)(?:{_NAMES}))*\b", re.IGNORECASE)
_ARTICLE = re.compile(r"\ban?\s+(?=(?:hundred|thousand|million|billion)\b)", re.IGNORECASE)
_POINT = re.compile(r"(?<=\d)\s+point\s+(\d(?:\s\d)*)\b", re.IGNORECASE)


def in_words(value: int) -> str:
    """A whole number as it is said: `in_words(145)` is "one hundred forty-five".

    Beyond `LARGEST` it is said digit by digit, as nobody names such a number.
    """
    if value < 0:
        return f"minus {in_words(-value)}"
    if value > LARGEST:
        return digit_by_digit(str(value))
    if value < 20:
        return UNITS[value]
    if value < 100:
        tens, units = divmod(value, 10)
        return TENS[tens - 2] + (f"-{UNITS[units]}" if units else "")
    if value < 1000:
        size, name = 100, "hundred"
    else:
        at = max(at for at in range(len(SCALES)) if value >= 1000 ** (at + 1))
        size, name = 1000 ** (at + 1), SCALES[at]
    many, rest = divmod(value, size)
    return f"{in_words(many)} {name}" + (f" {in_words(rest)}" if rest else "")


def digit_by_digit(digits: str) -> str:
    """Digits one after the other, as a telephone number is said: "205" is "two zero five"."""
    return " ".join(UNITS[int(digit)] for digit in digits)


def decimal_in_words(text: str) -> str:
    """A number as written, with thousands separators and a decimal point or without: "1,234.5".

    Args:
        text: Digits, commas, at most one point, perhaps a leading minus.
    """
    sign, text = ("minus ", text[1:]) if text[:1] in "-\u2212" else ("", text)
    whole, _, part = text.replace(",", "").partition(".")
    # "007" is no quantity: its zeros are said.
    said = digit_by_digit(whole) if len(whole) > 1 and whole[0] == "0" else in_words(int(whole or "0"))
    return sign + said + (f" point {digit_by_digit(part)}" if part else "")


def ordinal_in_words(value: int) -> str:
    """A place in a row: `ordinal_in_words(21)` is "twenty-first"."""
    words = in_words(value)
    cut = max(words.rfind(" "), words.rfind("-")) + 1
    last = words[cut:]
    if last in ORDINALS:
        return words[:cut] + ORDINALS[last]
    return words[:cut] + (last[:-1] + "ieth" if last.endswith("y") else last + "th")


def year_in_words(year: int) -> str:
    """A year as it is said: 1995 "nineteen ninety-five", 2008 "two thousand eight", 2026 "twenty twenty-six"."""
    century, rest = divmod(year, 100)
    if not 1000 <= year < 10_000 or 2000 <= year < 2010 or (century % 10 == 0 and not rest):
        return in_words(year)
    if not rest:
        return f"{in_words(century)} hundred"
    return f"{in_words(century)} {'oh ' if rest < 10 else ''}{in_words(rest)}"


def in_digits(text: str) -> str:
    """The same text with every number in digits: "seven times forty-five" becomes "7 times 45".

    Neighbours that do not make one number stay neighbours: "three twenty" becomes "3 20". Written digits stay.
    """
    text = _RUN.sub(lambda run: " ".join(map(str, _values(run.group()))), _ARTICLE.sub("one ", text))
    return _POINT.sub(lambda part: "." + part.group(1).replace(" ", ""), text)


def from_digits(text: str) -> Fraction:
    """The exact value of digits as written: "1,234.5"."""
    return Fraction(text.replace(",", ""))


def _values(run: str) -> list[int]:
    """The numbers that a run of number words holds, each as large as grammar lets it be."""
    values: list[int] = []
    total, group = (
        0,
        -1,
    )  # what scales have closed, and the number below a thousand being read; -1 before its first word
    scale, room = max(_LARGE.values()) * 1000, 0  # the last scale named; how large the group's next word may be

    def close() -> None:
        nonlocal total, group, scale, room
        if group >= 0 or total:
            values.append(total + max(group, 0))
        total, group, scale, room = 0, -1, max(_LARGE.values()) * 1000, 0

    for word in re.split(r"[\s-]+", run.lower()):
        if word == "and":
            continue
        if word == "hundred":
            if not 0 < group < 100:
                close()
            group, room = max(group, 1) * 100, 100
        elif word in _LARGE:
            if group <= 0 or _LARGE[word] >= scale:
                close()
            total, scale = total + max(group, 1) * _LARGE[word], _LARGE[word]
            group, room = -1, 0
        else:
            value = _SMALL[word]
            if group >= 0 and not 0 < value < room:
                close()
            group = max(group, 0) + value
            room = 10 if value >= 20 else 0
    close()
    return values
