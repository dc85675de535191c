"""A Llama-like stack of decoder layers, its keys and values in a view that the arena hands in.

The arithmetic of transformers' Llama, Mistral, Qwen2 and Qwen3 on their sdpa path, in the same order, so that hidden
states are equal to the bit (tests hold that). What differs: keys and values lie time-major, `[ticks, layers, key|value,
heads, dim]`, at addresses that never move, written in place and read through strided views; query, key and value are
one product, gate and up are one product. Knows tensors and nothing of text or time. Entered by the engine thread.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from engine.models.layers.linear import Precision, linear

Weights = Mapping[str, Tensor]
FAMILY = ("llama", "mistral", "qwen2", "qwen3")


@dataclass(frozen=True)
class StackSizes:
    """What a `config.json` says of a Llama-like stack."""

    width: int
    inner: int
    layers: int
    heads: int
    kv_heads: int
    dim: int
    eps: float
    rope_theta: float

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> "StackSizes":
        """Read the sizes of a configuration for which `unlike_llama` has nothing to say."""
        heads = config["num_attention_heads"]
        return cls(
            width=config["hidden_size"],
            inner=config["intermediate_size"],
            layers=config["num_hidden_layers"],
            heads=heads,
            kv_heads=config.get("num_key_value_heads") or heads,
            dim=config.get("head_dim") or config["hidden_size"] // heads,
            eps=float(config["rms_norm_eps"]),
            rope_theta=float(_rope(config).get("rope_theta") or config.get("rope_theta") or 10_000.0),
        )

    @property
    def tick_shape(self) -> tuple[int, int, int, int]:
        """Of one tick's keys and values: `[layers, key|value, heads, dim]`."""
        return self.layers, 2, self.kv_heads, self.dim


def unlike_llama(config: Mapping[str, Any]) -> str:
    """Why this stack cannot run a model, in words that follow "it"; empty where it can."""
    if config.get("model_type") not in FAMILY:
        return f"is of the type {config.get('model_type')}"
    if config.get("hidden_act", "silu") != "silu":
        return f"has the activation {config['hidden_act']}"
    if (kind := _rope(config).get("rope_type", _rope(config).get("type", "default"))) != "default":
        return f"scales its positions ({kind})"
    slides = config.get("sliding_window") is not None and config.get("use_sliding_window", True)
    if slides or set(config.get("layer_types") or ()) - {"full_attention"}:
        return "slides a window over its past"
    return ""


def _rope(config: Mapping[str, Any]) -> Mapping[str, Any]:
    return config.get("rope_parameters") or config.get("rope_scaling") or {}


class _Norm:
    def __init__(self, weight: Tensor, eps: float) -> None:
        self._weight, self._eps = weight.float(), eps

    def __call__(self, x: Tensor) -> Tensor:
        # Spelt out: torch's own rms_norm is no faster here, and may one day be a kernel with bits of its own.
        return self._weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self._eps))


@dataclass(frozen=True)
class _Layer:
    before: _Norm
    query_key_value: nn.Module
    query_norm: _Norm | None
    key_norm: _Norm | None
    out: nn.Module
    between: _Norm
    gate_up: nn.Module
    down: nn.Module

    @classmethod
    def of(cls, weights: Weights, name: str, sizes: StackSizes, precision: Precision) -> "_Layer":
        def joined(rows: int, columns: int, *parts: str) -> nn.Module:
            biases = [weights[f"{name}.{part}.bias"] for part in parts if f"{name}.{part}.bias" in weights]
            weight = torch.cat([weights[f"{name}.{part}.weight"] for part in parts])
            _refuse_other_shape(f"{name}.{'+'.join(parts)}", weight, rows, columns)
            return linear(weight, torch.cat(biases) if biases else None, precision)

        def norm(part: str, size: int = sizes.width) -> _Norm:
            weight = weights[f"{name}.{part}.weight"]
            _refuse_other_shape(f"{name}.{part}", weight, size)
            return _Norm(weight, sizes.eps)

        attended, kept = sizes.heads * sizes.dim, sizes.kv_heads * sizes.dim
        normed = f"{name}.self_attn.q_norm.weight" in weights
        return cls(
            before=norm("input_layernorm"),
            query_key_value=joined(
                attended + 2 * kept, sizes.width, "self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"
            ),
            query_norm=norm("self_attn.q_norm", sizes.dim) if normed else None,
            key_norm=norm("self_attn.k_norm", sizes.dim) if normed else None,
            out=joined(sizes.width, attended, "self_attn.o_proj"),
            between=norm("post_attention_layernorm"),
            gate_up=joined(2 * sizes.inner, sizes.width, "mlp.gate_proj", "mlp.up_proj"),
            down=joined(sizes.width, sizes.inner, "mlp.down_proj"),
        )


