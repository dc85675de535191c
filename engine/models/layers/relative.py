"""Attention by content and by distance, over keys and values that are carried on.

Shaw's and Transformer-XL's relative positions as ESPnet and CosyVoice lay them out (arXiv 1901.02860, section 3.3): a
query meets each key twice, once by what it holds and once by how far away it is. Products and softmax are spelled out,
in the released order. Entered by the engine thread.
"""

import math
from collections.abc import Iterable

import torch
from torch import Tensor

from engine.models.layers.lanes import Lanes
from engine.models.layers.named import Linear, Named

FURTHEST = 5000  # ticks; the released table, whose bits are taken from it, reaches so far
_WAVELENGTH = 10_000.0


def distances(width: int, ticks: int) -> Tensor:
    """Sines and cosines of every distance from `ticks - 1` ahead of a query's key to as far behind.

    Worked out on the CPU over the whole released table, so that its bits do not depend on where they are needed.

    Returns:
        float32 `[1, 2 * ticks - 1, width]`: the query later than the key first.
    """
    rates = torch.exp(torch.arange(0, width, 2, dtype=torch.float32) * -(math.log(_WAVELENGTH) / width))
    position = torch.arange(0, FURTHEST, dtype=torch.float32).unsqueeze(1)
    table = torch.empty(2, FURTHEST, width)
    for half, sign in zip(table, (1, -1), strict=True):
        angles = sign * position * rates
        half[:, 0::2], half[:, 1::2] = torch.sin(angles), torch.cos(angles)
    behind, ahead = table[0, :ticks].flip(0), table[1, 1:ticks]
    return torch.cat((behind, ahead)).unsqueeze(0)


class RelativeAttention:
    """One layer's attention.

    Args:
        weights: `linear_{q,k,v,out,pos}`, `pos_bias_u`, `pos_bias_v`.
        lanes: For what can be done at once.
    """

    def __init__(self, weights: Named, lanes: Lanes) -> None:
        self._query, self._key, self._value, self._out, self._distance = (
            Linear(weights.below(f"linear_{part}")) for part in ("q", "k", "v", "out", "pos")
        )
        self._by_content, self._by_distance = weights["pos_bias_u"], weights["pos_bias_v"]  # [heads, dim]
        self._heads, self._dim = self._by_content.shape
        self._lanes = lanes

    def meet(self, table: Tensor) -> Tensor:
        """This layer's view of `distances` `[1, 2t - 1, width]`: `[1, heads, dim, 2t - 1]`."""
        return self._distance(table).view(1, -1, self._heads, self._dim).permute(0, 2, 3, 1)

    def __call__(self, x: Tensor, past: Tensor, distance: Tensor) -> Tensor:
        """Write `x`'s keys and values to the end of `past`, and attend from `x` to all of it.

        Args:
            x: `[1, n, width]`.
            past: `[t, 1, heads, keys|values]`, of which the last `n` ticks are written.
            distance: As `meet` gives it for `t` ticks.

        Returns:
            `[1, n, width]`.
        """
        count, shape = x.shape[1], (1, -1, self._heads, self._dim)
        new = past[-count:].transpose(0, 1)  # [1, n, heads, keys|values]

        def write_keys() -> None:
            new[..., : self._dim] = self._key(x).view(shape)

        def write_values() -> None:
            new[..., self._dim :] = self._value(x).view(shape)

        def meet_distances(query: Tensor) -> Tensor:
            return torch.matmul((query + self._by_distance).transpose(1, 2), distance)

        *_, query = self._lanes.together(write_keys, write_values, lambda: self._query(x).view(shape))
        keys, values = past.permute(1, 2, 0, 3).split(self._dim, 3)  # each [1, heads, t, dim]
        away, content = self._lanes.together(
            lambda: meet_distances(query),
            lambda: torch.matmul((query + self._by_content).transpose(1, 2), keys.transpose(2, 3)),
        )
        scores = (content + _by_key(away)) / math.sqrt(self._dim)  # [1, heads, n, t]
        found = torch.matmul(torch.softmax(scores, -1), values)
        return self._out(found.transpose(1, 2).contiguous().view(1, count, -1))


class RelativePositions:
    """What each layer of a stack makes of the distances: constant for a length, so made once for those foreseen.

    Args:
        attentions: The stack's layers.
        width: Of the stack.
        device: Where its weights are.
    """

    def __init__(self, attentions: Iterable[RelativeAttention], width: int, device: torch.device) -> None:
        self._attentions, self._width, self._device = tuple(attentions), width, device
        self._made: dict[int, tuple[Tensor, ...]] = {}

    def foresee(self, ticks: int) -> None:
        """Make what a launch needs after which a layer holds `ticks` ticks, and keep it."""
        if ticks not in self._made:
            self._made[ticks] = self._make(ticks)

    def of(self, ticks: int) -> tuple[Tensor, ...]:
        """By layer, `[1, heads, dim, 2 * ticks - 1]`."""
        return self._made.get(ticks) or self._make(ticks)

    def _make(self, ticks: int) -> tuple[Tensor, ...]:
        table = distances(self._width, ticks).to(self._device)
        return tuple(attention.meet(table) for attention in self._attentions)


def _by_key(away: Tensor) -> Tensor:
    """Scores by distance `[1, heads, n, 2t - 1]` as scores by key `[1, heads, n, t]`, without a copy.

    Of n queries at the end of t ticks, the last is t - 1 ticks later than the first key; each one before it is one
    tick nearer, so that its row begins one place further on.
    """
    _, heads, count, reach = away.shape
    ticks = (reach + 1) // 2
    strides = (away.stride(0), away.stride(1), reach - 1, 1)
    return away.as_strided((1, heads, count, ticks), strides, away.storage_offset() + count - 1)
