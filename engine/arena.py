"""The memory that a plan's states live in: reserved once, committed as the plan demands, at addresses that never move.

Only carries out: the plan says how much, `engine.layout` where, and `engine.memory` gets it from the system. A state is
one view of its whole future length, of which the committed ticks may be touched. Knows no model. Entered by [engine].
"""

from collections.abc import Callable, Mapping
from mmap import PAGESIZE
from typing import Protocol

import torch

from engine.errors import AskedWrongly
from engine.layout import Block, lay_out, up_to
from engine.memory import Memory, reserve
from engine.plan import Plan
from engine.stage import Lifetime


class Arena(Protocol):
    """What a session and its model ask of an arena, wherever its memory is."""

    @property
    def reserved_bytes(self) -> int:
        """Bytes of addresses."""
        ...

    @property
    def committed_bytes(self) -> int:
        """Bytes that have been asked of the system and not given back."""
        ...

    @property
    def resident_bytes(self) -> int:
        """Bytes that have memory behind them, as the system tells."""
        ...

    def view(self, state: str) -> torch.Tensor:
        """The whole of a state, `[max_ticks, *item_shape]`: always the same tensor, at the same address.

        Only ticks that have been committed may be touched.
        """
        ...

    def commit_needed(self, needed: Mapping[str, int]) -> None:
        """Commit so many ticks of so many states, as `Plan.ahead` tells of a conversation and `Plan.unit` of a script.

        Raises:
            AskedWrongly: More ticks than the plan ever foresees.
            NoRoom: The machine has not that much memory to spare.
        """
        ...

    def commit_ticks(self, state: str, ticks: int) -> None:
        """Commit the first `ticks` ticks of a state and of its group. What is there is kept; what is new is zero.

        Raises:
            AskedWrongly: More ticks than the plan ever foresees.
            NoRoom: The machine has not that much memory to spare.
        """
        ...

    def reset(self, what: str | Lifetime) -> None:
        """Give back all but the initial ticks of a state and its group, or of all states of a lifetime.

        The initial ticks are left as they stand; all others are zero when they are committed again.
        """
        ...


class HostArena:
    """An arena in this machine's own memory; see `Arena`.

    Args:
        plan: Says what states there are and how long they can become.
        reserve: Gets the addresses.

    Raises:
        AskedWrongly: States of one group do not grow together.
        NoRoom: There are not that many addresses to be had, or no memory for what is there from the start.
    """

    def __init__(self, plan: Plan, reserve: Callable[[int], Memory] = reserve) -> None:
        self._layout = lay_out(plan.states, PAGESIZE)
        self._memory = reserve(self._layout.size)
        self._backed = {block.start: 0 for block in self._layout.blocks if block.grows}  # bytes, in whole pages
        self._block: dict[str, Block] = {}
        self._view: dict[str, torch.Tensor] = {}
        whole = torch.from_numpy(self._memory.data)  # uint8 [size]
        for state, (block, place) in self._layout.places().items():
            typed = whole.view(getattr(torch, block.members[0].dtype))
            self._view[state] = typed.as_strided(place.shape, place.stride, place.offset)
            self._block[state] = block
        if self._layout.together_bytes:
            self._memory.commit(0, self._layout.together_bytes)

    @property
    def reserved_bytes(self) -> int:
        return self._layout.size

    @property
    def committed_bytes(self) -> int:
        return self._layout.together_bytes + sum(self._backed.values())

    @property
    def resident_bytes(self) -> int:
        return self._memory.resident_bytes()

    def view(self, state: str) -> torch.Tensor:
        return self._view[state]

    def commit_needed(self, needed: Mapping[str, int]) -> None:
        for state, ticks in needed.items():
            self.commit_ticks(state, ticks)

    def commit_ticks(self, state: str, ticks: int) -> None:
        block = self._block[state]
        if ticks > (most := block.members[0].max_ticks):
            raise AskedWrongly(f"{ticks} ticks of {state}", f"at most {most}, as planned", "plan for a longer session")
        end = up_to(ticks * block.row_bytes, PAGESIZE)
        if block.grows and end > (backed := self._backed[block.start]):
            self._memory.commit(block.start + backed, block.start + end)
            self._backed[block.start] = end

    def reset(self, what: str | Lifetime) -> None:
        lifetimes = [block for block in self._layout.blocks if block.members[0].reset == what]
        for block in lifetimes if what in list(Lifetime) else [self._block[what]]:
            self._give_back(block)

    def _give_back(self, block: Block) -> None:
        backed = self._backed[block.start] if block.grows else block.max_bytes
        keep = min(up_to(block.initial_bytes, PAGESIZE), backed) if block.grows else backed
        self._memory.data[block.start + block.initial_bytes : block.start + keep] = 0
        if keep < backed:
            self._memory.release(block.start + keep, block.start + backed)
            self._backed[block.start] = keep
