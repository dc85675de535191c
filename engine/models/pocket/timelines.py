"""Pocket's stages, declared: voice activity and hearing, words, voice. No torch and no weights."""

from engine.models.pocket.hearing_timelines import hearing_timelines
from engine.models.pocket.voice_timelines import voice_timelines
from engine.models.pocket.words_timelines import WordsSizes, words_timelines
from engine.stage import Timeline


def timelines(words: WordsSizes | None = None) -> tuple[Timeline, ...]:
    """All of Pocket's stages, in the order in which a unit meets them.

    Args:
        words: The sizes of the language model; SmolLM2-135M's by default.
    """
    return (*hearing_timelines(), *words_timelines(words or WordsSizes()), *voice_timelines())
