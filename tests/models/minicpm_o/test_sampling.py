"""Tokens are drawn by the released rules, from the numbers that torch's own draw would have taken."""

import pytest
import torch
from torch import Tensor
from torch.nn import functional
from transformers import TopKLogitsWarper, TopPLogitsWarper

from engine.models.minicpm_o.sampling import Recent, SpeechRules, SpeechSampler, TextRules, TextSampler, draw, nucleus
from engine.stock.drawing import ReleasedDrawing

pytestmark = pytest.mark.usefixtures("one_thread")
TOKENS = 200
CPU = torch.device("cpu")


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def logits(seed: int, dtype: torch.dtype) -> Tensor:
    return (3 * torch.randn(TOKENS, generator=seeded(seed))).to(dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("greedy", [False, True])
def test_text_is_drawn_as_released(dtype, greedy):
    rules = TextRules(
        ends_unit=7, ends_turn=9, listens=11, forbidden=(3, 5), window=12, length_penalty=1.3, listen_scale=0.5
    )
    ours = TextSampler(rules, TOKENS, CPU)
    released, met = ReleasedDrawing(rules), set()
    for seed in range(200):
        row = logits(seed % 40, dtype)
        row[7] += 25 if seed % 5 == 0 else 0
        row[3], row[9], row[11] = 20, 5, 9 if seed % 7 else -4
        chance = None if greedy else draw(2, TOKENS, dtype, seeded(seed))

        expected = int(released(row[None], chance))

        token = ours(row, chance)
        assert token.tolist() == [expected], seed
        met.add(expected)
    assert len(met) > 5
    assert 7 in met
    assert not met & {3, 5}
    assert len(released.drawn) < 200, "what ends a unit is not remembered"


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_speech_is_drawn_as_released(dtype):
    rules = SpeechRules(window=4, penalty=1.4)
    ours = SpeechSampler(rules, TOKENS, CPU)
    ended = 0
    for unit in range(12):
        may_end = unit % 2 == 0
        ours.begin(may_end=may_end)
        said: list[int] = []
        for index in range(9):
            row, seed = logits(unit // 3, dtype), 100 * unit + index
            row[-1] = 8
            scores = row.float() / torch.tensor([rules.temperature])
            alpha = torch.tensor([rules.penalty ** said[-rules.window :].count(token) for token in range(TOKENS)])
            scores = torch.where(scores < 0, scores * alpha, scores / alpha)
            if not may_end:
                scores[-1] = -torch.inf
            expected = int(torch.multinomial(functional.softmax(scores, -1), 1, generator=seeded(seed)))

            assert ours(row, draw(1, TOKENS, torch.float32, seeded(seed))[0]).tolist() == [expected]

            said.append(expected)
            ended += expected == TOKENS - 1
            assert may_end or expected != TOKENS - 1
        assert len(set(said)) > 1
    assert ended


def test_speech_without_chance_is_the_likeliest_until_it_tires():
    ours = SpeechSampler(SpeechRules(penalty=1.5, window=3), TOKENS, CPU)
    ours.begin(may_end=False)
    row = torch.zeros(TOKENS)
    row[4], row[6], row[-1] = 2.0, 1.5, 9.0

    # Twice said it is less likely than the other, which then is the less likely one.
    assert [ours(row, None).item() for _ in range(4)] == [4, 6, 4, 6]

    ours.begin(may_end=True)
    assert ours(row, None).item() == TOKENS - 1


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_nucleus_keeps_what_transformers_keeps(dtype):
    for seed in range(20):
        row = logits(seed, torch.float32)  # without ties, which transformers breaks the other way
        expected = TopPLogitsWarper(0.8)(None, TopKLogitsWarper(20)(None, row[None]))[0]
        assert torch.equal(nucleus(row, 20, 0.8), expected)
        cut = nucleus(row.to(dtype), 3, 0.0)
        assert cut.isfinite().sum() >= 3
        assert torch.equal(nucleus(row, 0, 0.0), row)


def test_draws_are_torchs_own():
    for dtype in (torch.float32, torch.bfloat16):
        chance, generator = draw(30, TOKENS, dtype, seeded(1)), seeded(1)
        for index, row in enumerate(chance):
            shares = functional.softmax(logits(index, dtype), -1)
            assert (shares / row).argmax() == torch.multinomial(shares, 1, generator=generator)


def test_the_recent_are_the_last_ones():
    recent = Recent(3, 10, CPU)
    for token in (5, 5, 2, 5):
        recent.add(torch.tensor([token]))
    recent.add(torch.tensor([9]), unless=torch.tensor([True]))
    assert recent.counts().nonzero().flatten().tolist() == [2, 5]
    assert recent.counts()[5] == 2
    recent.forget()
    assert not recent.counts().any()
