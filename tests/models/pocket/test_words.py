from collections.abc import Sequence
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.models.pocket.words import CHARACTER_TOKENS, ENOUGH_TOKENS, LOOP, Words, repeating
from engine.models.pocket.words_timelines import MAX_ANSWER_TOKENS, TOKENS_A_UNIT

END = 0
HALVES = list("¹²")  # two tokens that make one character together, as bytes do
LETTERS = ["", *"abcdefghijklmnop", " q", " r", *HALVES, ".", "\n", "?"]
HALF = [LETTERS.index(half) for half in HALVES]
KEPT = (1, 2, 3, 4, 5)


class Letters:
    """A chat whose tokens are letters."""

    kept = KEPT
    ends = frozenset({END})

    def question(self, text: str) -> list[int]:
        return [LETTERS.index(letter) for letter in text]

    def text(self, tokens: Sequence[int]) -> str:
        text = "".join(LETTERS[token] for token in tokens).replace("¹²", "é")
        return "".join("\N{REPLACEMENT CHARACTER}" if letter in HALVES else letter for letter in text)


class Script:
    """A language that would say one thing after every prompt, and notes what it reads."""

    def __init__(self, answer: Sequence[int]) -> None:
        self.answer = [*answer, END]
        self.past: list[int] = []
        self._kept = 0

    def read(self, tokens: Sequence[int]) -> torch.Tensor:
        assert tokens
        self.past += tokens
        said = len(self.past) - self._prompt()
        logits = torch.linspace(0, -1, len(LETTERS))  # what is blocked gives way to the next best
        logits[self.answer[min(said, len(self.answer) - 1)]] = 5.0
        return logits

    def keep(self) -> None:
        self._kept = len(self.past)

    def forget(self) -> None:
        del self.past[self._kept :]

    def _prompt(self) -> int:
        return self.past.index(len(LETTERS) - 1) + 1 if len(LETTERS) - 1 in self.past else len(self.past)


def words(answer: Sequence[int]) -> tuple[Words, Script]:
    script, chat = Script(answer), Letters()
    made: Any = Words(script, chat)  # type: ignore[arg-type]
    made.prepare()
    return made, script


def told(made: Words, pieces: Sequence[int]) -> list[int]:
    made.start_turn(made.question("ab?"))
    tokens: list[int] = []
    for most in [*pieces, *[3] * MAX_ANSWER_TOKENS]:
        if made.finished:
            break
        piece = made.decode(most)
        assert len(piece) <= most + 3
        assert made.finished or most < 5 or piece
        tokens += piece
    assert made.finished
    assert made.decode() == []
    return tokens


ANSWERS = st.lists(st.integers(1, len(LETTERS) - 2), max_size=90)


@settings(deadline=None, max_examples=150)
@given(ANSWERS, st.lists(st.integers(1, 12), max_size=20))
def test_pieces_of_any_size_make_the_same_answer(answer: list[int], pieces: list[int]) -> None:
    made, _ = words(answer)
    assert told(made, pieces) == told(made, [MAX_ANSWER_TOKENS])


@settings(deadline=None, max_examples=150)
@given(st.lists(st.sampled_from([17, 18, 1, 2]), max_size=90))
def test_an_answer_ends_and_never_goes_in_circles(answer: list[int]) -> None:
    tokens = told(words(answer)[0], [])
    assert len(tokens) <= MAX_ANSWER_TOKENS
    runs = [tuple(tokens[at : at + LOOP]) for at in range(len(tokens) - LOOP + 1)]
    assert len(runs) == len(set(runs))
    assert END not in tokens


@settings(deadline=None, max_examples=200)
@given(st.lists(st.integers(0, 3), max_size=40), st.integers(2, 5))
def test_repeating_forbids_just_what_would_repeat(said: list[int], loop: int) -> None:
    runs = {tuple(said[at : at + loop]) for at in range(len(said) - loop + 1)}
    for token in range(4):
        last = tuple([*said, token][-loop:])
        assert (token in repeating(said, loop)) == (len(last) == loop and last in runs)


@settings(deadline=None, max_examples=150)
@given(st.lists(st.sampled_from([1, 2, *HALF]), max_size=40), st.integers(1, 12))
def test_no_piece_ends_within_a_character(answer: list[int], most: int) -> None:
    made, script = words(answer)
    made.start_turn(made.question("ab?"))
    told: list[int] = []
    while not made.finished:
        before = len(script.past)
        piece = made.decode(most)
        assert len(script.past) - before <= most
        told += piece
        broken = Letters().text(piece).endswith("\N{REPLACEMENT CHARACTER}")
        assert made.finished or not broken or len(piece) >= CHARACTER_TOKENS
        # What the plan reckons with: tokens told, and those of the next call.
        assert len(script.past) <= len(KEPT) + 3 + len(told) + CHARACTER_TOKENS - 1
    assert told == [*script.past[len(KEPT) + 3 :]]


def spelt(text: str) -> list[int]:
    made: list[int] = []
    while text:
        letter = next(one for one in LETTERS[1:] if text.startswith(one))
        made.append(LETTERS.index(letter))
        text = text.removeprefix(letter)
    return made


@pytest.mark.parametrize(
    ("would_say", "says"),
    [
        ("abc. q", "abc. q"),  # a short first sentence may be followed by another
        ("abcdefghijk. qabc", "abcdefghijk."),
        ("abc. qdefghijkl. r", "abc. qdefghijkl."),
        ("abcdefghijklm.no. q", "abcdefghijklm.no."),  # a point inside a word ends nothing
        ("abc.\n q", "abc."),
        ("\nabc", ""),
        ("", ""),
    ],
)
def test_says_a_sentence_or_two(would_say: str, says: str) -> None:
    made, _ = words(spelt(would_say))
    assert made.text_of(told(made, [])) == says
    assert ENOUGH_TOKENS == 12


def test_every_turn_begins_with_what_is_kept() -> None:
    made, script = words(spelt("abc. q"))
    assert script.past == list(KEPT)
    first = told(made, [])
    assert script.past[: len(KEPT)] == list(KEPT)
    assert told(made, []) == first
    made.start_turn(made.question("cd?"))
    made.decode(2)
    made.reset_turn()
    assert script.past == list(KEPT)
    assert made.finished
    assert made.decode() == []
    assert told(made, [1, 1]) == first


def test_a_turn_reads_its_question_and_each_of_its_tokens_once() -> None:
    made, script = words(spelt("abcdefgh"))
    tokens = told(made, [])
    assert script.past == [*KEPT, *made.question("ab?"), *tokens]
    assert len(words(spelt("abcdefghijklmnop"))[0].question("ab?")) == 3


def test_preparing_reads_nothing_beyond_what_is_kept() -> None:
    script = Script([])
    most = 0
    read = script.read

    def noted(tokens: Sequence[int]) -> torch.Tensor:
        nonlocal most
        logits = read(tokens)
        most = max(most, len(script.past))
        return logits

    script.read = noted  # type: ignore[method-assign]
    chat = Letters()
    chat.kept = tuple(range(1, 16)) + KEPT  # type: ignore[misc]
    Words(script, chat).prepare()  # type: ignore[arg-type]
    assert most == len(chat.kept)
    assert script.past == list(chat.kept)


def test_a_unit_has_time_for_as_many_tokens_as_are_declared() -> None:
    made, _ = words(spelt("abcdefghijklmnop"))
    made.start_turn(made.question("ab?"))
    assert len(made.decode()) == TOKENS_A_UNIT
