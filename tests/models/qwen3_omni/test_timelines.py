"""Qwen3-Omni's declared course; its tail's bytes stand with the tail."""

import pytest

from engine.errors import AskedWrongly
from engine.models.qwen3_omni.timelines import timelines
from engine.models.registry import find
from engine.plan import plan


def test_a_second_of_speech_is_twelve_or_thirteen_frames_of_sixteen_codes():
    made = plan(timelines(), script="L(S)", session_s=60)

    for index, frames in ((1, 12), (2, 13), (3, 12), (4, 13)):
        stages = made.unit(index).stages
        assert len(stages["talker"].launches) == frames
        assert [one.shape for one in stages["code_predictor"].launches] == [(16,)] * frames
        assert stages["code2wav"].ticks == 1920 * frames
    assert made.cycles["code2wav"].length == 2


def test_what_no_clock_decides_is_declared_and_runs_eagerly():
    made = find("qwen3-omni-30b-a3b").load_plan()

    assert {line.name for line in made.timelines if line.eager} == {
        "thinker_prefill", "thinker", "talker_prefill", "talker",
    }  # fmt: skip


def test_a_predictor_holds_one_frame_and_a_talker_its_positions():
    made = find("qwen3-omni-30b-a3b").load_plan()
    most = {state.name: state.max_ticks for state in made.states}

    assert most["code_predictor.keys_values"] == 16
    assert most["talker_prefill.keys_values"] == 32_768


@pytest.mark.parametrize("seconds", [0, 301])
def test_a_question_is_of_a_length_that_can_be_heard(seconds):
    with pytest.raises(AskedWrongly, match="between 1 and 300 s"):
        timelines(question_s=seconds)
