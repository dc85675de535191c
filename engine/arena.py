"""The memory that a plan's states live in: reserved once, committed as the plan demands, at addresses that never move.

Only carries out: the plan says how much, `engine.layout` where, and `engine.memory` gets it from the system. A state is
one view of its whole future length, of which the committed ticks may be touched. Knows no model. Entered by [engine].
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from mmap import PAGESIZE
from typing import Protocol

import torch

from engine.errors import AskedWrongly, NoRoom
from engine.layout import Block, Layout, lay_out, up_to
from engine.memory import HostMemory, Memory, reserve
from engine.memory.device import DeviceMemory, Driver
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
            NoRoom: There is not that much memory to spare; says for which state, and how much of it fits.
        """
        ...

    def commit_ticks(self, state: str, ticks: int) -> None:
        """Commit the first `ticks` ticks of a state and of its group. What is there is kept; what is new is zero.

        Raises:
            AskedWrongly: More ticks than the plan ever foresees.
            NoRoom: There is not that much memory to spare; says how much of the state fits. All is as it was.
        """
        ...

    def reset(self, what: str | Lifetime) -> None:
        """Give back all but the initial ticks of a state and its group, or of all states of a lifetime.

        The initial ticks are left as they stand; all others are zero when they are committed again.
        """
        ...


class PlannedArena:
    """A plan's states in some memory; see `Arena`.

    Args:
        layout: Where each state lies.
        memory: Of at least the layout's size, in pages of the layout's granule.
        whole: The same memory as a tensor, uint8 `[size]`.

    Raises:
        NoRoom: There is no memory for what is there from the start.
    """

    def __init__(self, layout: Layout, memory: Memory, whole: Callable[[], torch.Tensor]) -> None:
        self._layout, self._memory = layout, memory
        self._backed = {block.start: 0 for block in layout.blocks if block.grows}  # bytes, in whole pages
        self._block: dict[str, Block] = {}
        self._view: dict[str, torch.Tensor] = {}
        if layout.together_bytes:
            memory.commit(0, layout.together_bytes)
        self._whole = whole()
        for state, (block, place) in layout.places().items():
            typed = self._whole.view(getattr(torch, block.members[0].dtype))
            self._view[state] = typed.as_strided(place.shape, place.stride, place.offset)
            self._block[state] = block

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
        end = up_to(ticks * block.row_bytes, self._memory.page_bytes)
        if block.grows and end > (backed := self._backed[block.start]):
            try:
                self._memory.commit(block.start + backed, block.start + end)
            except NoRoom as error:
                self._memory.release(block.start + backed, block.start + end)  # what of it could be had
                raise self._no_room(error, block, ticks) from error
            self._backed[block.start] = end

    def reset(self, what: str | Lifetime) -> None:
        lifetimes = [block for block in self._layout.blocks if block.members[0].reset == what]
        for block in lifetimes if what in list(Lifetime) else [self._block[what]]:
            self._give_back(block)

    def _give_back(self, block: Block) -> None:
        backed = self._backed[block.start] if block.grows else block.max_bytes
        keep = min(up_to(block.initial_bytes, self._memory.page_bytes), backed) if block.grows else backed
        self._whole[block.start + block.initial_bytes : block.start + keep].zero_()
        if keep < backed:
            self._memory.release(block.start + keep, block.start + backed)
            self._backed[block.start] = keep

    def _no_room(self, error: NoRoom, block: Block, ticks: int) -> NoRoom:
        page, first = self._memory.page_bytes, block.members[0]
        spare = self._memory.available_bytes() // page * page
        fits = min((self._backed[block.start] + spare) // block.row_bytes, ticks - 1)
        what = f"{first.group} ({len(block.members)} states)" if len(block.members) > 1 else first.name
        return NoRoom(f"{what}: {fits:,} of {ticks:,} ticks fit: {error.came}", error.needed, error.remedy)


class HostArena(PlannedArena):
    """An arena in this machine's own memory; see `Arena`.

    Args:
        plan: Says what states there are and how long they can become.
        reserve: Gets the addresses.

    Raises:
        AskedWrongly: States of one group do not grow together.
        NoRoom: There are not that many addresses to be had, or no memory for what is there from the start.
    """

    def __init__(self, plan: Plan, reserve: Callable[[int], HostMemory] = reserve) -> None:
        layout = lay_out(plan.states, PAGESIZE)
        memory = reserve(layout.size)
        super().__init__(layout, memory, lambda: torch.from_numpy(memory.data))


class TensorDriver(Driver, Protocol):
    """A device's driver that gives its memory to torch."""

    def tensor(self, memory: DeviceMemory) -> torch.Tensor:
        """The whole of a range whose first granule is committed, uint8 `[size]`."""
        ...


class DeviceArena(PlannedArena):
    """An arena in a device's memory; see `Arena`.

    Committing waits for no kernel; and what is given back may still be used by all that the device was asked before.

    Args:
        plan: Says what states there are and how long they can become.
        driver: The device's.

    Raises:
        AskedWrongly: States of one group do not grow together.
        NoRoom: There are not that many addresses to be had, or no memory for what is there from the start.
    """

    def __init__(self, plan: Plan, driver: TensorDriver) -> None:
        layout = lay_out(plan.states, driver.granule_bytes)
        self._device_memory = memory = DeviceMemory(driver, layout.size)

        def whole() -> torch.Tensor:
            memory.commit(0, memory.page_bytes)  # torch asks the driver what is there
            tensor = driver.tensor(memory)
            if not layout.together_bytes:
                memory.release(0, memory.page_bytes)
            return tensor

        try:
            super().__init__(layout, memory, whole)
        except BaseException:
            memory.close()
            raise

    def commit_needed(self, needed: Mapping[str, int]) -> None:
        self._device_memory.collect()
        super().commit_needed(needed)

    @contextmanager
    def set_aside(self, stage: str) -> Iterator[None]:
        """While entered, all planned ticks of a stage's states may be written, and nothing that is written stays.

        Ticks of a state that grows share memory meanwhile, so what is read there is of no use; but it is of the state's
        own type, and zero to begin with. Waits for the device on the way in and on the way out.

        Raises:
            NoRoom: There is no granule to spare for each state that grows.
        """
        blocks = [block for block in self._layout.blocks if block.grows and block.is_of(stage)]
        page, front = self._memory.page_bytes, self._whole[: self._layout.together_bytes]
        kept = front.clone()
        try:
            with self._device_memory.set_aside([(each.start, up_to(each.end, page)) for each in blocks]):
                yield
        finally:
            front.copy_(kept)

    def close(self) -> None:
        """Give everything back now, not with the last view; nobody may touch one any more."""
        self._device_memory.close()
