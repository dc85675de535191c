"""Sums that are asked for in words: exact, bounded, and never by evaluating what was said as code.

Takes an utterance as `intents` tidies it; answers only where all of it is one sum. Pure; no thread, no voice.
"""

import re
from collections.abc import Callable
from fractions import Fraction

from engine.models.pocket.numbers import LARGEST, from_digits, in_digits

MAX_EXPONENT = 100
DECIMALS = 3
MAX_TERMS = 32  # an utterance of 28 seconds holds no more

# What is asked in other words than it is written, as (pattern, rewritten).
_N = r"(minus [\d.]+|[\d.]+)"
FORMS = [
    (rf"(?:add|the sum of) {_N} (?:and|to|plus) {_N}", r"\1 plus \2"),
    (rf"subtract {_N} from {_N}", r"\2 minus \1"),
    (rf"the difference (?:between|of) {_N} and {_N}", r"\1 minus \2"),
    (rf"(?:multiply {_N} (?:by|and|with|times)|the product of {_N} and) {_N}", r"\1\2 times \3"),
    (rf"divide {_N} by {_N}", r"\1 over \2"),
    (rf"{_N} percent of {_N}", r"\1 over 100 times \2"),
    (rf"half (?:of )?{_N}", r"\1 over 2"),
    (rf"(?:twice|double|2 times) {_N}", r"2 times \1"),
    (rf"{_N} squared", r"\1 power 2"),
    (rf"{_N} cubed", r"\1 power 3"),
]
OPERATORS = [
    (r"(?<=[\d )])[+]", " plus "),
    (r"(?<=\d)\s*[\u2212\u2013-]\s*(?=\d)", " minus "),
    (r"(?<=\d)\s*[x\u00d7*]\s*(?=\d)|\bmultiplied by\b", " times "),
    (r"(?<=\d)\s*[\u00f7/]\s*(?=\d)|\bdivided by\b", " over "),
    (r"\^|\bto the power(?: of)?\b|\braised to\b", " power "),
    (r"%", " percent "),
]
HOMOPHONES = {"to": "2", "too": "2", "for": "4", "ate": "8", "won": "1"}  # a recogniser's, where a number must stand
ASKED = re.compile(
    r"(?:what (?:is|are|s)|what does|how much (?:is|are|s|does)|how many (?:is|are)|calculate|compute|work out) "
)
SAID_AFTER = re.compile(r"(?: (?:equals?|equal to|make|makes|is|give|come to|add up to))*$")
WORDS = {"plus", "minus", "times", "over", "power"}


def calculate(asked: str) -> str | None:
    """The answer to a sum, as a sentence ("7 times 8 is 56.").

    Args:
        asked: Lower case, without punctuation but for that of numbers.

    Returns:
        None where it is no sum, or more than a sum.
    """
    text = in_digits(re.sub(r"(?<=\d),(?=\d{3}\b)", "", asked))
    text = SAID_AFTER.sub("", ASKED.sub("", text, count=1))
    for pattern, word in OPERATORS:
        text = re.sub(pattern, word, text)
    text = " ".join(text.split())
    plainly = next((re.sub(pattern, plain, text) for pattern, plain in FORMS if re.fullmatch(pattern, text)), text)
    terms = plainly.split()
    for at, term in enumerate(terms):
        if term in HOMOPHONES and at and terms[at - 1] in WORDS:
            terms[at] = HOMOPHONES[term]
    if not 2 < len(terms) <= MAX_TERMS or not all(
        term in WORDS or re.fullmatch(r"\d+(\.\d+)?", term) for term in terms
    ):
        return None
    try:
        value = _Sum(terms).value()
    except ZeroDivisionError:
        return "Nothing can be divided by zero."
    except OverflowError:
        return "That number is too large for me."
    except SyntaxError:
        return None
    return f"{_spoken(terms if plainly == text else text.split())} is {_written(value)}."


class _Sum:
    """Reads terms by precedence: power, then times and over, then plus and minus."""

    def __init__(self, terms: list[str]) -> None:
        self._terms = list(terms)

    def value(self) -> Fraction:
        if not WORDS & set(self._terms[1:]):
            raise SyntaxError  # numbers alone are no sum
        value = self._chain({"plus": Fraction.__add__, "minus": Fraction.__sub__}, self._product)
        if self._terms:
            raise SyntaxError
        return value

    def _product(self) -> Fraction:
        return self._chain({"times": Fraction.__mul__, "over": Fraction.__truediv__}, self._power)

    def _chain(
        self, operators: dict[str, Callable[[Fraction, Fraction], Fraction]], operand: Callable[[], Fraction]
    ) -> Fraction:
        value = operand()
        while self._terms and self._terms[0] in operators:
            value = operators[self._terms.pop(0)](value, operand())
            if abs(value) > LARGEST:
                raise OverflowError
        return value

    def _power(self) -> Fraction:
        if self._terms and self._terms[0] == "minus":
            self._terms.pop(0)
            return -self._power()
        if not self._terms or self._terms[0] in WORDS:
            raise SyntaxError
        value = from_digits(self._terms.pop(0))
        if self._terms and self._terms[0] == "power":
            self._terms.pop(0)
            exponent = self._power()
            if exponent.denominator != 1 or abs(exponent) > MAX_EXPONENT:
                raise OverflowError
            value = value ** int(exponent)
        if abs(value) > LARGEST:
            raise OverflowError
        return value


def _spoken(terms: list[str]) -> str:
    said = " ".join(terms).replace(" over ", " divided by ").replace(" power ", " to the power of ")
    return said[:1].upper() + said[1:]


def _written(value: Fraction) -> str:
    if value.denominator == 1:
        return f"{int(value)}" if value >= 0 else f"minus {-int(value)}"
    rounded = round(value, DECIMALS)
    digits = f"{float(abs(rounded)):.{DECIMALS}f}".rstrip("0").rstrip(".")
    return ("" if rounded == value else "about ") + ("minus " if value < 0 else "") + digits
