"""Qwen2.5-Omni's declared course and bytes by hand."""

import pytest

from engine.clock import Rate
from engine.errors import AskedWrongly
from engine.models.qwen2_5_omni.timelines import timelines, token2wav
from engine.models.registry import find
from engine.plan import plan
from engine.stage import Ticking, Timeline

MIB = 2**20
CODES = Timeline("talker", Ticking(Rate(50), speech=True), "code", chunk=1)


def test_a_second_is_one_window_of_one_length_once_there_is_a_past():
    made = plan((CODES, *token2wav("talker")), script="S20 (S)")

    flow = [[one.shape for one in made.unit(at).stages["flow"].launches] for at in range(5)]
    vocoder = [[one.shape for one in made.unit(at).stages["vocoder"].launches] for at in range(5)]

    assert flow == [[], [(62,)], [(86,)], [(86,)], [(86,)]], "twelve codes before the first block are too few"
    assert vocoder == [[], [(100, 0)], [(140, 40)], [(140, 40)], [(140, 40)]]
    assert [made.unit(at).stages["vocoder"].ticks for at in (1, 2)] == [(100 - 20) * 240, 24_000]


def test_a_turn_of_any_length_is_sounded_whole():
    for codes in range(1, 51):
        made = plan((CODES, *token2wav("talker")), script=f"S S (F{codes})")
        sounded = sum(made.unit(at).stages["vocoder"].ticks for at in range(3))
        assert sounded == (100 + codes) * 480, codes


def test_memory_by_hand():
    made = find("qwen2.5-omni-7b").load_plan()

    most = {state.name: state.max_bytes for state in made.states}

    assert most == {
        "thinker_prefill.keys_values": 32_768 * 28 * 2 * 4 * 128 * 2,
        "talker_prefill.keys_values": 32_768 * 24 * 2 * 4 * 128 * 2,
        "vocoder.mel": 40 * 80 * 4,
    }
    assert most["thinker_prefill.keys_values"] == 1792 * MIB


@pytest.mark.parametrize("seconds", [0, 301])
def test_a_question_is_of_a_length_that_can_be_heard(seconds):
    with pytest.raises(AskedWrongly, match="between 1 and 300 s"):
        timelines(question_s=seconds)
