"""Written English as it is said: numbers, times, dates, money, units, symbols and abbreviations become words.

Pure text, total: whatever comes in, what goes out holds only letters, spaces and the punctuation that a voice can pause
at. No voice, no thread.
"""

import re
import unicodedata
from collections.abc import Callable

from engine.models.pocket.numbers import decimal_in_words, digit_by_digit, in_words, ordinal_in_words, year_in_words

MONTHS = "january|february|march|april|may|june|july|august|september|october|november|december"
NUMBER = r"\d(?:[\d,]*\d)?(?:\.\d+)?"
ABBREVIATIONS = {
    "mr.": "mister", "mrs.": "missus", "ms.": "miss", "dr.": "doctor", "prof.": "professor", "st.": "saint",
    "vs.": "versus", "etc.": "et cetera", "e.g.": "for example", "i.e.": "that is", "approx.": "approximately",
}  # fmt: skip
UNITS = {
    "km/h": "kilometers an hour", "mph": "miles an hour", "km": "kilometers", "cm": "centimeters", "mm": "millimeters",
    "kg": "kilograms", "mg": "milligrams", "ml": "milliliters", "ft": "feet", "lb": "pounds", "hz": "hertz",
    "khz": "kilohertz", "ms": "milliseconds", "gb": "gigabytes", "mb": "megabytes", "%": "percent",
    "\u00b0c": "degrees celsius", "\u00b0f": "degrees fahrenheit", "\u00b0": "degrees",
}  # fmt: skip
MONEY = {"$": ("dollar", "cent"), "\u00a3": ("pound", "penny"), "\u20ac": ("euro", "cent")}
SYMBOLS = {
    "&": " and ", "+": " plus ", "=": " equals ", "@": " at ", "\u00d7": " times ", "\u00f7": " divided by ",
    "\u2212": " minus ", "\u2044": " over ", "#": " number ", "<": " less than ", ">": " more than ",
    "(": ", ", ")": ", ", "\u2013": " - ", "\u2014": " - ", "\u2026": "...", "\u2018": "'", "\u2019": "'",
}  # fmt: skip


def as_spoken(text: str) -> str:
    """What a reader would say aloud; empty where there is nothing to say.

    "At 3:05 p.m. on March 12, 2026" becomes "At three oh five p m on March twelfth, twenty twenty-six".
    """
    text = unicodedata.normalize("NFKC", text.replace("\u00b2", " squared ").replace("\u00b3", " cubed "))
    for pattern, said in RULES:
        text = pattern.sub(said, text)
    # Letters that another script lends keep their base: "cafe"; a script without one cannot be said.
    text = "".join(c for c in unicodedata.normalize("NFD", text) if not unicodedata.combining(c))
    text = re.sub(r"[^A-Za-z' ,.!?;:-]+", " ", text)
    text = re.sub(r"(?<![A-Za-z])'|'(?![A-Za-z])", " ", text)
    text = re.sub(r"-{2,}|(?<![A-Za-z])-|-(?![A-Za-z])", ", ", text)
    text = re.sub(r"([,.!?;:])(?:\s*[,.!?;:])+", _strongest, text)
    text = re.sub(r"\s+(?=[,.!?;:])", "", " ".join(text.split())).lstrip(",.!?;: ")
    return text if re.search(r"[A-Za-z]", text) else ""


def _strongest(run: re.Match[str]) -> str:
    return max(run.group(), key=" ,:;.!?".find) + " "


def _money(match: re.Match[str]) -> str:
    unit, part = MONEY[match.group(1)]
    whole, _, cents = match.group(2).replace(",", "").partition(".")
    said = f"{in_words(int(whole))} {unit}{'' if int(whole) == 1 else 's'}"
    if len(cents) == 2 and int(cents):
        plural = part if int(cents) == 1 else "pence" if part == "penny" else part + "s"
        return f"{said} and {in_words(int(cents))} {plural}"
    return said if not cents.strip("0") else f"{decimal_in_words(match.group(2))} {unit}s"


def _clock(match: re.Match[str]) -> str:
    hour, minute = int(match.group(1)), int(match.group(2))
    if hour > 23 or minute > 59:
        return f"{in_words(hour)} {digit_by_digit(match.group(2))}"
    said = "" if not minute else f" {'oh ' if minute < 10 else ''}{in_words(minute)}"
    bare = " o'clock" if not minute and not match.group(3) else ""
    half = f" {match.group(3)[0].lower()} m" if match.group(3) else ""
    return f"{in_words(hour)}{said or bare}{half}"


def _day(match: re.Match[str]) -> str:
    return f"{match.group(1)} {ordinal_in_words(int(match.group(2)))}"


def _unit(match: re.Match[str]) -> str:
    unit = UNITS[match.group(2).lower()]
    if match.group(1) == "1":
        unit = unit.replace("feet", "foot").replace("s an hour", " an hour")
        unit = unit.replace("degrees", "degree") if unit.startswith("degrees") else unit.removesuffix("s")
    return f"{match.group(1)} {unit} "


def _formula(match: re.Match[str]) -> str:
    return " ".join(
        in_words(int(part)) if part.isdigit() else part for part in re.findall(r"\d+|[A-Z][a-z]?", match[0])
    )


Rule = tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]]


def _rule(pattern: str, said: str | Callable[[re.Match[str]], str]) -> Rule:
    return re.compile(pattern, re.IGNORECASE), said


def _named(names: dict[str, str]) -> str:
    return "|".join(sorted(map(re.escape, names), key=len, reverse=True))


# In the order in which they read: what is longer and more particular first.
RULES: list[Rule] = [
    _rule(r"https?://\S+|www\.\S+", "a link"),
    _rule(r"^\s*(?:\d+[.)]|[*-])\s+", ""),  # a list's mark
    (re.compile(r"\b(?:[A-Z][a-z]?\d+)(?:[A-Z][a-z]?\d*)*\b"), _formula),  # H2O
    _rule(rf"\b({_named(ABBREVIATIONS)})(?=\W|$)", lambda match: ABBREVIATIONS[match.group(1).lower()]),
    _rule(r"\b([ap])\.m\.", r"\1m"),
    _rule(rf"([$\u00a3\u20ac])\s?({NUMBER})", _money),
    _rule(r"\b(\d{1,2}):(\d\d)(?::\d\d)?(?:\s*([ap]m)\b)?", _clock),
    _rule(r"\b(\d{1,2})\s*([ap])m\b", r"\1 \2 m"),
    _rule(rf"\b({MONTHS}) (\d{{1,2}})(?:st|nd|rd|th)?\b(?!:)", _day),
    _rule(
        rf"(\b(?:in|since|year|until|by|from|of|around|before|after|{MONTHS})|[a-z]{{3,}},) (1[1-9]\d\d|20\d\d)\b"
        r"(?![,.]\d)",
        lambda match: f"{match.group(1)} {year_in_words(int(match.group(2)))}",
    ),
    _rule(r"\b(\d+)(?:st|nd|rd|th)\b", lambda match: ordinal_in_words(int(match.group(1)))),
    _rule(rf"({NUMBER})\s?({_named(UNITS)})(?![A-Za-z])", _unit),
    _rule(r"(?<=\d)\s*[\u2013-]\s*(?=\d)", " to "),
    _rule(r"(?<=\d)\s*[x*]\s*(?=\d)", " times "),
    _rule(r"(?<![\w.])[-\u2212](?=\d)", "minus "),
    _rule(NUMBER, lambda match: f" {decimal_in_words(match.group())} "),
    _rule(_named(SYMBOLS), lambda match: SYMBOLS[match.group()]),
]
