"""An answer's speech on its way out: clauses go in, units leave; it knows which words have sounded.

Knows words and samples; no model, no clock. Entered by the engine thread.
"""

from collections import deque
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from engine.models.pocket.spoken import as_spoken
from engine.step import AUDIBLE_LEVEL


@dataclass(frozen=True)
class Word:
    """A word of the answer, and the sample of its speech at which it has sounded."""

    text: str
    end: int


class Speech:
    """A queue of one answer's speech, cut a unit at a time.

    The voice tells no word apart, so a clause's audible part is shared out among its words by the length of what is
    said for each: a word's end is known to within a syllable or so.
    """

    def __init__(self) -> None:
        self._waiting: deque[NDArray[np.float32]] = deque()
        self._words: list[Word] = []
        self._added = self._taken = 0

    @property
    def queued_samples(self) -> int:
        """Samples that wait to be taken."""
        return self._added - self._taken

    def add(self, clause: str, audio: NDArray[np.float32]) -> None:
        """Queue a clause.

        Args:
            clause: Its text, as the transcript will show it.
            audio: Its speech, float32 [samples]; empty where there was nothing to say.
        """
        words = clause.split()
        audible = np.flatnonzero(np.abs(audio) >= AUDIBLE_LEVEL)
        start, end = (int(audible[0]), int(audible[-1]) + 1) if len(audible) else (0, len(audio))
        lengths = list(accumulate(len(as_spoken(word)) + 1 for word in words))
        for word, length in zip(words, lengths, strict=True):
            self._words.append(Word(word, self._added + start + (end - start) * length // lengths[-1]))
        if len(audio):
            self._waiting.append(audio)
        self._added += len(audio)

    def take(self, samples: int) -> NDArray[np.float32]:
        """The next samples, at most so many; fewer where the queue ends. float32 [samples]."""
        parts, left = [], samples
        while left > 0 and self._waiting:
            part = self._waiting.popleft()
            if len(part) > left:
                self._waiting.appendleft(part[left:])
                part = part[:left]
            parts.append(part)
            left -= len(part)
        self._taken += samples - left
        return np.concatenate(parts) if parts else np.zeros(0, np.float32)

    def told(self, unplayed_samples: int = 0) -> tuple[str, str]:
        """The words that have sounded, and those that have not.

        Args:
            unplayed_samples: Of those taken, the last ones, which have not been played. A word cut short counts as
                unsaid.
        """
        played = self._taken - unplayed_samples
        said = sum(word.end <= played for word in self._words)  # ends never fall
        texts = [word.text for word in self._words]
        return " ".join(texts[:said]), " ".join(texts[said:])
