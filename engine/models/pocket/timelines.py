"""Pocket's stages, declared: voice activity and hearing, words, voice. No torch and no weights."""

from engine.models.pocket.hearing_timelines import hearing_timelines
from engine.models.pocket.voice_timelines import voice_timelines
from engine.models.pocket.words_timelines import SMOLLM2, WordsSizes, words_timelines
from engine.stage import Timeline

LONGEST_HEARD_S = 10  # a longer turn is heard in pieces, so that the unit that answers it stays short


def timelines(words: WordsSizes | None = None) -> tuple[Timeline, ...]:
    """All of Pocket's stages, in the order in which a unit meets them.

    Args:
        words: The sizes of the language model; SmolLM2-135M's by default.
    """
    return (*hearing_timelines(LONGEST_HEARD_S), *words_timelines(words or SMOLLM2), *voice_timelines())
