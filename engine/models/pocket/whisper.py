"""Whisper's encoder and decoder over a window of any length, keys and values in views that the arena hands in.

The arithmetic of transformers' `WhisperForConditionalGeneration` on its sdpa path, in the same order and with the same
shapes, so that logits are equal to the bit (tests hold that). What differs is where state lives: keys and values lie
time-major, `[ticks, layers, key|value, heads, dim]`, at addresses that never move, written in place and read through
strided views; nothing is concatenated. Knows tensors and nothing of audio, text or time. Entered by the engine thread.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors.torch import load_file
from torch import Tensor
from torch.nn import functional

from engine.errors import BadWeights

Weights = Mapping[str, Tensor]
TOKEN_EMBEDDING = "model.decoder.embed_tokens.weight"  # also the vocabulary product's; kept in the file's sixteen bits


def load_weights(folder: Path) -> Weights:
    """The tensors of `model.safetensors`, float32 but for the token embedding, which stays float16."""
    stored = load_file(folder / "model.safetensors")
    return {name: tensor if name == TOKEN_EMBEDDING else tensor.float() for name, tensor in stored.items()}


@dataclass(frozen=True)
class WhisperSizes:
    """What a Whisper's `config.json` says of its shapes."""

    width: int
    heads: int
    encoder_layers: int
    decoder_layers: int
    encoder_positions: int
    decoder_positions: int

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> "WhisperSizes":
        """Read the sizes.

        Raises:
            BadWeights: The configuration is of a Whisper whose sides differ, which no released one does.
        """
        if config["encoder_attention_heads"] != config["decoder_attention_heads"]:
            raise BadWeights("a Whisper whose encoder and decoder differ in heads", "as many heads in both")
        return cls(
            config["d_model"],
            config["encoder_attention_heads"],
            config["encoder_layers"],
            config["decoder_layers"],
            config["max_source_positions"],
            config["max_target_positions"],
        )

    @property
    def dim(self) -> int:
        """Of one head."""
        return self.width // self.heads


class _Linear:
    def __init__(self, weights: Weights, name: str) -> None:
        self._weight, self._bias = weights[f"{name}.weight"], weights.get(f"{name}.bias")

    def __call__(self, x: Tensor) -> Tensor:
        return functional.linear(x, self._weight, self._bias)


class _Norm:
    def __init__(self, weights: Weights, name: str) -> None:
        self._weight, self._bias = weights[f"{name}.weight"], weights[f"{name}.bias"]

    def __call__(self, x: Tensor) -> Tensor:
        return functional.layer_norm(x, self._weight.shape, self._weight, self._bias)


