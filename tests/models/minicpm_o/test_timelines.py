"""MiniCPM-o's course: the audio encoder's first chunk and its reset, the language model's bound, a turn's tokens."""

import pytest

from engine.errors import AskedWrongly, UnboundedState
from engine.models.minicpm_o.timelines import timelines
from engine.plan import Plan, plan

KIB = 1024
HEARD = 24 * 2 * 16 * 64 * 2  # a position of the audio encoder: layers, keys and values, heads, width, bf16
LLM = 36 * 2 * 8 * 128 * 2  # a token of the language model
TTS = 20 * 2 * 12 * 64 * 2  # a token of the speech decoder
KEYS = "audio_encoder.keys_values"


def planned(script: str, **options: int | tuple[int, int]) -> Plan:
    return plan(timelines(**options), script=script, session_s=600)


def test_a_tick_weighs_what_the_models_page_says():
    sizes = {state.name: state.item_bytes for state in planned("L").states}

    assert sizes[KEYS] == HEARD == 96 * KIB
    assert sizes["llm_prefill.keys_values"] == LLM == 144 * KIB
    assert sizes["tts_condition.keys_values"] == TTS == 60 * KIB
    assert sizes["flow.attention"] == 5 * 128 * KIB


def test_the_first_chunk_of_1035_ms_is_a_shape_of_its_own():
    made = planned("L")
    mel, encoder = ([made.unit(unit).stages[stage] for unit in range(4)] for stage in ("mel", "audio_encoder"))

    # 16560 samples have come, 103 whole hops of 160; 80 samples wait, and go before the next second's.
    assert [unit.launches[0].takes for unit in mel] == [16_480, 16_000, 16_000, 16_000]
    assert made.position(1).clocks["mel"].waiting == made.position(50).clocks["mel"].waiting == 80
    # Of 103 frames the encoder takes 100 and is fed two ahead; from then on two before as well.
    assert [unit.shape for unit in encoder] == [(102, 0), (104, 50), (104, 100), (104, 150)]
    assert [unit.launches[0].takes for unit in encoder] == [100] * 4
    assert [unit.ticks for unit in encoder] == [10] * 4  # embeddings


def test_the_encoder_starts_anew_before_it_would_reach_1500_positions():
    made = planned("L")

    # Released: positions held and the 52 of a unit's 104 frames, before the context's two are cut off, reach 1500.
    held = 0
    for unit in range(120):
        held = 50 if held + (104 + 1) // 2 >= 1500 else held + 50
        assert made.unit(unit).held[KEYS] == held
    assert max(made.unit(unit).needed[KEYS] for unit in range(120)) == 1450
    assert made.unit(28).stages["audio_encoder"].shape == (104, 1400)
    assert made.unit(29).stages["audio_encoder"].shape == (104, 0)  # not the first unit's: there is context before
    assert (made.cycles["audio_encoder"].warm_up, made.cycles["audio_encoder"].length) == (1, 29)


def test_the_audio_under_the_mel_is_thirty_seconds_at_most_and_drops_ten_at_once():
    made = planned("L")

    held = 0
    for unit in range(80):
        held += 16_480 if unit == 0 else 16_000
        held -= 160_000 if held >= 480_000 else 0
        assert made.unit(unit).held["mel.audio"] == held
    assert (made.cycles["mel"].warm_up, made.cycles["mel"].length) == (20, 10)


