import io
import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.pace import duration
from app.terminal import SAY_EVERY_S, TerminalProgress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Hand:
    """A clock that is moved by hand."""

    now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def lines_of(terminal: io.StringIO) -> list[str]:
    """What each rewriting of the line showed."""
    return [line.rstrip() for line in terminal.getvalue().replace("\r", "\n").splitlines() if line.strip()]


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.2, "0 s"), (99, "99 s"), (125, "2 min 05 s"), (5999, "99 min 59 s"), (7260, "2 h 01 min")]
)
def test_durations_read_as_people_say_them(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_a_terminal_sees_bytes_rate_and_time_left_move_in_one_line() -> None:
    terminal, hand = Terminal(), Hand()
    progress = TerminalProgress(terminal, hand, lambda: 100)
    progress.begin("words from PyPI", 90_000_000)
    for second in range(10):
        progress.at(second * 3_000_000)
        hand.now_s += 1
    progress.at(30_000_000)
    assert lines_of(terminal)[-1] == "words from PyPI  [########----------------]  30.0 of 90.0 MB  3.0 MB/s  20 s left"
    assert "\n" not in terminal.getvalue()
    progress.say("words: ready")
    assert terminal.getvalue().endswith(" \rwords: ready\n")


def test_what_was_there_before_is_not_taken_for_speed() -> None:
    terminal, hand = Terminal(), Hand()
    progress = TerminalProgress(terminal, hand, lambda: 100)
    progress.begin("words from PyPI", 90_000_000)
    progress.at(60_000_000)
    hand.now_s += 2
    progress.at(62_000_000)
    assert "1.0 MB/s  28 s left" in lines_of(terminal)[-1]


def test_where_nothing_comes_it_says_that_it_waits() -> None:
    terminal, hand = Terminal(), Hand()
    progress = TerminalProgress(terminal, hand, lambda: 100)
    progress.begin("words from PyPI", 90_000_000)
    for _ in range(3):
        hand.now_s += 1
        progress.at(0)
    assert lines_of(terminal)[-1].endswith("0 B of 90.0 MB  waiting")


@settings(deadline=None, max_examples=40)
@given(columns=st.integers(1, 200), share=st.floats(0, 1))
def test_the_moving_line_always_fits_and_covers_the_one_before(columns: int, share: float) -> None:
    terminal, hand = Terminal(), Hand()
    progress = TerminalProgress(terminal, hand, lambda: columns)
    progress.begin("a weight of some name from somewhere", 90_000_000)
    for step in (0, share, 1):
        hand.now_s += 1
        progress.at(int(step * 90_000_000))
    written = terminal.getvalue().split("\r")[1:]
    assert len(written) == 3
    for before, after in itertools.pairwise(written):
        assert len(after.rstrip()) <= max(columns - 1, 0)
        assert len(after) >= len(before.rstrip())


@settings(deadline=None, max_examples=40)
@given(steps_s=st.lists(st.floats(0.01, 3), min_size=1, max_size=80))
def test_where_nobody_watches_a_line_comes_every_few_seconds_at_most(steps_s: list[float]) -> None:
    pipe, hand = io.StringIO(), Hand()
    progress = TerminalProgress(pipe, hand, lambda: 80)
    progress.begin("words from PyPI", 1_000_000)
    for count, step_s in enumerate(steps_s):
        hand.now_s += step_s
        progress.at(count)
    lines = pipe.getvalue().splitlines()
    assert "\r" not in pipe.getvalue()
    assert len(lines) <= sum(steps_s) / SAY_EVERY_S
    assert len(lines) >= sum(steps_s) // (SAY_EVERY_S + 3)


def test_a_long_phase_that_was_finished_leaves_a_line_and_others_do_not() -> None:
    pipe, hand = io.StringIO(), Hand()
    progress = TerminalProgress(pipe, hand, lambda: 80)
    for took_s, done in ((1, 100), (10, 60), (10, 100)):
        progress.begin("words from PyPI", 100)
        hand.now_s += took_s
        pipe.truncate(0)
        pipe.seek(0)
        progress.at(done)
        pipe.truncate(0)
        pipe.seek(0)
        progress.end()
        assert pipe.getvalue() == ("words from PyPI: 100 B in 10 s\n" if (took_s, done) == (10, 100) else "")


def test_a_phase_without_a_size_shows_how_long_it_takes() -> None:
    terminal, hand = Terminal(), Hand()
    progress = TerminalProgress(terminal, hand, lambda: 80)
    progress.begin("words: converting")
    hand.now_s += 12
    progress.at(5)
    assert lines_of(terminal) == ["words: converting  12 s"]