class _Attention:
    """Projections around scaled dot-product attention; the query is scaled before, as Whisper does, not inside."""

    def __init__(self, weights: Weights, name: str, sizes: WhisperSizes) -> None:
        self._heads, self._dim = sizes.heads, sizes.dim
        self._query, self._key, self._value, self._out = (
            _Linear(weights, f"{name}.{part}_proj") for part in ("q", "k", "v", "out")
        )
        self._scale = self._dim**-0.5

    def keys_values(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """`x` `[1, t, width]` as keys and values, each `[1, t, heads, dim]`."""
        shape = (1, -1, self._heads, self._dim)
        return self._key(x).view(shape), self._value(x).view(shape)

    def write(self, x: Tensor, state: Tensor) -> None:
        """Put `x` `[1, t, width]` as keys and values into `state` `[t, key|value, heads, dim]`."""
        keys, values = self.keys_values(x)
        state[:, 0], state[:, 1] = keys[0], values[0]

    def read(self, x: Tensor, keys: Tensor, values: Tensor, *, causal: bool = False) -> Tensor:
        """Attend from `x` `[1, n, width]` to keys and values `[1, heads, t, dim]`, strided or not."""
        query = (self._query(x) * self._scale).view(1, -1, self._heads, self._dim).transpose(1, 2).contiguous()
        heard = functional.scaled_dot_product_attention(query, keys, values, is_causal=causal, scale=1.0)
        return self._out(heard.transpose(1, 2).reshape(1, -1, self._heads * self._dim))


class _FeedForward:
    def __init__(self, weights: Weights, name: str) -> None:
        self._norm = _Norm(weights, f"{name}.final_layer_norm")
        self._up, self._down = _Linear(weights, f"{name}.fc1"), _Linear(weights, f"{name}.fc2")

    def __call__(self, x: Tensor) -> Tensor:
        return x + self._down(functional.gelu(self._up(self._norm(x))))


class WhisperEncoder:
    """Mel in, one vector each 20 ms out."""

    def __init__(self, weights: Weights, sizes: WhisperSizes) -> None:
        name = "model.encoder"
        self._convolutions = [
            (weights[f"{name}.{conv}.weight"], weights[f"{name}.{conv}.bias"]) for conv in ("conv1", "conv2")
        ]
        self._positions = weights[f"{name}.embed_positions.weight"]
        layers = [f"{name}.layers.{index}" for index in range(sizes.encoder_layers)]
        self._layers = [
            (
                _Norm(weights, f"{layer}.self_attn_layer_norm"),
                _Attention(weights, f"{layer}.self_attn", sizes),
                _FeedForward(weights, layer),
            )
            for layer in layers
        ]
        self._norm = _Norm(weights, f"{name}.layer_norm")

    def __call__(self, mel: Tensor) -> Tensor:
        """`mel` `[1, mels, frames]` as `[1, frames / 2, width]`; positions count from the window's start."""
        (first, first_bias), (second, second_bias) = self._convolutions
        x = functional.gelu(functional.conv1d(mel, first, first_bias, padding=1))
        x = functional.gelu(functional.conv1d(x, second, second_bias, stride=2, padding=1)).permute(0, 2, 1)
        x = x + self._positions[: x.shape[1]]
        for norm, attention, feed_forward in self._layers:
            inner = norm(x)
            keys, values = (part.transpose(1, 2).contiguous() for part in attention.keys_values(inner))
            x = feed_forward(x + attention.read(inner, keys, values))
        return self._norm(x)


class WhisperDecoder:
    """Tokens in, hidden states out; what it has heard and said lies in the two states handed in.

    Args:
        weights: As `load_weights` gives them.
        sizes: Of the same model.
        written: Keys and values of the tokens so far, `[max_ticks, layers, 2, heads, dim]`, time-major.
        heard: Keys and values of the encoder's output, laid out the same.
    """

    def __init__(self, weights: Weights, sizes: WhisperSizes, written: Tensor, heard: Tensor) -> None:
        name = "model.decoder"
        self._tokens = weights[TOKEN_EMBEDDING]
        self._positions = weights[f"{name}.embed_positions.weight"]
        layers = [f"{name}.layers.{index}" for index in range(sizes.decoder_layers)]
        self._layers = [
            (
                _Norm(weights, f"{layer}.self_attn_layer_norm"),
                _Attention(weights, f"{layer}.self_attn", sizes),
                _Norm(weights, f"{layer}.encoder_attn_layer_norm"),
                _Attention(weights, f"{layer}.encoder_attn", sizes),
                _FeedForward(weights, layer),
            )
            for layer in layers
        ]
        self._norm = _Norm(weights, f"{name}.layer_norm")
        self._written, self._heard = written, heard
        self._heard_ticks = self._written_ticks = 0

    def hear(self, encoded: Tensor) -> None:
        """Forget all tokens and hold `encoded` `[1, ticks, width]` to attend to."""
        self._heard_ticks, self._written_ticks = encoded.shape[1], 0
        for index, (_, _, _, cross, _) in enumerate(self._layers):
            cross.write(encoded, self._heard[: self._heard_ticks, index])

    def __call__(self, tokens: Tensor) -> Tensor:
        """Take in `tokens` int64 `[1, n]`; hidden states `[1, n, width]` after the last norm."""
        start, count = self._written_ticks, tokens.shape[1]
        end = self._written_ticks = start + count
        x = functional.embedding(tokens, self._tokens).float() + self._positions[start:end]
        for index, (self_norm, attention, cross_norm, cross, feed_forward) in enumerate(self._layers):
            inner = self_norm(x)
            attention.write(inner, self._written[start:end, index])
            x = x + attention.read(inner, *_head_major(self._written[:end, index]), causal=count > 1)
            x = x + cross.read(cross_norm(x), *_head_major(self._heard[: self._heard_ticks, index]))
            x = feed_forward(x)
        return self._norm(x)


def _head_major(state: Tensor) -> tuple[Tensor, Tensor]:
    """`[t, key|value, heads, dim]` as two views `[1, heads, t, dim]`."""
    keys, values = state.permute(1, 2, 0, 3).unsqueeze(1)
    return keys, values


class Whisper:
    """Both sides: hears a window, then takes in tokens one by one.

    Args:
        weights: As `load_weights` gives them.
        folder: Where they came from; its `config.json` says their sizes.
        written: Keys and values of the tokens, float32 `[max_ticks, layers, 2, heads, dim]`.
        heard: Keys and values of the window, laid out the same.
    """

    def __init__(self, weights: Weights, folder: Path, written: Tensor, heard: Tensor) -> None:
        sizes = WhisperSizes.of(json.loads((folder / "config.json").read_text()))
        self._encoder = WhisperEncoder(weights, sizes)
        self._decoder = WhisperDecoder(weights, sizes, written, heard)

    def hear(self, mel: Tensor) -> None:
        """Take in a window, float32 `[1, mels, frames]`, and forget the last one."""
        self._decoder.hear(self._encoder(mel))

    def hidden(self, tokens: Tensor) -> Tensor:
        """Take in tokens, int64 `[1, n]`, that follow those before: hidden states `[1, n, width]`."""
        return self._decoder(tokens)
