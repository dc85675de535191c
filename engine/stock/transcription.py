"""Memory as the released code takes it, for our own layers to run in where the released package is not to be had.

The released solver and its transformer each make room for 16 steps and 1000 frames before the first word, whatever a
session needs, and give nothing back. Entered by the engine thread.
"""

from collections.abc import Mapping

import torch

from engine.plan import Plan, PlannedState
from engine.stage import Lifetime
from engine.stock.modules import FRAMES, STEPS

_ROOMY = ("flow.attention", "flow.conv")


class ReleasedRoom:
    """A plan's states in torch's memory, as long as the released code makes them; see `engine.arena.Arena`.

    Args:
        plan: Of a session with token2wav's stages.
        device: Where the memory is.
    """

    def __init__(self, plan: Plan, device: torch.device) -> None:
        self._views: dict[str, torch.Tensor] = {}
        self._wholes: list[torch.Tensor] = []
        for state in plan.states:
            shape = _released_shape(state)
            whole = torch.zeros(shape, dtype=getattr(torch, state.dtype), device=device)
            self._wholes.append(whole)
            steps = state.item_shape[0]
            self._views[state.name] = whole[: state.max_ticks, :steps] if state.name in _ROOMY else whole
            if state.name in _ROOMY:  # the transformer's own, beside the solver's, for one step
                self._wholes.append(torch.zeros((shape[0], *shape[2:]), device=device))

    @property
    def reserved_bytes(self) -> int:
        return sum(whole.nbytes for whole in self._wholes)

    @property
    def committed_bytes(self) -> int:
        return self.reserved_bytes

    @property
    def resident_bytes(self) -> int:
        return self.reserved_bytes

    def view(self, state: str) -> torch.Tensor:
        return self._views[state]

    def commit_needed(self, needed: Mapping[str, int]) -> None:
        """Nothing: all of it is there from the start."""

    def commit_ticks(self, state: str, ticks: int) -> None:
        """Nothing: all of it is there from the start."""

    def reset(self, what: str | Lifetime) -> None:
        """Nothing: all of it stays."""


def _released_shape(state: PlannedState) -> tuple[int, ...]:
    if state.name not in _ROOMY:
        return state.max_ticks, *state.item_shape
    ticks = max(FRAMES, state.max_ticks) if state.name == "flow.attention" else state.max_ticks
    return ticks, STEPS, *state.item_shape[1:]
