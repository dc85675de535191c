"""Scripts: what is written is what is played."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import AskedWrongly
from engine.plan.script import Script, ScriptUnit

units = st.builds(ScriptUnit, st.sampled_from("LSF"), st.none() | st.integers(0, 999))
scripts = st.builds(Script, st.lists(units, max_size=5).map(tuple), st.lists(units, min_size=1, max_size=5).map(tuple))


@given(script=scripts)
def test_a_script_is_read_as_it_is_written(script):
    assert Script.parse(str(script)) == script


@given(script=scripts, index=st.integers(0, 100))
def test_the_start_is_played_once_and_the_cycle_for_ever(script, index):
    played = [*script.start, *script.cycle * 101]
    assert script.at(index) == played[index]


def test_without_parentheses_all_of_it_repeats():
    script = Script.parse("LLS17 F")

    assert [str(script.at(index)) for index in range(6)] == ["L", "L", "S17", "F", "L", "L"]


@pytest.mark.parametrize("text", ["", "()", "LL()", "LLX", "17L", "L(S", "L(S)F", "lls", "S-3"])
def test_what_is_not_a_script_is_refused(text):
    with pytest.raises(AskedWrongly, match="units like LLSSSF"):
        Script.parse(text)
