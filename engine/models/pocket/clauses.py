"""Cuts an answer, while it is still being written, into clauses that a voice can speak. Pure text; no model, no thread.

The first clause decides how soon an answer is heard, so it may be cut before the sentence ends: at punctuation where
there is some, else before a word that can open a phrase, else after the last whole word.
"""

import re

MIN_WORDS = 3
SENTENCE_END = re.compile(r"[.!?][\"')\]]*(?=\s|$)")
PAUSE = re.compile(r"[,;:][\"')\]]*(?=\s)|\s[-\u2013\u2014](?=\s)")
# Words before which a speaker may take a breath.
OPENERS = frozenset(
    "and or but that which who because so when while where if as than of in on at to for from with by into".split()
)


def take_clause(text: str, *, complete: bool, hurry: bool) -> tuple[str, str]:
    """Split what can be spoken now from the front of `text`.

    Args:
        text: What has been written and not yet spoken.
        complete: Nothing more will be written.
        hurry: Silence would follow if nothing is spoken now: cut inside a phrase rather than wait.

    Returns:
        The clause, empty where it is better to wait, and the rest. Together they hold every word, in order.
    """
    text = text.lstrip()
    for end in SENTENCE_END.finditer(text):
        # "3.5" or "Mr." at the end of what is written may go on.
        if end.end() < len(text.rstrip()) or complete or end.group()[0] != "." or not _may_go_on(text[: end.start()]):
            return text[: end.end()], text[end.end() :].lstrip()
    for pause in PAUSE.finditer(text):
        if len(text[: pause.start()].split()) >= MIN_WORDS:
            return text[: pause.end()], text[pause.end() :].lstrip()
    if complete:
        return text.rstrip(), ""
    return _hurried(text) if hurry else ("", text)


def _may_go_on(before: str) -> bool:
    """Whether a full stop after `before` may be a decimal point or an abbreviation's."""
    last = before.rsplit(None, 1)[-1] if before.split() else ""
    return last.isdigit() or last.lower() in {"mr", "mrs", "ms", "dr", "st", "e.g", "i.e"}


def _hurried(text: str) -> tuple[str, str]:
    # The last word may still grow: "sun" becomes "sunlight".
    words = text.split()[:-1]
    if len(words) < MIN_WORDS:
        return "", text
    cut = next((at for at in range(len(words) - 1, MIN_WORDS - 1, -1) if words[at].lower() in OPENERS), len(words))
    return " ".join(words[:cut]), " ".join([*words[cut:], text.split()[-1]])
