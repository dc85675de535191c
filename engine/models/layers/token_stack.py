"""A Llama-like stack that decodes on a GPU: the library's own rounding, written so that a token can be a clocked graph.

Follows transformers' Llama and Qwen3 (5.x, sdpa) operation by operation in the weights' own type, so that bits are
equal. What differs: keys and values lie time-major, `[ticks, layers, key|value, heads, dim]`, at addresses that never
move, and are written in place at positions that stay on the device. Nothing is read back, and only `length` decides a
shape: so between two lengths of one regime a captured token differs in a few words (see `engine.clocked`).

`DecoderStack` is its sibling for the CPU: float32, with products joined. Entered by the engine thread.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from engine.models.layers.decoder_stack import StackSizes
from engine.models.layers.exact import token as exact

_ALIGNED = 16  # ticks: a mask whose rows begin so far apart is used by every kernel as it lies


@dataclass(frozen=True)
class _Layer:
    weights: Mapping[str, Tensor]
    eps: float

    def linear(self, name: str, x: Tensor) -> Tensor:
        return functional.linear(x, self.weights[f"{name}.weight"], self.weights.get(f"{name}.bias"))

    def norm(self, name: str, x: Tensor) -> Tensor:
        weight = self.weights.get(f"{name}.weight")
        return x if weight is None else normed(x, weight, self.eps)

    @property
    def head_norms(self) -> tuple[Tensor, Tensor] | None:
        """Weights of the queries' and the keys' norms, where there are any."""
        found = [self.weights.get(f"self_attn.{name}_norm.weight") for name in "qk"]
        return None if found[0] is None or found[1] is None else (found[0], found[1])


class TokenStack:
    """Embedded tokens in, hidden states out.

    Args:
        weights: By transformers' names without what stands before "layers" and "norm"; of one floating type, on one
            device. They are held, not copied.
        sizes: Of the same model.
        keys_values: Of the weights' type, `[max_ticks, layers, 2, kv_heads, dim]`; ticks must be committed before a
            call that reaches them.
    """

    def __init__(self, weights: Mapping[str, Tensor], sizes: StackSizes, keys_values: Tensor) -> None:
        self._layers = [
            _Layer(_under(weights, f"layers.{index}."), sizes.eps) for index in range(sizes.layers)
        ]  # fmt: skip
        self._last = weights["norm.weight"]
        self._sizes, self._keys_values = sizes, keys_values
        even = torch.arange(0, sizes.dim, 2, dtype=torch.int64).float()
        self._rates = (1.0 / sizes.rope_theta ** (even / sizes.dim)).to(keys_values.device)  # [dim / 2]
        shape = sizes.width, sizes.inner, sizes.heads, sizes.kv_heads
        self.kernels = (
            exact.fit(shape, sizes.eps, keys_values.dtype, keys_values.device, normed, turned)
            if sizes.dim == exact.DIM
            else None
        )

    def __call__(self, x: Tensor, positions: Tensor, length: int) -> Tensor:
        """Read the ticks at `positions`, which end at `length`.

        Args:
            x: `[n, width]`, of the weights' type.
            positions: int64 `[n]`, on the device: `length - n` to `length - 1`.
            length: Ticks that are held afterwards.

        Returns:
            `[n, width]`, after the last norm.
        """
        turn = self.turn(positions, x.dtype)
        if len(x) == 1 and self.kernels is not None:
            return self._token(self.kernels, x, positions, length, turn)
        mask = self.mask(len(x), length)
        for index in range(self.layers):
            query = self.ask(index, x, positions, turn)
            x = self.answer(index, x, self.attend(index, query, length, mask))
        return self.last(x)

    @property
    def layers(self) -> int:
        """How many."""
        return len(self._layers)

    def turn(self, positions: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        """Rotary cosine and sine of positions `[n]`, each `[n, dim]`."""
        angles = positions[:, None].float() * self._rates  # [n, dim / 2]
        angles = torch.cat((angles, angles), 1)
        return angles.cos().to(dtype), angles.sin().to(dtype)

    def mask(self, count: int, length: int) -> Tensor | None:
        """What is added to what each of the last `count` of `length` ticks finds, `[count, length]`: nothing, or -inf.

        None where nothing is hidden; and that of a whole sequence is left to the kernel, which has it built in. Written
        once as the library would write it for every layer, its rows as far apart as its kernel wants them.
        """
        if count in (1, length):
            return None
        like, columns = self._keys_values, -(-length // _ALIGNED) * _ALIGNED
        hidden = torch.ones(count, columns, dtype=torch.bool, device=like.device).triu_(length - count + 1)
        return torch.zeros(count, columns, dtype=like.dtype, device=like.device).masked_fill_(hidden, -torch.inf)[
            :, :length
        ]

    def ask(self, index: int, x: Tensor, positions: Tensor, turn: tuple[Tensor, Tensor]) -> Tensor:
        """Write a layer's keys and values of `x` `[n, width]`; its queries, `[heads, n, dim]`."""
        layer, dim = self._layers[index], self._sizes.dim
        x = layer.norm("input_layernorm", x)
        query, key, value = (layer.linear(f"self_attn.{name}_proj", x).unflatten(1, (-1, dim)) for name in "qkv")
        self._keys_values[:, index, 0].index_copy_(0, positions, turned(layer.norm("self_attn.k_norm", key), *turn))
        self._keys_values[:, index, 1].index_copy_(0, positions, value)
        return turned(layer.norm("self_attn.q_norm", query), *turn).transpose(0, 1)

    def answer(self, index: int, x: Tensor, found: Tensor) -> Tensor:
        """`x` `[n, width]` after a layer whose attention found `[n, heads * dim]`."""
        layer = self._layers[index]
        x = x + layer.linear("self_attn.o_proj", found)
        moved = layer.norm("post_attention_layernorm", x)
        gate = functional.silu(layer.linear("mlp.gate_proj", moved))
        return x + layer.linear("mlp.down_proj", gate * layer.linear("mlp.up_proj", moved))

    def last(self, x: Tensor) -> Tensor:
        """`x` after the last norm."""
        return normed(x, self._last, self._sizes.eps)

    def attend(self, index: int, query: Tensor, length: int, mask: Tensor | None = None) -> Tensor:
        """What queries `[heads, n, dim]` find in a layer's first `length` ticks: `[n, heads * dim]`.

        All that a token's length decides; alone, it tells lengths of different regimes apart.
        """
        keys, values = self._keys_values[:length, index].permute(1, 2, 0, 3).unsqueeze(1)  # each [1, kv_heads, t, dim]
        if mask is not None:  # the library has no kernel for groups of heads behind a mask, and repeats
            keys, values = (part.repeat_interleave(len(query) // part.shape[1], 1) for part in (keys, values))
        found = functional.scaled_dot_product_attention(
            query.unsqueeze(0),
            keys,
            values,
            attn_mask=mask,
            is_causal=mask is None and query.shape[1] > 1,
            scale=self._sizes.dim**-0.5,
            enable_gqa=mask is None,
        )
        return found[0].transpose(0, 1).flatten(1)

    def _token(
        self, kernels: exact.TokenKernels, x: Tensor, position: Tensor, length: int, turn: tuple[Tensor, Tensor]
    ) -> Tensor:
        """One token, with what stands between its products in few kernels, to the same bits."""
        eps, norms = self._sizes.eps, [layer.weights["input_layernorm.weight"] for layer in self._layers]
        x, moved = kernels.add_normed(x, None, norms[0], eps)
        for index, (layer, after) in enumerate(zip(self._layers, (*norms[1:], self._last), strict=True)):
            query, key, value = (layer.linear(f"self_attn.{name}_proj", moved) for name in "qkv")
            own = self._keys_values[:, index]
            query = kernels.heads(query, key, value, layer.head_norms, turn, position, own, eps)
            found = layer.linear("self_attn.o_proj", self.attend(index, query, length))
            x, moved = kernels.add_normed(x, found, layer.weights["post_attention_layernorm.weight"], eps)
            inner = kernels.gated(layer.linear("mlp.gate_proj", moved), layer.linear("mlp.up_proj", moved))
            x, moved = kernels.add_normed(x, layer.linear("mlp.down_proj", inner), after, eps)
        return moved


def normed(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    """Root-mean-square norm over the last axis, in float32, rounded to `x`'s type before the weight."""
    wide = x.float()
    return weight * (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + eps)).to(x.dtype)


def turned(x: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
    """Rotary positions: `x` `[n, heads, dim]` by `cosine` and `sine`, each `[n, dim]`."""
    first, second = x.chunk(2, -1)
    return x * cosine[:, None] + torch.cat((-second, first), -1) * sine[:, None]


def _under(weights: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): each for name, each in weights.items() if name.startswith(prefix)}
