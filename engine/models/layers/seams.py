"""A stack that reads some ticks at once in seams: graphs between the attentions, and these at their exact length.

What stands between two attentions depends on how many ticks are read alone, so one graph of it serves every length. An
attention behind a mask launches kernels whose grids follow the length, so no graph of it would be met again. Knows no
device: how work becomes a graph is handed in. Entered by the engine thread.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from engine.models.layers.token_stack import TokenStack

# Makes a graph of work: what does it again, and its result, which stays at one address and is written anew each time.
Graphed = Callable[[Callable[[], Any]], tuple[Callable[[], Any], Any]]


class SeamedStack:
    """A stack for one number of ticks; called as the stack is.

    Args:
        stack: Whose layers are run.
        count: Ticks that are read at once.
        width: Of a tick.
        state: The stack's, for its type and device.
        graphed: Makes graphs, each after the one before it; while this is made, the state may be written.
    """

    def __init__(self, stack: TokenStack, count: int, width: int, state: Tensor, graphed: Graphed) -> None:
        self._stack = stack
        self._x = torch.zeros(count, width, dtype=state.dtype, device=state.device)
        self._positions = torch.arange(count, device=state.device)
        again, (query, turn) = graphed(self._begin)
        self._found = torch.zeros(count, query.shape[0] * query.shape[2], dtype=state.dtype, device=state.device)
        self._seams, x = [again], self._x
        self._queries: list[Tensor] = [query]  # of each layer, and the result
        for index in range(stack.layers):
            again, (query, x) = graphed(partial(self._go_on, index, x, turn))
            self._seams.append(again)
            self._queries.append(query)

    def _begin(self) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        turn = self._stack.turn(self._positions, self._x.dtype)
        return self._stack.ask(0, self._x, self._positions, turn), turn

    def _go_on(self, index: int, x: Tensor, turn: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        """The next layer's queries, or the result, and what the layer has made of `x`."""
        x, after = self._stack.answer(index, x, self._found), index + 1
        done = after == self._stack.layers
        return self._stack.last(x) if done else self._stack.ask(after, x, self._positions, turn), x

    def __call__(self, x: Tensor, positions: Tensor, length: int) -> Tensor:
        """Read `x` `[count, width]` at `positions` `[count]`, which end at `length`: `[count, width]`.

        The result stays until the next call.
        """
        self._x.copy_(x)
        self._positions.copy_(positions)
        mask = self._stack.mask(len(x), length)
        self._seams[0]()
        for index, seam in enumerate(self._seams[1:]):
            self._found.copy_(self._stack.attend(index, self._queries[index], length, mask))
            seam()
        return self._queries[-1]
