"""The table says what the plan says, for every model and however short the session."""

import pytest

from engine.models.minicpm_o import timelines as minicpm_o
from engine.models.moshi import timelines as moshi
from engine.models.step_audio2 import timelines as step_audio2
from engine.phrases import size
from engine.plan import plan
from engine.plan.table import _sizes
from engine.stage import Quota, Timeline

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


@pytest.mark.parametrize(("timelines", "session_s"), PLANS)
def test_every_graph_is_told(timelines, session_s):
    made = plan(timelines, session_s=session_s)
    title, _, *rows = made.describe().partition("\nGraphs: ")[2].splitlines()

    eager = {line.name for line in timelines if line.eager}
    told = sum(int(row.split(")")[1].removeprefix(" last").split()[0]) for row in rows if row.split()[0] not in eager)
    assert told == int(title.split()[0]) == sum(one.stage not in eager for one in made.shapes)


def test_sizes_that_go_up_in_steps_are_told_as_a_range():
    line = Timeline("hearing", Quota(speak=(650,), sizes=tuple(range(200, 700, 50))), "frame")
    rows = plan((line,), script="S").describe().splitlines()[-2:]

    assert [" ".join(row.split()) for row in rows] == [
        "hearing (650) 1 1.00 0 unit 0", "hearing (200 to 600 step 50) 9 0.00 0 as the input asks",
    ]  # fmt: skip


@pytest.mark.parametrize(("values", "text"), [
    ((5,), "5"), ((8, 5), "5 or 8"), ((3, 2, 1), "1 to 3"), ((1, 2, 4), "1 or 2 or 4"), 
    (range(0, 99, 9), "0 to 90 step 9"),    ((1, 2, 3, 5, 9), "1 to 9, 5 of them"), ((7, 7), "7"),
])  # fmt: skip
def test_sizes_read_well(values, text):
    assert _sizes(values) == text
