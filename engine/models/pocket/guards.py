"""Guards against what Whisper says when it has lost the thread: loops, echoes, words for silence.

Arithmetic over tokens and text. Entered by the engine thread.
"""

import re
from collections.abc import Sequence

_LOOPS = ((1, 5), (2, 4), (24, 3))  # a run of at most so many tokens, said so often in a row, is a loop
_FASTEST_LETTERS_PER_SECOND = 14  # one prompt in a hundred is read faster; a sentence said twice in its time runs at 20
_NO_SPEECH, _UNSURE = 0.6, -1.0  # Whisper's own bounds for dropping a window, both at once
_NOBODY = 0.85  # speech in noise of half its power stays under 0.75; silence, hum and hiss are at 0.9 (2026-12-01)
_ASIDE = re.compile(r"\[[^\]]*\]?|\([^)]*\)?|\*[^*]*\*?|♪[^♪]*♪?")  # "[BLANK_AUDIO]", "(music)", "*sighs*", "♪ la ♪"


def cut_loop(tokens: Sequence[int]) -> int | None:
    """Where a transcription that has begun to repeat itself is to be cut, if it has.

    Looks at the end alone, so call it after every token. A run counts as a loop once it stands there several times in a
    row: five times for one token, four for two, three for longer runs. Its first occurrence is kept.

    Returns:
        How many tokens to keep, or None.
    """
    tokens = list(tokens)
    for run in range(1, min(_LOOPS[-1][0], len(tokens) // 3) + 1):
        times = next(times for longest, times in _LOOPS if run <= longest)
        if len(tokens) >= run * times and tokens[-run * times :] == tokens[-run:] * times:
            return len(tokens) - run * (times - 1)
    return None


def is_speech(no_speech: float, confidence: float) -> bool:
    """Whether a transcription is one, or what Whisper says ("you", "Thank you.") when nobody spoke.

    Args:
        no_speech: How sure Whisper is that nobody spoke, 0 to 1.
        confidence: The mean log-probability of its tokens.
    """
    return no_speech <= _NOBODY and (no_speech <= _NO_SPEECH or confidence >= _UNSURE)


def say_once(text: str, speech_s: float) -> str:
    """A transcription without its own echo.

    Whisper sometimes says all that it heard twice. People do too, but not in the time of once: so where the letters are
    one phrase again and again (its last time perhaps cut short), and more than anyone says in `speech_s` seconds, only
    the first is kept.
    """
    at = [index for index, letter in enumerate(text) if letter.isalnum()]
    letters = [text[index].lower() for index in at]
    if len(letters) <= _FASTEST_LETTERS_PER_SECOND * speech_s:
        return text
    for phrase in range(1, len(letters) // 2 + 1):
        if letters[phrase:] == letters[:-phrase]:
            return text[: at[phrase]].rstrip()
    return text


def clean(text: str) -> str:
    """The words of a transcription; empty where it only describes a sound."""
    words = " ".join(_ASIDE.sub(" ", text).split())
    return words if any(letter.isalnum() for letter in words) else ""