def test_bytes_of_listening_by_hand():
    made = planned("L", prompt=75, system_tokens=100)
    at_rest = 75 * 24 * KIB + 150 * 16 * KIB + 150 * 640 * KIB  # token2wav's prompt: both attentions, the flow's
    at_rest += (2 + 4) * 2 * KIB + 2 * 640 * KIB  # its convolutions

    def by_hand(unit: int, audio: int, heard: int) -> int:
        tokens = 100 + 13 * (unit + 1)  # the unit's mark, ten embeddings, and what ended it and the unit's end
        return at_rest + 4 * audio + heard * HEARD + tokens * LLM

    assert made.bytes_at(0) == by_hand(0, 16_480, 50)
    assert made.bytes_at(9) == by_hand(9, 16_480 + 9 * 16_000, 500)
    assert made.bytes_at(28) == by_hand(28, 16_480 + 28 * 16_000, 1450)
    # The unit that resets the encoder still holds what it held, and joins ten seconds too many before it drops them;
    # the twenty seconds that stay are moved down by ten, which overlaps.
    assert made.bytes_at(29) == by_hand(29, 16_480 + 29 * 16_000, 1450) + 4 * 320_480
    assert made.bytes_at(30) == by_hand(30, 16_480 + 20 * 16_000, 100)


def test_a_speaking_unit_at_the_most():
    made = planned("S", system_tokens=100)
    unit = made.unit(0)

    assert [launch.shape for launch in unit.stages["llm_prefill"].launches] == [(1,), (10,)]
    assert len(unit.stages["llm_decode"].launches) == 19
    assert unit.stages["llm_close"].shape == (2,)
    assert unit.held["llm_prefill.keys_values"] == 100 + 1 + 10 + 19 + 2
    assert unit.held["tts_condition.keys_values"] == 19 + 25
    assert unit.stages["flow_encoder"].shape == (28, 75, 150)


def test_what_was_said_is_told_to_the_plan():
    made = planned("L")

    unit, position = made.advance(made.start, "SPEAK", ran={"llm_decode": 4, "tts_condition": 4}, speech_ticks=11)

    assert unit.held["llm_prefill.keys_values"] == 1 + 10 + 4 + 2
    assert unit.held["tts_condition.keys_values"] == 4 + 11
    assert unit.stages["flow_encoder"].shape == (3 + 11, 75, 150)
    assert made.end_turn(position).held["tts_condition.keys_values"] == 0
    assert made.end_turn(position).held["llm_prefill.keys_values"] == 17


def test_without_a_window_or_an_end_the_language_model_is_refused():
    with pytest.raises(UnboundedState, match=r"llm_prefill\.keys_values grows by up to 32 ticks a unit"):
        plan(timelines(), script="L")


def test_an_end_by_time_or_by_memory_bounds_it():
    for_minutes = plan(timelines(system_tokens=100), session_s=300)
    by_memory = plan(timelines(system_tokens=100, max_tokens=4096))

    most = [
        next(s.max_ticks for s in made.states if s.name == "llm_prefill.keys_values")
        for made in (for_minutes, by_memory)
    ]
    assert most == [100 + 300 * 32, 4096]
    with pytest.raises(AskedWrongly, match="unit 300"):
        for_minutes.unit(300)
    listening = plan(timelines(system_tokens=100, max_tokens=4096), script="L")
    assert listening.unit((4096 - 100) // 13 - 1).held["llm_prefill.keys_values"] == 100 + 307 * 13
    with pytest.raises(AskedWrongly, match="4102 ticks of llm_prefill"):
        listening.unit((4096 - 100) // 13)


def test_the_basic_window_drops_at_a_units_end_and_keeps_the_system_prompt():
    made = plan(timelines(system_tokens=100, window=(4000, 3500)), script="S F")
    keys = "llm_prefill.keys_values"

    held = 100
    for unit in range(300):
        held += 32
        assert made.unit(unit).needed[keys] == held
        held = 3500 if held > 4000 else held
        assert made.unit(unit).held[keys] == held
    assert next(s.max_ticks for s in made.states if s.name == keys) == 4000 + 32
    spec = made.specs[keys]
    assert spec.keep.sources(4010) == (range(100), range(4010 - 3400, 4010))


def test_a_window_that_cannot_hold_the_system_prompt_is_refused():
    with pytest.raises(AskedWrongly, match="3600 that stay"):
        timelines(system_tokens=3600, window=(4000, 3500))
