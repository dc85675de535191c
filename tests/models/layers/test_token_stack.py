"""The stack for a GPU equals transformers to the bit, in every type that weights come in, over prefills and tokens."""

from typing import Any

import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM, DynamicCache

from engine.models.layers.decoder_stack import StackSizes
from engine.models.layers.token_stack import TokenStack
from engine.models.pocket.language import cache_argument
from tests.models.pocket.made_up_language import SIZES

TICKS = 96
FAMILY = [
    ("llama", {}),
    ("llama", {"attention_bias": True, "mlp_bias": True}),
    ("qwen3", {"num_key_value_heads": 1}),
    ("qwen3", {"head_dim": 32, "rope_parameters": {"rope_type": "default", "rope_theta": 1e6}}),
]


def made_up(kind: str, options: dict[str, Any], dtype: torch.dtype) -> Any:
    config = AutoConfig.for_model(kind, **{**SIZES, "vocab_size": 128, **options})
    torch.manual_seed(3)
    model = AutoModelForCausalLM.from_config(config, dtype=dtype).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn_like(parameter) * 0.2)
    return model


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(("kind", "options"), FAMILY)
@torch.inference_mode()
def test_equals_transformers_and_touches_only_what_it_has_read(
    kind: str, options: dict[str, Any], dtype: torch.dtype
) -> None:
    model = made_up(kind, options, dtype)
    sizes = StackSizes.of(model.config.to_dict())
    state = torch.full((TICKS, *sizes.tick_shape), torch.nan, dtype=dtype)
    stack = TokenStack(model.model.state_dict(), sizes, state)
    cache, held = DynamicCache(config=model.config), 0
    for seed, count in enumerate([31, 9, *[1] * 12, 5, 1]):
        tokens = torch.randint(0, 128, (count,), generator=torch.Generator().manual_seed(seed))
        theirs = model.model(tokens[None], use_cache=True, **{cache_argument(model): cache}).last_hidden_state[0]
        positions = torch.arange(held, held + count)
        held += count
        ours = stack(model.model.embed_tokens(tokens), positions, held)
        assert torch.equal(ours, theirs), (seed, count)
    assert state[:held].isfinite().all()
    assert state[held:].isnan().all()
