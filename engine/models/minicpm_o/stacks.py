"""`TokenStack` as MiniCPM-o's released demo runs its two: with rounded rotary rates, and one with the eager attention.

The demo (`core/processors/unified.py`) loads the model and then casts all of it to bfloat16, and with it the rates of
the rotary positions, which transformers otherwise keeps in float32: 1/100 is then 0.01001. The released answer is the
one with these rates. Entered by the engine thread.
"""

from collections.abc import Mapping

import torch
from torch import Tensor
from torch.nn import functional

from engine.models.layers.decoder_stack import StackSizes
from engine.models.layers.token_stack import TokenStack


class RoundedStack(TokenStack):
    """A stack whose rotary rates are of the weights' type; see `TokenStack`."""

    def __init__(self, weights: Mapping[str, Tensor], sizes: StackSizes, keys_values: Tensor) -> None:
        super().__init__(weights, sizes, keys_values)
        self._rates = self._rates.to(keys_values.dtype).float()

    @property
    def rates(self) -> Tensor:
        """Radians that each pair of a head turns by from one position to the next, float32 `[dim / 2]`."""
        return self._rates


class EagerStack(RoundedStack):
    """And whose attention is transformers' eager one: matrix products, and a softmax in float32."""

    def attend(self, index: int, query: Tensor, length: int, mask: Tensor | None = None) -> Tensor:
        keys, values = self._keys_values[:length, index].permute(1, 2, 0, 3).unsqueeze(1)  # each [1, kv_heads, t, dim]
        keys, values = (part.repeat_interleave(len(query) // part.shape[1], 1) for part in (keys, values))
        found = torch.matmul(query.unsqueeze(0), keys.transpose(2, 3)) * self._sizes.dim**-0.5
        if (count := query.shape[1]) > 1:
            if mask is None:
                mask = torch.ones(count, length, dtype=torch.bool, device=query.device).tril(length - count)
            found = found.masked_fill(~mask, torch.finfo(found.dtype).min)
        found = torch.matmul(functional.softmax(found, -1, dtype=torch.float32).to(query.dtype), values)
        return found[0].transpose(0, 1).flatten(1)
