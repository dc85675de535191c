"""Declarations that contradict themselves are refused in a full sentence."""

import pytest

from engine.clock import Rate
from engine.errors import AskedWrongly
from engine.stage import Order, Ring, StateSpec, T, Tail, Ticking, Timeline


@pytest.mark.parametrize(("options", "message"), [
    ({"shape": (4, 4)}, "exactly one time axis"),
    ({"shape": (T, T)}, "exactly one time axis"),
    ({"shape": (T, 0)}, "whole, positive sizes"),
    ({"shape": (T, "heads")}, "whole, positive sizes"),
    ({"dtype": "float64"}, "is float64; needed: one of float32"),
    ({"growth": 0}, "grows by 0"),
    ({"limit": 8, "initial": 8}, "fewer than its limit of 8"),
    ({"order": Order.BEFORE, "keep": Ring(4)}, "grows at its end"),
    ({"order": Order.BEFORE, "keep": Tail(4)}, "grows at its end"),
])  # fmt: skip
def test_a_state_that_cannot_be(options, message):
    with pytest.raises(AskedWrongly, match=message):
        StateSpec("keys", **{"shape": (2, T), **options})


@pytest.mark.parametrize(("options", "message"), [
    ({"chunk": 0}, "a chunk of 0"),
    ({"chunk": 4, "least": 5}, "waits for 5 ticks"),
    ({"least": 5}, "waits for 5 ticks"),
    ({"chunk": 4, "look_ahead": -1}, "negative"),
    ({"context": (0, -1)}, "negative"),
    ({"look_ahead": 3}, "looks ahead without a chunk"),
    ({"primed": 3}, "looks ahead without a chunk"),
    ({"grain": 0}, "a grain of 0"),
    ({"grain": 2, "chunk": 4}, "a grain of 2"),
    ({"yields": 0}, "yields 0 ticks"),
    ({"drive": Ticking(Rate(0))}, "ticks at 0 Hz"),
    ({"states": (StateSpec("keys", (T,)), StateSpec("keys", (T, 2)))}, "names a state twice"),
])  # fmt: skip
def test_a_stage_that_cannot_be(options, message):
    with pytest.raises(AskedWrongly, match=message):
        Timeline("stage", **{"drive": Ticking(Rate(1)), "tick": "frame", **options})


def test_a_state_knows_its_tick():
    assert StateSpec("keys", (36, 2, T, 8, 128), "bfloat16").item_shape == (36, 2, 8, 128)
