from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import AutoConfig, AutoModelForCausalLM, DynamicCache

from engine.models.layers.decoder_stack import DecoderStack, StackSizes, unlike_llama
from engine.models.layers.linear import Precision
from engine.models.pocket.language import cache_argument, hold
from tests.models.pocket.made_up_language import SIZES

FAMILY = [
    ("llama", {}),
    ("llama", {"attention_bias": True, "mlp_bias": True, "tie_word_embeddings": True}),
    ("mistral", {"sliding_window": None, "num_key_value_heads": 4}),
    ("qwen2", {"rope_parameters": {"rope_type": "default", "rope_theta": 1e6}}),
    ("qwen3", {"num_key_value_heads": 1, "attention_bias": True}),
]
TICKS = 96


def made_up(kind: str, options: dict[str, Any]) -> Any:
    config = AutoConfig.for_model(kind, **{**SIZES, "vocab_size": 128, **options})
    torch.manual_seed(3)
    model = AutoModelForCausalLM.from_config(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn_like(parameter) * 0.2)
    return model


def stack_of(model: Any, precision: Precision, state: torch.Tensor | None = None) -> DecoderStack:
    sizes = StackSizes.of(model.config.to_dict())
    state = torch.full((TICKS, *sizes.tick_shape), torch.nan) if state is None else state
    return DecoderStack(model.state_dict(), sizes, state, precision)


def tokens(seed: int, count: int) -> torch.Tensor:
    return torch.randint(0, 128, (count,), generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("precision", list(Precision))
@pytest.mark.parametrize(("kind", "options"), FAMILY)
@torch.inference_mode()
def test_equals_transformers_to_the_bit(kind: str, options: dict[str, Any], precision: Precision) -> None:
    model = made_up(kind, options)
    ours = stack_of(model, precision)
    hold(model, precision)
    cache = DynamicCache(config=model.config)
    for seed, count in enumerate([31, 9, *[1] * 12, 5, 1]):
        read = tokens(seed, count)
        theirs = model.model(read[None], use_cache=True, **{cache_argument(model): cache}).last_hidden_state[0]
        assert torch.equal(ours(read), theirs), (seed, count)


@settings(deadline=None, max_examples=20)
@given(st.lists(st.integers(1, 12), min_size=1, max_size=6))
@torch.inference_mode()
def test_touches_what_it_has_read_and_nothing_else(counts: list[int]) -> None:
    model = made_up("llama", {})
    sizes = StackSizes.of(model.config.to_dict())
    state = torch.full((TICKS, *sizes.tick_shape), torch.nan)
    stack, address = stack_of(model, Precision.INT4, state), state.data_ptr()
    for seed, count in enumerate(counts):
        assert stack(tokens(seed, count)).isfinite().all()
    assert stack.ticks == sum(counts)
    assert state[: stack.ticks].isfinite().all()
    assert state[stack.ticks :].isnan().all()
    assert state.data_ptr() == address


@torch.inference_mode()
def test_set_back_it_has_forgotten_what_came_later() -> None:
    stack = stack_of(made_up("llama", {}), Precision.INT4)
    stack(tokens(0, 20))
    first = [stack(tokens(1, 7)), stack(tokens(2, 1))]
    stack.ticks = 20
    stack(tokens(5, 30))
    stack.ticks = 20
    assert all(torch.equal(one, stack(read)) for one, read in zip(first, (tokens(1, 7), tokens(2, 1)), strict=True))


@torch.inference_mode()
def test_state_may_be_a_part_of_wider_rows() -> None:
    model = made_up("llama", {})
    sizes = StackSizes.of(model.config.to_dict())
    wide = torch.full((TICKS, 3, *sizes.tick_shape), torch.nan)
    apart, within = stack_of(model, Precision.FLOAT32), stack_of(model, Precision.FLOAT32, wide[:, 1])
    for seed, count in enumerate([20, 6, 1, 1]):
        assert torch.equal(apart(tokens(seed, count)), within(tokens(seed, count)))
    assert wide[:, 0].isnan().all()
    assert wide[:, 2].isnan().all()


@torch.inference_mode()
def test_whole_and_token_by_token_say_the_same() -> None:
    model = made_up("llama", {})
    whole, stepwise = stack_of(model, Precision.INT4), stack_of(model, Precision.INT4)
    read = tokens(0, 40)
    torch.testing.assert_close(whole(read), torch.cat([stepwise(one[None]) for one in read]), rtol=2e-2, atol=2e-2)


@pytest.mark.parametrize(
    ("config", "why"),
    [
        ({"model_type": "gpt2"}, "is of the type gpt2"),
        ({"model_type": "llama", "hidden_act": "gelu"}, "has the activation gelu"),
        ({"model_type": "llama", "rope_scaling": {"rope_type": "llama3"}}, "scales its positions (llama3)"),
        ({"model_type": "llama", "rope_scaling": {"type": "linear"}}, "scales its positions (linear)"),
        ({"model_type": "mistral", "sliding_window": 4096}, "slides a window over its past"),
        (
            {"model_type": "qwen3", "layer_types": ["full_attention", "sliding_attention"]},
            "slides a window over its past",
        ),
        ({"model_type": "qwen2", "sliding_window": 4096, "use_sliding_window": False}, ""),
        ({"model_type": "llama", "rope_parameters": {"rope_type": "default", "rope_theta": 5e5}}, ""),
        ({"model_type": "llama", "hidden_act": "silu", "rope_scaling": None}, ""),
    ],
)
def test_says_why_a_model_is_not_for_it(config: dict[str, Any], why: str) -> None:
    assert unlike_llama(config) == why
