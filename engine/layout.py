"""Where each of a plan's states lies in a range of addresses: pure arithmetic, no memory and no torch.

States of a group share their rows, `[t, member, ...]`, so that a tick touches one granule (a page, on the host) and not
one for every member. A block that grows has granules of its own; those that never grow, or fit into a granule at their
longest, lie together at the front.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from math import prod

from engine.errors import AskedWrongly
from engine.plan import PlannedState
from engine.stage import DTYPE_BYTES

ALIGNMENT = 64  # bytes between starts of what lies together: a cache line


@dataclass(frozen=True)
class Block:
    """States that grow together, in the memory that they share.

    Args:
        members: The states in the order of a row: of one element type, with equally many ticks.
        start: Byte at which it begins.
        grows: It has granules of its own, committed as it grows; else it lies with others and is there from the start.
    """

    members: tuple[PlannedState, ...]
    start: int
    grows: bool

    @property
    def row_bytes(self) -> int:
        """Bytes of a tick of all members."""
        return sum(state.item_bytes for state in self.members)

    @property
    def max_bytes(self) -> int:
        """Bytes at the most."""
        return self.members[0].max_ticks * self.row_bytes

    @property
    def end(self) -> int:
        """Byte at which it ends when it is at its longest."""
        return self.start + self.max_bytes

    def is_of(self, stage: str) -> bool:
        """Whether any of its states is of that stage."""
        return any(state.name.startswith(f"{stage}.") for state in self.members)

    @property
    def initial_bytes(self) -> int:
        """Bytes at the start and after a reset."""
        return self.members[0].initial * self.row_bytes


@dataclass(frozen=True)
class Place:
    """Where a state lies, as a strided view wants it; counted in elements of its own type.

    Args:
        offset: Of the first tick, from the start of the range.
        shape: `[max_ticks, *item_shape]`.
        stride: By axis; from tick to tick it is a row of the block.
    """

    offset: int
    shape: tuple[int, ...]
    stride: tuple[int, ...]


@dataclass(frozen=True)
class Layout:
    """A range of addresses and what lies where.

    Args:
        blocks: All blocks, in the order of their starts.
        together_bytes: Bytes at the front, in whole granules, that hold the blocks that lie together.
        size: Bytes of the range, in whole granules.
    """

    blocks: tuple[Block, ...]
    together_bytes: int
    size: int

    def places(self) -> dict[str, tuple[Block, Place]]:
        """By state, its block and its place."""
        found = {}
        for block in self.blocks:
            at = block.start
            for state in block.members:
                element = DTYPE_BYTES[state.dtype]
                inner = [prod(state.item_shape[axis + 1 :]) for axis in range(len(state.item_shape))]
                place = Place(at // element, (state.max_ticks, *state.item_shape), (block.row_bytes // element, *inner))
                found[state.name] = block, place
                at += state.item_bytes
        return found


def lay_out(states: Iterable[PlannedState], granule: int) -> Layout:
    """Find every state its place.

    Args:
        states: The plan's.
        granule: Bytes that are committed or given back at a time.

    Raises:
        AskedWrongly: States of one group do not grow together.
    """
    groups: dict[tuple[str, str], list[PlannedState]] = {}
    for state in states:
        groups.setdefault((state.group or state.name, state.dtype), []).append(state)
    blocks = [Block(tuple(members), 0, _grows(members, granule)) for members in groups.values()]
    placed, at = [], 0
    for block in (block for block in blocks if not block.grows):
        placed.append(Block(block.members, at, grows=False))
        at = up_to(at + block.max_bytes, ALIGNMENT)
    together_bytes = at = up_to(at, granule)
    for block in (block for block in blocks if block.grows):
        placed.append(Block(block.members, at, grows=True))
        at = up_to(at + block.max_bytes, granule)
    return Layout(tuple(placed), together_bytes, at)


def up_to(size: int, whole: int) -> int:
    """`size`, rounded up to a multiple of `whole`."""
    return -(-size // whole) * whole


def _grows(members: list[PlannedState], granule: int) -> bool:
    first = members[0]
    for state in members:
        if (state.max_ticks, state.initial, state.reset) != (first.max_ticks, first.initial, first.reset):
            raise AskedWrongly(
                f"group {first.group}: {first.name} holds {first.initial} to {first.max_ticks} ticks of a "
                f"{first.reset}, {state.name} {state.initial} to {state.max_ticks} of a {state.reset}",
                "states of one group grow, shrink and end together",
                "correct the model's timelines",
            )
    return first.initial < first.max_ticks and first.max_ticks * sum(one.item_bytes for one in members) > granule
