import re
import tomllib
from datetime import datetime
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.models.pocket.arithmetic import calculate
from engine.models.pocket.intents import FASTEST, SLOWEST, Context, Figures, find_intent
from engine.models.pocket.numbers import in_words

NOW = datetime(2026, 3, 12, 15, 20)
QUESTIONS = Path(__file__).parents[3] / "assets" / "questions" / "questions.toml"


def understood(text: str, **context: object) -> str | None:
    intent = find_intent(text, Context(NOW, **context))  # type: ignore[arg-type]
    return intent.name if intent else None


def said(text: str, **context: object) -> str:
    intent = find_intent(text, Context(**{"now": NOW, **context}))  # type: ignore[arg-type]
    assert intent is not None, text
    return intent.say


UNDERSTOOD = """
time: What time is it? | What's the time? | what is the time now | Tell me the time, please. | Do you have the time?
time: Hello, can you tell me what time it is? | Could you please tell me the time? | Do you know what time it is?
time: Whats the time | What\u2019s the current time? | Time, please.
date: What is today's date? | What's the date today? | What day is it? | Which day of the week is it? | what year is it
date: What date is it today? | What is the day today? | What day is tomorrow? | What month is it? | Today's date?
cadence: How is your cadence? | How's your cadence doing? | How is the cadence? | Are you on time?
cadence: Are you keeping up? | How are your cadences? | How is your Cadents? | Tell me about your cadence.
stop: Stop. | Stop! Stop! | Please stop. | Be quiet. | Stop talking, please. | That's enough. | Okay, stop.
repeat: Repeat that. | Can you say that again, please? | What did you say? | Pardon? | Could you repeat that? | Sorry?
repeat: I didn't catch that.
slower: Please speak a little slower. | Slow down. | Can you speak more slowly? | Slower, please. | You're too fast.
slower: Could you talk a bit slower? | Not so fast!
faster: Speak faster. | A bit faster, please. | Speed up. | Could you speak more quickly?
pace: Speak normally. | Please speak at your normal speed.
arithmetic: How much is 7 times 8? | What's seven times eight? | 7 x 8 | What is 45 - 17? | Add 5 and 6.
arithmetic: What is half of 9? | How much is 20% of 50? | What does three plus four make? | Subtract 3 from 10.
arithmetic: Calculate 2 to the power of 10 | What is the sum of 4 and 5? | two plus to | What is 1,200 divided by 12?
arithmetic: What is minus five plus three? | Can you multiply six by seven? | What is 7 x 8 equal to?
greeting: Hello. | Hi there! | Good morning.
thanks: Thank you. | Thanks a lot!
goodbye: Goodbye. | Bye bye!
self: Who are you? | What's your name?
help: What can you do? | Help!
"""
WORDINGS = [
    (name, text.strip())
    for name, texts in (line.split(":", 1) for line in UNDERSTOOD.strip().splitlines())
    for text in texts.split("|")
]
LEFT_TO_THE_MODEL = """
What time is it in Tokyo? | When did the war stop? | What is the capital of France? | Tell me something about rain.
How many days are in a week? | Why do people say thank you? | What is the date of Christmas? | What is time?
What is a cadence in music? | How fast is light? | Who said enough is enough? | What is the first month of the year?
How much is a car? | What is seven? | What is one over? | Count to ten. | What year did Rome fall? | How are you?
What is the opposite of stop? | Hello, who wrote Hamlet? | Repeat after me: rain. | What does slower mean?
How many times a day should I eat? | What day is Christmas? | What day was Napoleon born? | Help me write a poem.
Is seven times eight fifty-six? | Sing seven plus eight songs | What is a day? | What is a date? | ... | you | -
"""


@pytest.mark.parametrize(("name", "text"), WORDINGS)
def test_many_wordings_are_understood(name: str, text: str) -> None:
    assert understood(text) == name


@pytest.mark.parametrize("text", ["", *(text.strip() for text in re.split(r"[|\n]", LEFT_TO_THE_MODEL.strip()))])
def test_questions_for_the_model_are_left_to_it(text: str) -> None:
    assert understood(text) is None


def test_every_spoken_question_goes_to_whom_it_was_meant_for() -> None:
    for question in tomllib.loads(QUESTIONS.read_text())["question"]:
        assert (find_intent(question["text"], Context(NOW)) is None) == (question["by"] == "model"), question["text"]


@pytest.mark.parametrize(
    ("hour", "minute", "reply"),
    [
        (0, 5, "It is 12:05 at night."),
        (5, 0, "It is 5 o'clock in the morning."),
        (12, 0, "It is 12 o'clock in the afternoon."),
        (15, 20, "It is 3:20 in the afternoon."),
        (18, 1, "It is 6:01 in the evening."),
        (23, 59, "It is 11:59 at night."),
    ],
)
def test_the_time_is_the_clocks(hour: int, minute: int, reply: str) -> None:
    assert said("What time is it?", now=datetime(2026, 3, 12, hour, minute)) == reply