def _refuse_other_shape(name: str, weight: Tensor, *shape: int) -> None:
    if weight.shape != shape:
        raise ValueError(f"{name} is {list(weight.shape)}, not {list(shape)}")


class DecoderStack:
    """Tokens in, hidden states out; what it has read lies in the state handed in.

    Args:
        weights: Tensors of any floating type under transformers' names, with the prefix "model.".
        sizes: Of the same model.
        keys_values: float32 `[max_ticks, layers, 2, kv_heads, dim]`, time-major; ticks must be committed before a call
            that reaches them.
        precision: How to hold the matrices.

    Raises:
        KeyError: A tensor is missing.
        ValueError: One has another shape than `sizes` tell of.
    """

    def __init__(self, weights: Weights, sizes: StackSizes, keys_values: Tensor, precision: Precision) -> None:
        self._embedding = weights["model.embed_tokens.weight"]
        self._layers = [_Layer.of(weights, f"model.layers.{index}", sizes, precision) for index in range(sizes.layers)]
        self._norm = _Norm(weights["model.norm.weight"], sizes.eps)
        self._sizes, self._keys_values = sizes, keys_values
        self._cosine, self._sine = _rotations(len(keys_values), sizes)
        self.ticks = 0  # read so far; set it back to forget what came later

    def __call__(self, tokens: Tensor) -> Tensor:
        """Read `tokens`, int64 `[n]`; hidden states float32 `[n, width]` after the last norm."""
        start, count, inner = self.ticks, len(tokens), self._sizes.inner
        end = self.ticks = start + count
        turn = self._cosine[start:end], self._sine[start:end]
        # One token sees everything; the first ones see a triangle; later ones see all of the past and a triangle.
        mask = torch.ones(count, end, dtype=torch.bool).tril(start) if count > 1 and start else None
        x = functional.embedding(tokens, self._embedding).float()
        for layer, past in zip(self._layers, self._keys_values[:end].unbind(1), strict=True):
            x = x + layer.out(self._attend(layer, layer.before(x), past, turn, mask))
            both = layer.gate_up(layer.between(x))
            # Made contiguous, so that silu's vector loop ends where the library's ends, whatever the threads.
            x = x + layer.down(functional.silu(both[:, :inner].contiguous()) * both[:, inner:])
        return self._norm(x)

    def _attend(
        self, layer: _Layer, x: Tensor, past: Tensor, turn: tuple[Tensor, Tensor], mask: Tensor | None
    ) -> Tensor:
        """Write `x` `[n, width]` to the end of `past` `[t, 2, kv_heads, dim]`; what it finds, `[n, heads * dim]`."""
        count, heads, kv_heads = len(x), self._sizes.heads, self._sizes.kv_heads
        parts = layer.query_key_value(x).view(count, heads + 2 * kv_heads, -1)  # [n, head, dim]
        turned = parts[:, : heads + kv_heads]
        if layer.query_norm is not None and layer.key_norm is not None:
            turned = torch.cat((layer.query_norm(turned[:, :heads]), layer.key_norm(turned[:, heads:])), 1)
        cosine, sine = turn
        turned = turned * cosine + turned.roll(turned.shape[-1] // 2, -1) * sine
        past[-count:, 0], past[-count:, 1] = turned[:, heads:], parts[:, heads + kv_heads :]
        keys, values = past.permute(1, 2, 0, 3).unsqueeze(1)  # each [1, kv_heads, t, dim]
        found = functional.scaled_dot_product_attention(
            turned[:, :heads].transpose(0, 1).unsqueeze(0),
            keys,
            values,
            attn_mask=mask,
            is_causal=mask is None and count > 1,
            enable_gqa=True,
        )
        return found[0].transpose(0, 1).flatten(1)


def _rotations(ticks: int, sizes: StackSizes) -> tuple[Tensor, Tensor]:
    """Cosine and signed sine of every position, `[ticks, 1, dim]`: a turn is `x * cosine + roll(x, dim / 2) * sine`."""
    dim = sizes.dim
    rates = 1.0 / (sizes.rope_theta ** (torch.arange(0, dim, 2, dtype=torch.float32) / dim))
    angles = torch.arange(ticks)[:, None].float() * rates
    cosine, sine = torch.cat((angles, angles), 1).cos(), angles.sin()
    return cosine[:, None], torch.cat((-sine, sine), 1)[:, None]
