"""A log looked at in any order is told as one that was watched from its start."""

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.live import replayed
from app.live.replayed import Replayed
from engine.timing import Record, SessionHeader
from tests.made_up_sessions import conversation, header

UNITS = 90


@dataclass
class Held:
    """A log in memory."""

    header: SessionHeader
    kept: list[Record]

    def records(self) -> list[Record]:
        return self.kept


def held() -> Any:
    return Held(header(), list(conversation(UNITS)))


@pytest.fixture(autouse=True, scope="module")
def _marks_close_together() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(replayed, "LEAST_UNITS", 7)
        yield


@given(st.lists(st.integers(-1, UNITS + 1), min_size=1, max_size=12))
def test_what_is_told_of_a_moment_does_not_depend_on_where_one_was_before(seconds: list[int]) -> None:
    wandering = Replayed(held())
    for second in seconds:
        now_ns = round((second + 0.5) * 1e9)
        assert wandering.at(now_ns) == Replayed(held()).at(now_ns)


def test_figures_count_every_unit_that_is_done() -> None:
    session = Replayed(held())
    for second in (80, 3, 60, 0, 89):
        seen = session.at(round(second * 1e9))
        done = sum(unit.finish_ns <= second * 1e9 for unit in held().kept if hasattr(unit, "finish_ns"))
        assert (seen.figures.units if seen.figures else 0) == done
