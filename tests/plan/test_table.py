"""The table says what the plan says, for every model and however short the session."""

import pytest

from engine.models.minicpm_o import timelines as minicpm_o
from engine.models.moshi import timelines as moshi
from engine.models.step_audio2 import timelines as step_audio2
from engine.phrases import size
from engine.plan import plan

PLANS = [
    pytest.param(minicpm_o.timelines(prompt=85), 600, id="minicpm_o"),
    pytest.param(step_audio2.timelines(), 45, id="step_audio2"),
    pytest.param(moshi.timelines(), None, id="moshi"),
]


@pytest.mark.parametrize(("timelines", "session_s"), PLANS)
def test_every_stage_and_state_stands_in_the_table(timelines, session_s):
    made = plan(timelines, script="LLSSSSF13" if session_s == 600 else "LLSSSSF", session_s=session_s)
    text = made.describe()

    for name in (*(line.name for line in timelines), *(state.name for state in made.states)):
        assert f"  {name} " in text
    assert size(made.max_bytes) in text
    assert f"{size(made.bytes_at(9))}" in text
    assert all(line == line.rstrip() for line in text.splitlines())


def test_the_flows_shapes_are_spelt_out():
    text = plan(minicpm_o.timelines(prompt=85), script="LSSSSF13", session_s=60).describe()

    line = next(line for line in text.splitlines() if line.startswith("  flow_encoder   cycle"))
    assert line.endswith(
        "- | (28, 85, 170) | (28, 110, 220) | (28, 135, 270) | (28, 135, 270) | (16, 135, 270) + (3, 135, 270) last"
    )


def test_a_session_too_short_says_so():
    text = plan(minicpm_o.timelines(), script="L", session_s=5).describe()

    assert "ends after 5 units" in text
    row = next(line for line in text.splitlines() if line.startswith("  all ")).split()
    assert row.count("-") == 2  # at 10 s and at 60 s
