"""No sample of an answer is lost, and what was said and what was not are all of its words, in order."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from engine.models.pocket.speech import Speech

CLAUSES = st.lists(st.tuples(st.sampled_from(["Rain is water,", "It falls.", "Yes!"]), st.integers(0, 90)), max_size=6)


@given(CLAUSES, st.lists(st.integers(0, 70), max_size=12))
def test_every_sample_leaves_once_in_order(clauses: list[tuple[str, int]], takes: list[int]) -> None:
    speech, sent = Speech(), []
    for number, (text, samples) in enumerate(clauses):
        audio = np.arange(samples, dtype=np.float32) + 100 * number
        speech.add(text, audio)
        sent.append(audio)
    taken = [speech.take(count) for count in takes]
    assert all(len(got) <= count for got, count in zip(taken, takes, strict=True))
    whole = np.concatenate([*taken, speech.take(10_000)])
    assert np.array_equal(whole, np.concatenate([np.zeros(0, np.float32), *sent]))
    assert speech.queued_samples == 0


@given(CLAUSES, st.integers(0, 500), st.integers(0, 500))
def test_every_word_is_said_or_unsaid(clauses: list[tuple[str, int]], takes: int, unplayed: int) -> None:
    speech = Speech()
    for text, samples in clauses:
        speech.add(text, np.zeros(samples, np.float32))
    taken = len(speech.take(takes))
    said, unsaid = speech.told(min(unplayed, taken))
    words = " ".join(text for text, _ in clauses).split()
    assert said.split() + unsaid.split() == words or not words


def test_a_word_is_said_once_half_of_it_has_sounded() -> None:
    speech = Speech()
    speech.add("Rain falls", np.zeros(90, np.float32))  # four letters and five: 40 samples and 50
    speech.take(90)
    assert speech.told(90) == ("", "Rain falls")
    assert speech.told(90 - 20) == ("Rain", "falls")
    assert speech.told(90 - 64) == ("Rain", "falls")
    assert speech.told(90 - 65) == ("Rain falls", "")
