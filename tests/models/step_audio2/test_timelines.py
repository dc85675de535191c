"""Step-Audio 2 mini's course: a question heard at once, text and speech tokens of one model, ten solver steps."""

from fractions import Fraction

import pytest

from engine.errors import AskedWrongly, UnboundedState
from engine.models.step_audio2.timelines import MARKUP_TOKENS, timelines
from engine.plan import plan

KIB = 1024


def test_a_question_is_heard_in_the_unit_that_begins_to_answer_it():
    made = plan(timelines(question_s=5, max_tokens=4096), script="LLSSFLSF")

    heard = [unit for unit in range(8) if made.unit(unit).stages["audio_encoder"].launches]
    assert heard == [2, 6]
    assert made.unit(2).stages["audio_encoder"].shape == (502,)
    assert made.unit(2).stages["llm_prefill"].launches[0].fed == 63 + MARKUP_TOKENS  # 5 s at 12.5 Hz, rounded up


def test_every_length_of_a_question_is_ranked_as_a_shape():
    made = plan(timelines(question_s=5, max_tokens=4096), script="LSF")

    sizes = {one.shape: one.a_unit for one in made.shapes if one.stage == "audio_encoder"}
    assert sizes == {(502,): Fraction(1, 3), (402,): 0, (302,): 0, (202,): 0, (102,): 0}


def test_text_and_speech_grow_one_cache():
    made = plan(timelines(system_tokens=50, question_s=1, max_tokens=4096), script="S")
    keys = "llm_prefill.keys_values"

    assert [made.unit(unit).held[keys] for unit in range(3)] == [
        50 + 13 + MARKUP_TOKENS + (7 + 25) * units for units in (1, 2, 3)
    ]
    assert next(state.item_bytes for state in made.states if state.name == keys) == 56 * KIB  # 28 x 2 x 4 x 128 x 2
    assert next(state.item_bytes for state in made.states if state.name == "flow.attention") == 10 * 128 * KIB


def test_a_session_without_an_end_is_refused():
    with pytest.raises(UnboundedState):
        plan(timelines())


@pytest.mark.parametrize("seconds", [0, 26])
def test_a_question_longer_than_the_encoder_takes_is_refused(seconds):
    with pytest.raises(AskedWrongly, match="between 1 and 25 s"):
        timelines(question_s=seconds)
