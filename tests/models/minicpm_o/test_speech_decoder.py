"""The speech-token decoder equals transformers' Llama under the released control flow, over units, turns and ends."""

from collections.abc import Iterator

import pytest
import torch
from torch import Tensor

from engine.errors import BadWeights
from engine.models.minicpm_o.checkpoint import SPEECH_UNUSED, checked
from engine.models.minicpm_o.made_up import TINY_SPEECH, make_up
from engine.models.minicpm_o.sampling import SpeechRules, draw
from engine.models.minicpm_o.sizes import SpeechSizes, speech_shapes
from engine.models.minicpm_o.speech_decoder import CONDITION, DRAWS, STAGE, SpeechDecoder
from engine.stock.speaking import MOST, ReleasedSpeechDecoder

pytestmark = pytest.mark.usefixtures("one_thread")
SIZES, TICKS = TINY_SPEECH, 160


def made_up(dtype: torch.dtype) -> dict[str, Tensor]:
    weights = make_up(speech_shapes(SIZES), dtype, seed=3)
    weights["tts.head_code.0.parametrizations.weight.original0"] *= 1.5  # some tokens likelier than others
    return weights


def begun(weights: dict[str, Tensor]) -> tuple[SpeechDecoder, Tensor]:
    dtype = next(iter(weights.values())).dtype
    state = torch.full((TICKS, *SIZES.stack.tick_shape), torch.nan, dtype=dtype)
    return SpeechDecoder(checked("the speech decoder", weights, speech_shapes(SIZES)), SIZES, state), state


def units(dtype: torch.dtype) -> Iterator[tuple[int, Tensor, Tensor, Tensor, bool]]:
    """Units of three turns: number, texts, meanings, chance, whether speech may end (and a turn's first unit may)."""
    for unit, count in enumerate([4, 10, 0, 1, 3, 17, 6]):
        generator = torch.Generator().manual_seed(unit)
        texts = torch.randint(0, SIZES.texts, (count,), generator=generator)
        meanings = torch.randn(count, SIZES.llm, generator=generator).to(dtype)
        chance = draw(DRAWS, SIZES.tokens, torch.float32, generator)
        if unit in (4, 6):  # what ends speech comes sooner than by chance: in the middle, and at once
            chance[9 if unit == 4 else 0, -1] = 1e-9
        yield unit, texts, meanings, chance, unit in (0, 3, 4, 6)


def follow(steps) -> tuple[Tensor, list]:
    result, seen = None, []
    while True:
        try:
            step = steps.send(result)
        except StopIteration as done:
            return done.value, seen
        seen.append((step.stage, step.shape, step.ticks))
        result = step.eagerly()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@torch.inference_mode()
def test_turns_are_the_released_decoders_bit_for_bit(dtype):
    weights = made_up(dtype)
    released, (ours, state) = ReleasedSpeechDecoder(weights, SIZES), begun(weights)
    lengths = []
    for unit, texts, meanings, chance, may_end in units(dtype):
        if unit in (3, 5):
            released.begin()
            ours.begin()
            state.fill_(torch.nan)
        condition = released.condition(
            [(int(text), one[None, None]) for text, one in zip(texts, meanings, strict=True)]
        )
        expected = released(condition, chance, least=0 if may_end else MOST, ends_turn=False)[0]
        before, count = ours.held, len(texts) + 1

        spoken, seen = follow(ours.steps(texts, meanings, chance, may_end=may_end))

        assert torch.equal(spoken, expected), unit
        assert ours.held == released.start
        assert seen == [
            (CONDITION, (count, before + count), count),
            *[(STAGE, (1, before + count + index), 1) for index in range(1, 26)],
        ]
        keys = torch.stack([torch.stack((layer.keys[0], layer.values[0])) for layer in released.cache.layers])
        assert torch.equal(state[: ours.held], keys.permute(3, 0, 1, 2, 4)[: ours.held]), unit
        lengths.append(len(spoken))
        # What was drawn past an end is nobody's: what comes next must write it before it reads it.
        state[ours.held :] = torch.nan
    assert lengths == [25, 25, 25, 25, 9, 25, 0]


@torch.inference_mode()
def test_all_that_a_step_does_is_in_its_key():
    ours, _ = begun(made_up(torch.bfloat16))
    _, texts, meanings, chance, _ = next(units(torch.bfloat16))
    for given in (chance, None):
        steps, result = ours.steps(texts, meanings, given, may_end=False), None
        ours.begin()
        for _ in range(DRAWS):
            step = steps.send(result)
            rehearsed = ours.rehearse(step.stage, step.shape, chance=given is not None)
            assert step.captures
            assert (rehearsed.key, rehearsed.ticks) == (step.key, step.ticks)
            assert [(one.shape, one.dtype) for one in rehearsed.inputs] == [
                (one.shape, one.dtype) for one in step.inputs
            ]
            result = rehearsed.run(*step.inputs)


@torch.inference_mode()
def test_without_chance_it_says_the_likeliest_and_repeats_itself():
    ours, _ = begun(made_up(torch.bfloat16))
    _, texts, meanings, _, _ = next(units(torch.bfloat16))

    first, _ = follow(ours.steps(texts, meanings, None, may_end=False))
    ours.begin()
    again, _ = follow(ours.steps(texts, meanings, None, may_end=False))

    assert torch.equal(first, again)
    assert len(set(first.tolist())) > 3
    assert SIZES.end not in first


@torch.inference_mode()
def test_a_unit_of_a_turn_that_goes_on_is_not_asked_anything(monkeypatch):
    ours, _ = begun(made_up(torch.float32))
    _, texts, meanings, chance, _ = next(units(torch.float32))
    for name in ("item", "tolist", "nonzero", "__bool__", "__int__", "__float__", "__index__", "cpu"):
        monkeypatch.setattr(Tensor, name, lambda *_, name=name: pytest.fail(f"the host reads: {name}"))

    spoken, _ = follow(ours.steps(texts, meanings, chance, may_end=False))

    monkeypatch.undo()
    assert spoken.shape == (25,)


def test_what_a_released_checkpoint_brings_along_is_left_out():
    weights = make_up(speech_shapes(SIZES), torch.bfloat16)
    more = {"tts.projector_spk.linear1.weight": torch.ones(2, 2), "tts.model.embed_tokens.weight": torch.ones(2, 2)}

    with pytest.raises(BadWeights, match=r"tts\.projector_spk\.linear1\.weight, which is unknown"):
        checked("the speech decoder", weights | more, speech_shapes(SIZES))
    named = checked("the speech decoder", weights | more, speech_shapes(SIZES), SPEECH_UNUSED)
    assert named.tensors.keys() == weights.keys()


def test_released_sizes():
    shapes = speech_shapes(SpeechSizes())

    assert shapes["tts.emb_code.0.weight"] == (6562, 768)
    assert SpeechSizes().end == 6561
    assert SpeechSizes().stack.tick_shape == (20, 2, 12, 64)  # as the timelines declare them
    assert SpeechRules() == SpeechRules(0.8, 1.05, 16)
