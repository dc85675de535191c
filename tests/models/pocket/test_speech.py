import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.models.pocket.speech import Speech

CLAUSES = st.lists(
    st.tuples(
        st.lists(st.sampled_from(["rain", "is", "water,", "2026.", "-", "falls"]), max_size=5), st.integers(0, 400)
    ),
    max_size=5,
)


def tone(samples: int, first: int = 0) -> np.ndarray:
    """Loud samples, each unlike any other of a session."""
    return (0.1 + np.arange(first, first + samples) / 1e5).astype(np.float32)


@settings(deadline=None, max_examples=150)
@given(CLAUSES, st.lists(st.integers(0, 300), max_size=12))
def test_no_sample_is_lost_or_doubled(clauses: list[tuple[list[str], int]], takes: list[int]) -> None:
    speech, added, taken = Speech(), [], []
    for at, (words, samples) in enumerate(clauses):
        audio = tone(samples, sum(map(len, added)))
        speech.add(" ".join(words), audio)
        added.append(audio)
        if at < len(takes):
            part = speech.take(takes[at])
            assert len(part) <= takes[at]
            taken.append(part)
    for samples in [*takes, 10**6]:
        before = speech.queued_samples
        part = speech.take(samples)
        assert len(part) == min(samples, before)
        assert part.dtype == np.float32
        taken.append(part)
    assert speech.queued_samples == 0
    assert np.array_equal(np.concatenate(taken), np.concatenate([*added, np.zeros(0, np.float32)]))


@settings(deadline=None, max_examples=150)
@given(CLAUSES, st.integers(0, 1000))
def test_said_and_unsaid_are_the_words_in_order_and_only_more_is_said(
    clauses: list[tuple[list[str], int]], taken: int
) -> None:
    speech = Speech()
    for words, samples in clauses:
        speech.add(" ".join(words), tone(samples))
    words = [word for clause, _ in clauses for word in clause]
    part = speech.take(taken)
    said_before = -1
    for unplayed in range(len(part), -1, -max(1, len(part) // 7)):
        said, unsaid = (text.split() for text in speech.told(unplayed))
        assert said + unsaid == words
        assert len(said) >= said_before
        said_before = len(said)
    speech.take(10**6)
    assert speech.told() == (" ".join(words), "")


def test_nothing_has_been_said_before_anything_sounds_and_a_word_cut_short_is_unsaid() -> None:
    speech = Speech()
    speech.add("Paris is big.", np.concatenate([tone(1200), np.zeros(600, np.float32)]))
    assert speech.told() == ("", "Paris is big.")
    speech.take(1000)
    assert speech.told(1000) == ("", "Paris is big.")
    assert speech.told() == ("Paris is", "big.")
    speech.take(201)
    assert speech.told(1) == ("Paris is big.", "")  # the rest after the clause need not have been played
    assert speech.told(2) == ("Paris is", "big.")


def test_a_number_takes_as_long_as_its_words() -> None:
    speech = Speech()
    speech.add("In 1795 it", tone(1000))
    speech.take(500)
    assert speech.told() == ("In", "1795 it")


def test_a_clause_with_nothing_to_say_is_said_as_its_turn_comes() -> None:
    speech = Speech()
    speech.add("Yes.", tone(100))
    speech.add("...", tone(0))
    assert speech.told() == ("", "Yes. ...")
    speech.take(100)
    assert speech.told() == ("Yes. ...", "")
