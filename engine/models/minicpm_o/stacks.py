"""`TokenStack` as MiniCPM-o's released demo runs its two: with rounded rotary rates, and one with the eager attention.

And how far each has read, as the host and the device count it.

The demo (`core/processors/unified.py`) loads the model and then casts all of it to bfloat16, and with it the rates of
the rotary positions, which transformers otherwise keeps in float32: 1/100 is then 0.01001. The released answer is the
one with these rates. Entered by the engine thread.
"""

from collections.abc import Mapping

import torch
from torch import Tensor
from torch.nn import functional

from engine.models.layers.decoder_stack import StackSizes
from engine.models.layers.named import Named
from engine.models.layers.seams import Graphed, SeamedStack
from engine.models.layers.token_stack import TokenStack


def stack_weights(weights: Named) -> dict[str, Tensor]:
    """What stands below `model`, by the names that a `TokenStack` knows."""
    prefix = f"{weights.prefix}model."
    return {name.removeprefix(prefix): each for name, each in weights.tensors.items() if name.startswith(prefix)}


class RoundedStack(TokenStack):
    """A stack whose rotary rates are of the weights' type; see `TokenStack`."""

    def __init__(self, weights: Mapping[str, Tensor], sizes: StackSizes, keys_values: Tensor) -> None:
        super().__init__(weights, sizes, keys_values)
        self._rates = self._rates.to(keys_values.dtype).float()


class EagerStack(RoundedStack):
    """And whose attention is transformers' eager one: matrix products, and a softmax in float32."""

    def mask(self, count: int, length: int) -> Tensor | None:
        """What each of the last `count` of `length` ticks sees, bool `[count, length]`; None for a token alone."""
        if count == 1:
            return None
        return torch.ones(count, length, dtype=torch.bool, device=self._keys_values.device).tril(length - count)

    def attend(self, index: int, query: Tensor, length: int, mask: Tensor | None = None) -> Tensor:
        keys, values = self._keys_values[:length, index].permute(1, 2, 0, 3).unsqueeze(1)  # each [1, kv_heads, t, dim]
        keys, values = (part.repeat_interleave(len(query) // part.shape[1], 1) for part in (keys, values))
        found = torch.matmul(query.unsqueeze(0), keys.transpose(2, 3)) * self._sizes.dim**-0.5
        if mask is not None:
            found = found.masked_fill(~mask, torch.finfo(found.dtype).min)
        found = torch.matmul(functional.softmax(found, -1, dtype=torch.float32).to(query.dtype), values)
        return found[0].transpose(0, 1).flatten(1)


class Reader:
    """A stack, and how many ticks it holds: a number for shapes, and one on the device for positions.

    Args:
        stack: Reads at positions.
        sizes: Of the stack.
        longest: Rows that it is ever handed at once.
        state: Its keys and values.
    """

    def __init__(self, stack: TokenStack, sizes: StackSizes, longest: int, state: Tensor) -> None:
        self._stack, self._sizes, self._state = stack, sizes, state
        self._seamed: dict[int, SeamedStack] = {}  # by how many ticks are read at once
        self._ahead = torch.arange(longest, device=state.device)
        self._query = torch.zeros(sizes.heads, 1, sizes.dim, dtype=state.dtype, device=state.device)
        self.at = torch.zeros(1, dtype=torch.int64, device=state.device)  # written by every step, beside the state
        self.held = 0

    def hold(self, ticks: int) -> None:
        """Hold so many ticks, on both sides: what came later is forgotten."""
        self.held = ticks
        self.at.fill_(ticks)

    def seam(self, count: int, graphed: Graphed) -> None:
        """From now on read `count` ticks at once in seams; meanwhile the state may be written."""
        self._seamed[count] = SeamedStack(self._stack, count, self._sizes.width, self._state, graphed)

    def is_seamed(self, count: int) -> bool:
        """Whether so many ticks are read in seams."""
        return count in self._seamed

    def probe(self, length: int) -> Tensor:
        """The least that decides a token's kernels at a length: one layer's attention."""
        return self._stack.attend(0, self._query, length)

    def __call__(self, x: Tensor, length: int) -> Tensor:
        """Read `x` `[n, width]`, which ends at tick `length`: `[n, width]`. The host's count is the caller's."""
        positions = self.at + self._ahead[: len(x)]
        self.at += len(x)
        whole = len(x) == length  # a kernel of its own, whose mask is built in
        return (self._stack if whole else self._seamed.get(len(x), self._stack))(x, positions, length)
