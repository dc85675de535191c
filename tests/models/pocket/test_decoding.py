import json
from pathlib import Path

import pytest
import torch

from engine.models.pocket.decoding import Picker, Rules

RULES = Rules(prompt=(7, 9), end=6, no_speech=8, said=7, never=(1, 2), never_first=(3, 6))


def test_rules_are_read_from_the_released_settings(tmp_path: Path) -> None:
    settings = {
        "decoder_start_token_id": 50257,
        "eos_token_id": 50256,
        "no_timestamps_token_id": 50362,
        "suppress_tokens": [1, 50256 - 1, 50257, 50361],
        "begin_suppress_tokens": [220, 50256],
    }
    file = tmp_path / "generation_config.json"
    file.write_text(json.dumps(settings))

    assert Rules.read(file) == Rules(
        prompt=(50257, 50362), end=50256, no_speech=50361, said=50257, never=(1, 50255), never_first=(220, 50256)
    )


def test_the_likeliest_token_that_may_be_said_is_picked() -> None:
    picker = Picker(RULES)
    logits = torch.tensor([0.0, 9.0, 8.0, 7.0, 5.0, 4.0, 6.0])

    assert [picker.pick(logits.clone()) for _ in range(3)] == [4, 3, 3]  # 3 and 6 only after the first


def test_confidence_is_the_mean_log_probability_among_what_may_be_said() -> None:
    picker, generator = Picker(RULES), torch.Generator().manual_seed(0)
    expected = []
    for step in range(4):
        logits = torch.randn(7, generator=generator) * 3
        allowed = [token for token in range(7) if token not in RULES.never and (step or token not in RULES.never_first)]
        expected.append(float(logits[allowed].log_softmax(0).max()))
        picker.pick(logits)

    assert picker.confidence == pytest.approx(sum(expected) / 4, abs=1e-5)
    picker.start()
    assert picker.confidence == 0.0
