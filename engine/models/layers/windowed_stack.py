"""A decoder stack whose attention reaches a few ticks back, its results scaled a channel: Qwen3-Omni's code2wav's.

Whole, or chunk by chunk over keys and values carried in a state: then as many ticks as the window reaches, the oldest
first, moved up with every launch. Follows transformers 5.x (`qwen3_omni_moe`, sdpa) operation by operation, so the bits
of a whole are the same; tests hold that. Entered by the engine thread.
"""

from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor
from torch.nn import functional

from engine.models.layers.checked import Shapes, below, linear
from engine.models.layers.lanes import Lanes
from engine.models.layers.masks import added
from engine.models.layers.named import Linear, Named
from engine.models.layers.token_stack import normed, turned


@dataclass(frozen=True)
class WindowedSizes:
    """The stack's shape.

    Args:
        layers: Of them.
        width: Of every vector.
        heads: Of queries, keys and values.
        inner: Of every feed-forward.
        window: Ticks that a tick sees, itself among them.
        eps: Of the norms.
        rope_theta: Of positions.
    """

    layers: int = 8
    width: int = 1024
    heads: int = 16
    inner: int = 3072
    window: int = 72
    eps: float = 1e-5
    rope_theta: float = 10_000.0

    @property
    def dim(self) -> int:
        """Of a head."""
        return self.width // self.heads


def shapes(sizes: WindowedSizes) -> Shapes:
    """Every tensor, by its released name."""
    width, inner = sizes.width, sizes.inner
    for index in range(sizes.layers):
        layer = [
            *(one for part in "qkvo" for one in linear(f"self_attn.{part}_proj", width, width, bias=False)),
            *linear("mlp.gate_proj", width, inner, bias=False),
            *linear("mlp.up_proj", width, inner, bias=False),
            *linear("mlp.down_proj", inner, width, bias=False),
            *((f"{name}.weight", (width,)) for name in ("input_layernorm", "post_attention_layernorm")),
            *((f"{name}_layer_scale.scale", (width,)) for name in ("self_attn", "mlp")),
        ]
        yield from below(f"layers.{index}", iter(layer))
    yield "norm.weight", (width,)


class WindowedStack:
    """The stack.

    Args:
        weights: Named as released, below `pre_transformer`.
        sizes: Of the same stack.
        past: Keys and values carried, `[window - 1, layers, 2, heads, dim]`; None where every launch is a whole.
        lanes: For what can be done at once; two of them.
    """

    def __init__(self, weights: Named, sizes: WindowedSizes, past: Tensor | None, lanes: Lanes) -> None:
        self._layers = [_Layer(weights.below(f"layers.{index}"), sizes, lanes) for index in range(sizes.layers)]
        self._norm, self._sizes, self._past = weights["norm.weight"], sizes, past
        rates = 1.0 / (sizes.rope_theta ** (torch.arange(0, sizes.dim, 2, dtype=torch.float) / sizes.dim))
        self._rates = rates.to(self._norm.device)
        self._masks: dict[tuple[int, int], Tensor | None] = {}

    def foresee(self, count: int, held: int) -> None:
        """Make the constants of a launch of `count` ticks after `held` ticks, and keep them."""
        if (count, held) not in self._masks:
            self._masks[count, held] = self._mask(count, held)

    def __call__(self, x: Tensor, positions: Tensor, held: int) -> Tensor:
        """Read.

        Args:
            x: `[1, n, width]`.
            positions: int64 `[n]`, of each tick, on the device.
            held: Ticks carried before the launch, at most the window's less one.

        Returns:
            `[1, n, width]`, after the last norm.
        """
        count, sizes = x.shape[1], self._sizes
        mask = self._masks[count, held] if (count, held) in self._masks else self._mask(count, held)
        angles = positions[:, None].float() * self._rates
        angles = torch.cat((angles, angles), -1)
        turn = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        kept = min(sizes.window - 1, held + count)
        for index, layer in enumerate(self._layers):
            past = None if self._past is None else self._past[:, index]  # [ticks, 2, heads, dim]
            x = layer(x, turn, past, (held, kept), mask)
        return normed(x, self._norm, sizes.eps)

    def _mask(self, count: int, held: int) -> Tensor | None:
        """What is added to scores; None where a tick sees all that came before it, and nothing else is there."""
        if not held and count < self._sizes.window:
            return None
        queries = torch.arange(held, held + count, device=self._norm.device)[:, None]
        keys = torch.arange(held + count, device=self._norm.device)[None]
        return added((keys <= queries) & (keys > queries - self._sizes.window), self._norm.dtype)


class _Layer:
    def __init__(self, weights: Named, sizes: WindowedSizes, lanes: Lanes) -> None:
        self._query, self._key, self._value, self._join = (
            Linear(weights.below(f"self_attn.{part}_proj")) for part in "qkvo"
        )
        self._gate, self._up, self._down = (
            Linear(weights.below(f"mlp.{part}_proj")) for part in ("gate", "up", "down")
        )
        self._norms = weights["input_layernorm.weight"], weights["post_attention_layernorm.weight"]
        self._scales = weights["self_attn_layer_scale.scale"], weights["mlp_layer_scale.scale"]
        self._heads, self._eps, self._lanes = sizes.heads, sizes.eps, lanes

    def __call__(
        self, x: Tensor, turn: tuple[Tensor, Tensor], past: Tensor | None, held_kept: tuple[int, int],
        mask: Tensor | None,
    ) -> Tensor:  # fmt: skip
        found = self._attend(normed(x, self._norms[0], self._eps), turn, past, held_kept, mask)
        x = x + self._scales[0] * self._join(found)
        moved = normed(x, self._norms[1], self._eps)
        inner, up = self._lanes.together(lambda: functional.silu(self._gate(moved)), partial(self._up, moved))
        return x + self._scales[1] * self._down(inner * up)

    def _attend(
        self, x: Tensor, turn: tuple[Tensor, Tensor], past: Tensor | None, held_kept: tuple[int, int],
        mask: Tensor | None,
    ) -> Tensor:  # fmt: skip
        def vectors(project: Linear) -> Tensor:
            return project(x)[0].view(x.shape[1], self._heads, -1)  # [n, heads, dim]

        query, key, value = self._lanes.together(
            lambda: turned(vectors(self._query), *turn),
            lambda: turned(vectors(self._key), *turn),
            partial(vectors, self._value),
        )
        if past is not None:
            held, kept = held_kept
            joined = torch.cat((past[:held], torch.stack((key, value), 1)))  # [t, 2, heads, dim]
            past[:kept].copy_(joined[-kept:])
            key, value = joined.unbind(1)
        query, key, value = (part.transpose(0, 1).unsqueeze(0) for part in (query, key, value))  # [1, heads, t, dim]
        found = functional.scaled_dot_product_attention(
            query, key, value, attn_mask=mask, is_causal=mask is None and x.shape[1] > 1
        )
        return found.transpose(1, 2).flatten(2)
