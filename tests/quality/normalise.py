"""What two transcripts may differ in without meaning anything else: case, punctuation, digits, contractions.

`normalise` decides what a word is wherever this project measures words: for word error rates, and for the accepted
answers of `assets/questions`. Pure text.
"""

import re
import unicodedata

from engine.models.pocket.numbers import in_digits

CONTRACTIONS = [
    (r"\bwon't\b", "will not"),
    (r"\bcan't\b|\bcannot\b", "can not"),
    (r"\blet's\b", "let us"),
    (r"n't\b", " not"),
    (r"'re\b", " are"),
    (r"'ve\b", " have"),
    (r"'ll\b", " will"),
    (r"\bi'm\b", "i am"),
    (r"\b(it|that|what|there|here|where|who|how|he|she)'s\b", r"\1 is"),
]
SYMBOLS = [
    (r"\$\s?(\d[\d,.]*\d|\d)", r"\1 dollars"),
    (r"%", " percent"),
    (r"&", " and "),
    (r"(?<=\d)\s*[x\u00d7*]\s*(?=\d)", " times "),
    (r"(?<=\d)\s*\+\s*(?=\d)", " plus "),
    (r"\s=\s", " equals "),
    (r"(?:^|\s)\*(?=\s|$)", " star "),
    (r"\u00b0", " degrees "),
]
ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth".split()
SPELLINGS = [(r"\bokay\b", "ok"), (r"\b([ap]) ?\. ?m\b\.?", r"\1m"), (r"\b(uh|um|mm|hmm)\b", " ")]
SUFFIXES = {1: "st", 2: "nd", 3: "rd"}


def normalise(text: str) -> str:
    """A transcript as its words, separated by single spaces, numbers as digits.

    "It's 3:20 P.M.!" and "it is three twenty pm" are both "it is 3 20 pm".
    """
    while (once := _once(text)) != text:  # what a rule leaves ("7:x 8" is "7 x 8") may be another's
        text = once
    return text


def _once(text: str) -> str:
    text = unicodedata.normalize("NFKC", text).lower().replace("\u2019", "'").replace("\u2018", "'")
    text = re.sub(r"\[[^]]*\]|\([^)]*\)|<[^>]*>", " ", text)  # a note about the sound is no word
    for pattern, words in CONTRACTIONS + SYMBOLS + SPELLINGS:
        text = re.sub(pattern, words, text)
    text = re.sub(r"(?<=\d),(?=\d{3}\b)", "", text)
    text = re.sub(r"(?<=[a-z])'(?=[a-z])", "", text)  # o'clock, today's
    text = re.sub(r"(?<!\d)\.|\.(?!\d)|[^\w\s.]|_", " ", text)
    for place, word in enumerate(ORDINALS, 1):
        text = re.sub(rf"\b{word}\b", f"{place}{SUFFIXES.get(place, 'th')}", text)
    text = " ".join(in_digits(text).split())
    return re.sub(r"\b([2-9])0 ([1-9](?:st|nd|rd|th))\b", r"\1\2", text)  # twenty first