def test_the_date_is_the_clocks_across_a_years_end() -> None:
    eve = datetime(2026, 12, 31, 23, 59)
    assert said("What's today's date?", now=eve) == "Today is Thursday, December 31, 2026."
    assert said("What day is it tomorrow?", now=eve) == "Tomorrow is Friday, January 1, 2027."
    assert said("What was yesterday's date?", now=eve) == "Yesterday was Wednesday, December 30, 2026."
    assert said("What year is it?", now=eve) == "It is the year 2026."
    assert said("Which month is it?", now=eve) == "It is December."


def test_the_cadence_is_told_as_it_is() -> None:
    asked = "How is your cadence?"
    assert "on time" in said(asked, figures=Figures(42, 0, 612.4))
    assert "610 milliseconds" in said(asked, figures=Figures(42, 0, 612.4))
    late = said(asked, figures=Figures(42, 3, 612.4))
    assert late.startswith("3 of 42 seconds were late")
    assert "610 milliseconds" in late
    assert "on time" not in late
    hopeless = said(asked, figures=Figures(42, 41, -1200.0))
    assert "too slow" in hopeless
    assert "1200" not in hopeless
    assert said(asked, figures=Figures()).startswith("My first second")


def test_the_last_reply_is_repeated() -> None:
    assert said("Say that again.", last_reply="It rains.") == "It rains."
    assert said("Say that again.") == "I have not said anything yet."


def test_pace_goes_down_and_up_within_bounds() -> None:
    pace = 1.0
    for wording, bound in (("Slow down.", SLOWEST), ("Speak faster.", FASTEST)):
        seen = [pace]
        while (intent := find_intent(wording, Context(NOW, pace=seen[-1]))) and intent.pace is not None:
            seen.append(intent.pace)
        assert seen[-1] == bound
        assert len(seen) > 2
        assert seen == sorted(seen, reverse=bound == SLOWEST)
        pace = seen[-1]
    assert find_intent("Speak normally.", Context(NOW, pace=pace)).pace == 1.0  # type: ignore[union-attr]


OPERATORS = {"plus": "+", "minus": "-", "times": "*", "divided by": "/"}
TERMS = st.tuples(st.sampled_from(sorted(OPERATORS)), st.integers(0, 99))
HEARD = "what is 3 0 7.5 plus minus times over power of the percent to for and stop half".split()


@settings(deadline=None, max_examples=200)
@given(st.integers(0, 9999), st.lists(TERMS, min_size=1, max_size=4), st.booleans())
def test_sums_are_right_in_words_and_in_digits(first: int, rest: list[tuple[str, int]], words: bool) -> None:
    write = in_words if words else str
    spoken = write(first) + "".join(f" {operator} {write(value)}" for operator, value in rest)
    reply = said(f"What is {spoken}?")
    # The check's own arithmetic: Python's parser on the same sum, with exact numbers.
    written = f"F({first})" + "".join(f"{OPERATORS[operator]}F({value})" for operator, value in rest)
    try:
        expected = eval(written, {"F": Fraction})
    except ZeroDivisionError:
        assert "zero" in reply
        return
    value = reply.rsplit(" is ", 1)[1].rstrip(".").replace("about ", "").replace("minus ", "-")
    assert abs(Fraction(value) - expected) <= Fraction(1, 2000)
    assert ("about" in reply) == ((expected * 1000).denominator != 1)


@pytest.mark.parametrize(
    ("asked", "reply"),
    [
        ("How much is seven times eight?", "7 times 8 is 56."),
        ("What is 2 plus 3 times 4?", "2 plus 3 times 4 is 14."),
        ("What is ten divided by four?", "10 divided by 4 is 2.5."),
        ("What is 10 divided by 3?", "10 divided by 3 is about 3.333."),
        ("What is 20 percent of 50?", "20 percent of 50 is 10."),
        ("What is three minus ten?", "3 minus 10 is minus 7."),
        ("What is five squared?", "5 squared is 25."),
        ("What is two to the power of ten?", "2 to the power of 10 is 1024."),
        ("What is 3.5 plus 1.5?", "3.5 plus 1.5 is 5."),
        ("Divide 9 by zero.", "Nothing can be divided by zero."),
        ("What is 9 to the power of 99?", "That number is too large for me."),
        ("What is 9 to the power of 9 to the power of 9?", "That number is too large for me."),
    ],
)
def test_sums_are_said_as_they_were_asked(asked: str, reply: str) -> None:
    assert said(asked) == reply


@settings(deadline=None, max_examples=300)
@given(st.lists(st.sampled_from(HEARD), max_size=12) | st.text(max_size=30).map(lambda text: [text]))
def test_nothing_that_is_heard_can_break_it(words: list[str]) -> None:
    text = " ".join(words)
    first, second = find_intent(text, Context(NOW)), find_intent(text.upper(), Context(NOW))
    assert first == find_intent(text, Context(NOW))
    if text.isascii():
        assert first == second


@settings(deadline=None, max_examples=100)
@given(st.text(max_size=40))
def test_no_sum_no_answer(text: str) -> None:
    if not any(character.isdigit() for character in text):
        assert calculate(text) is None or any(word in text for word in ("two", "one", "ten", "six", "nine", "zero"))
