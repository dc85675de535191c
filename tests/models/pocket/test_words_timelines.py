import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import AskedWrongly
from engine.models.pocket.words_timelines import (
    MAX_ANSWER_TOKENS,
    MAX_QUESTION_TOKENS,
    SMOLLM2,
    TOKENS_A_UNIT,
    WordsSizes,
    read_config,
    words_timelines,
)
from engine.plan import plan

STATE = "prompt.keys_values"
TOKEN_BYTES = 30 * 2 * 3 * 64 * 4  # layers, keys and values, heads, dim, float32


def test_bytes_are_those_worked_out_by_hand() -> None:
    sizes, planned = SMOLLM2, plan(words_timelines(SMOLLM2), script="LLSSF")
    (state,) = planned.states
    assert TOKEN_BYTES == 46_080
    assert (state.name, state.item_bytes, state.max_ticks) == (STATE, TOKEN_BYTES, sizes.limit)
    assert sizes.limit == 152 + 64 + 64
    assert planned.max_bytes == sizes.limit * TOKEN_BYTES


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(st.integers(1, MAX_QUESTION_TOKENS), st.integers(0, MAX_ANSWER_TOKENS)), max_size=8))
def test_any_conversation_stays_within_the_plan(turns: list[tuple[int, int]]) -> None:
    planned = plan(words_timelines(SMOLLM2), script="LLSSF")
    position = planned.start
    for question, answer in turns:
        position, written = planned.end_turn(position), 0  # a question makes the words forget the one before
        while not written or written < answer:
            new = min(TOKENS_A_UNIT, answer - written)
            ran = {"prompt": 0 if written else question, "words": new}
            unit, position = planned.advance(position, "S" if written else "L", ran=ran)
            written += new
            assert position.held[STATE] == SMOLLM2.kept + question + written
            assert unit.needed[STATE] <= SMOLLM2.limit
            if not new:
                break


def test_sizes_come_from_the_configuration() -> None:
    config = {"num_hidden_layers": 4, "num_attention_heads": 8, "hidden_size": 256}
    assert WordsSizes.of(config, kept=9).tick_shape == (4, 2, 8, 32)
    assert WordsSizes.of({**config, "num_key_value_heads": 2, "head_dim": 64}, kept=9).tick_shape == (4, 2, 2, 64)
    assert WordsSizes.of({"n_layer": 3, "n_head": 4, "n_embd": 64}, kept=9).tick_shape == (3, 2, 4, 16)
    with pytest.raises(AskedWrongly, match="num_hidden_layers"):
        WordsSizes.of({"num_attention_heads": 8, "hidden_size": 256}, kept=9)


@pytest.mark.parametrize("content", [None, "", "{", "[1]", "\udcff"])
def test_a_configuration_that_cannot_be_read_is_told_of(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "config.json").write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(AskedWrongly) as told:
        read_config(tmp_path)
    assert "\n" not in str(told.value)
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "llama"}))
    assert read_config(tmp_path) == {"model_type": "llama"}
