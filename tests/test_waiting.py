"""Dead air runs from the end of the user's voice until an answer is heard, and a response delay is all of it."""

import numpy as np
import pytest

from engine.clock import NS
from engine.step import Event, Outcome
from engine.waiting import Waiting
from tests.fakes import tone

LISTENED = Outcome(Event.LISTEN)


def waiting() -> Waiting:
    return Waiting(16_000, 24_000)


def after(second: int, **more: object) -> dict[str, object]:
    """What the session says once second `second` (from 1) has been heard."""
    return {
        "awaited_since": None,
        "heard_samples": second * 16_000,
        "heard_ns": second * NS,
        "sounds_at_ns": None,
    } | more


def test_nobody_waits_before_anybody_spoke() -> None:
    quiet = waiting()
    assert quiet.dead_air_ms(5 * NS) == 0
    assert quiet.unit(LISTENED, **after(1)) is None
    assert quiet.dead_air_ms(5 * NS) == 0


def test_dead_air_grows_until_the_answer_is_audible() -> None:
    asked = waiting()
    asked.unit(LISTENED, **after(2, awaited_since=24_000))
    assert asked.dead_air_ms(2 * NS) == 500
    assert asked.dead_air_ms(3 * NS) == 1500
    quiet_then_loud = np.concatenate([np.zeros(2_400, np.float32), tone(0.5)])
    answer = Outcome(Event.SPEAK, quiet_then_loud, last_voiced_sample=24_000)
    delay_ms = asked.unit(answer, **after(3, sounds_at_ns=4 * NS))
    assert delay_ms == pytest.approx(2600)
    assert asked.dead_air_ms(4 * NS) == 2500
    asked.unit(Outcome(Event.SPEAK, tone(1)), **after(4, sounds_at_ns=5 * NS))
    assert asked.dead_air_ms(4 * NS) == 2500  # another unit is done before the answer sounds
    assert asked.dead_air_ms(4 * NS + NS // 10) == 0


def test_an_answer_that_nobody_hears_is_none() -> None:
    cut = waiting()
    answer = Outcome(Event.SPEAK, tone(1), last_voiced_sample=24_000)
    assert cut.unit(answer, **after(2)) is None
    assert cut.dead_air_ms(3 * NS) == 1500
    cut.unit(Outcome(Event.FLUSH, flush=True), **after(3))
    assert cut.dead_air_ms(4 * NS) == 0


def test_a_user_who_goes_on_waits_no_more() -> None:
    talking = waiting()
    talking.unit(LISTENED, **after(2, awaited_since=24_000))
    talking.unit(LISTENED, **after(3))
    assert talking.dead_air_ms(4 * NS) == 0
