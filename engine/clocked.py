"""Clocked graphs: what of a captured graph follows the clock, found by difference and written before each launch.

A layer stack that decodes token by token launches the same kernels at every length, with a few other numbers in their
arguments. Captured at some ticks of one regime (the lengths in which kernels and grids stay the same) those numbers
show: a word that is the same everywhere is a constant; one that moves within the graphs' own memory is scratch, and
stays as captured; one that is a known function of the tick is the clock's. A word that is none of these means that this
way cannot be gone, and says so.

Arithmetic alone: knows no driver and no model, and is handed what was read of the graphs. Entered by [engine].
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

Addresses = Sequence[range]  # ranges of device memory
ROUNDED = tuple(1 << power for power in range(2, 11))  # multiples to which kernels are known to round lengths up


class NotClocked(Exception):
    """No clocked graph can be had; says why, in one line."""


@dataclass(frozen=True)
class Node:
    """A node of a captured graph.

    Args:
        kind: A kernel's name, or "copy", "fill": what is not a kernel may not follow the clock.
        form: All of it but its arguments: grid, block, shared memory.
        arguments: A kernel's parameters, one after the other, as it will read them.
    """

    kind: str
    form: Hashable
    arguments: bytes
    is_kernel: bool = True

    @property
    def signature(self) -> Hashable:
        """What stays the same throughout a regime."""
        return self.kind, self.form, len(self.arguments)


@dataclass(frozen=True)
class Word:
    """A word that follows the clock: at tick n it is `base + per_tick * round_up(n, multiple)`.

    Args:
        node: Whose argument, counted in the graph's order.
        offset: Bytes from the start of its arguments.
        size: Bytes, 4 or 8; little-endian.
        base: See above.
        per_tick: See above.
        multiple: See above.
    """

    node: int
    offset: int
    size: int
    base: int
    per_tick: int
    multiple: int = 1

    def at(self, tick: int) -> bytes:
        """What stands there when `tick` is the length."""
        value = self.base + self.per_tick * _up_to(tick, self.multiple)
        return (value % (1 << 8 * self.size)).to_bytes(self.size, "little")


def clock_words(captures: Mapping[int, Sequence[Node]], arena: Addresses, scratch: Addresses) -> tuple[Word, ...]:
    """The words of a regime's graph that follow the clock.

    Args:
        captures: The graph by tick, of at least three ticks: the regime's first, the one after, and its last, so that a
            word that moves seldom is seen to move.
        arena: Where states lie; an address there may follow the clock.
        scratch: Where the graphs' own memory lies.

    Raises:
        NotClocked: The captures are not of one regime, or a word is neither constant, scratch nor the clock's.
    """
    ticks = sorted(captures)
    assert len(ticks) >= 3, "two ticks cannot tell a line from a coincidence"
    graphs = [captures[tick] for tick in ticks]
    if len({len(graph) for graph in graphs}) > 1:
        counts = ", ".join(f"{len(graph)} at {tick}" for tick, graph in zip(ticks, graphs, strict=True))
        raise NotClocked(f"the number of nodes follows the length: {counts}")
    found: list[Word] = []
    for index, nodes in enumerate(zip(*graphs, strict=True)):
        if len({node.signature for node in nodes}) > 1:
            raise NotClocked(f"node {index} ({nodes[0].kind}) is another at another length")
        found += _words(index, nodes, ticks, arena, scratch)
    return tuple(found)


def _words(index: int, nodes: Sequence[Node], ticks: Sequence[int], arena: Addresses, scratch: Addresses) -> list[Word]:
    found, offset, length = list[Word](), 0, len(nodes[0].arguments)
    while offset < length:
        size = 4 if offset % 8 or offset + 8 > length else 8
        values = [int.from_bytes(node.arguments[offset : offset + size], "little") for node in nodes]
        if size == 8 and len(set(values)) > 1 and not _are_addresses(values, arena, scratch):
            size = 4  # two numbers that stand side by side
            values = [int.from_bytes(node.arguments[offset : offset + size], "little") for node in nodes]
        if len(set(values)) > 1 and not (size == 8 and _within(values, scratch)):
            function = _function(ticks, values, size)
            if function is None or not nodes[0].is_kernel:
                shown = ", ".join(f"{value} at {tick}" for tick, value in zip(ticks, values, strict=True))
                raise NotClocked(f"byte {offset} of node {index} ({nodes[0].kind}) follows no known clock: {shown}")
            found.append(Word(index, offset, size, *function))
        offset += size
    return found


def _function(ticks: Sequence[int], values: Sequence[int], size: int) -> tuple[int, int, int] | None:
    """Base, slope and multiple of a word that is not constant; None where no known function tells it."""
    signed = [value - (1 << 8 * size) if value >> (8 * size - 1) else value for value in values]
    for multiple in (1, *ROUNDED):
        at = [_up_to(tick, multiple) for tick in ticks]
        moved = next(other for other in range(len(at)) if at[other] != at[0]) if len(set(at)) > 1 else None
        if moved is None:
            continue
        per_tick, rest = divmod(signed[moved] - signed[0], at[moved] - at[0])
        base = signed[0] - per_tick * at[0]
        if not rest and all(value == base + per_tick * tick for value, tick in zip(signed, at, strict=True)):
            return base, per_tick, multiple
    return None


def regimes(signature: Callable[[int], Hashable], ticks: range, stride: int) -> list[range]:
    """Divide lengths into regimes, by probing every `stride`-th and then the borders between those that differ.

    Args:
        signature: Of a probe captured at a length: its nodes' signatures. Asked once for each length.
        ticks: All lengths; of step 1, not empty.
        stride: A regime shorter than it may be missed, and is then met as a graph that does not check.
    """
    known: dict[int, Any] = {}

    def at(tick: int) -> Any:
        if tick not in known:
            known[tick] = signature(tick)
        return known[tick]

    starts, probes = [ticks[0]], [*ticks[::stride], ticks[-1]]
    for low, high in pairwise(probes):
        starts += _borders(at, low, high)
    return [range(start, end) for start, end in zip(starts, [*starts[1:], ticks[-1] + 1], strict=True)]


def _borders(at: Callable[[int], Any], low: int, high: int) -> list[int]:
    """First lengths of regimes that begin after `low`, up to `high`: halved until they lie side by side."""
    if at(low) == at(high):
        return []
    if high - low == 1:
        return [high]
    middle = (low + high) // 2
    return _borders(at, low, middle) + _borders(at, middle, high)


def _are_addresses(values: Sequence[int], arena: Addresses, scratch: Addresses) -> bool:
    return _within(values, scratch) or _within(values, arena)


def _within(values: Sequence[int], memory: Addresses) -> bool:
    return all(any(value in one for one in memory) for value in values)


def _up_to(value: int, multiple: int) -> int:
    return -(-value // multiple) * multiple
