"""What can be spoken is spoken early, and no word is lost, doubled or moved."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.models.pocket.clauses import take_clause

TEXT = st.lists(
    st.sampled_from(
        "the rain falls on a roof, and it's 3.5 metres. Really? Yes! Dr. Smith said so; no - wait: 12 of them.".split()
    ),
    max_size=30,
).map(" ".join)


def spoken(text: str, sizes: list[int], *, hurry: bool) -> list[str]:
    """Write `text` in pieces of `sizes` characters and speak what can be spoken after each."""
    clauses, pending, at = [], "", 0
    for size in [*sizes, len(text)]:
        pending, at = pending + text[at : at + size], at + size
        complete = at >= len(text)
        while True:
            clause, pending_after = take_clause(pending, complete=complete, hurry=hurry)
            if not clause:
                break
            clauses.append(clause)
            pending = pending_after
        if complete:
            break
    assert not pending.strip()
    return clauses


@given(TEXT, st.lists(st.integers(1, 12), max_size=20), st.booleans())
def test_every_word_is_spoken_once_in_order(text: str, sizes: list[int], hurry: bool) -> None:
    assert re.sub(r"\s", "", "".join(spoken(text, sizes, hurry=hurry))) == re.sub(r"\s", "", text)


@given(TEXT, st.booleans(), st.booleans())
def test_a_clause_always_leaves_less(text: str, complete: bool, hurry: bool) -> None:
    clause, rest = take_clause(text, complete=complete, hurry=hurry)
    assert not clause or len(rest) < len(text)


@pytest.mark.parametrize(
    ("text", "complete", "hurry", "clause", "rest"),
    [
        ("The capital of France is Paris. It", False, False, "The capital of France is Paris.", "It"),
        ("Paris. It is", False, False, "Paris.", "It is"),
        ("Well, that is", False, False, "", "Well, that is"),  # too short to pause after
        ("When it is cold, water", False, False, "When it is cold,", "water"),
        ("It is about 3.", False, False, "", "It is about 3."),  # may become 3.5
        ("It is about 3.", True, False, "It is about 3.", ""),
        ("It is 3.5 metres. Yes", False, False, "It is 3.5 metres.", "Yes"),
        ("Rain is water that falls from clou", False, False, "", "Rain is water that falls from clou"),
        ("Rain is water that falls from clou", False, True, "Rain is water that falls", "from clou"),
        ("The sky", False, True, "", "The sky"),
        ("The sky", True, False, "The sky", ""),
        ("", True, True, "", ""),
    ],
)
def test_where_it_cuts(text: str, complete: bool, hurry: bool, clause: str, rest: str) -> None:
    assert take_clause(text, complete=complete, hurry=hurry) == (clause, rest)
