"""What a layer carries from launch to launch, written in place into time-major state that was handed in.

Addresses never change here, lengths are plain integers, and nothing asks the device: the same launch can be captured.
Knows tensors and the declared trims. Entered by the engine thread.
"""

from collections.abc import Sequence

import torch
from torch import Tensor


def continued(tail: Tensor, x: Tensor) -> Tensor:
    """`x` with the ticks before it in front; those carried on are then the last of both.

    Args:
        tail: `[k, batch, channels]`, time-major, read and then written over.
        x: `[batch, channels, t]`.

    Returns:
        `[batch, channels, k + t]`, contiguous.
    """
    joined = torch.cat((tail.permute(1, 2, 0), x), 2)
    tail.copy_(joined[..., -len(tail) :].permute(2, 0, 1))
    return joined


def keep(state: Tensor, sources: Sequence[range], shift: Tensor | None) -> None:
    """Keep some ticks of a state in place, in the order given, as `Trim.sources` tells them.

    Ticks that stay where they are are not touched. Others move straight, or, where a move would overlap what is still
    to be moved, through `shift`, one part at a time.

    Args:
        state: `[ticks, parts, ...]`.
        sources: The ticks kept.
        shift: `[ticks moved, ...]`, one part of the state; None where the plan foresees no shift that overlaps.
    """
    moves, overlaps, at = [], False, 0  # (from, to, ticks)
    for number, piece in enumerate(sources):
        end = at + len(piece)
        if piece.start != at:
            moves.append((piece.start, at, len(piece)))
            overlaps |= any(other.start < end and at < other.stop for other in sources[number:])
        at = end
    if not overlaps:
        for start, to, ticks in moves:
            state[to : to + ticks] = state[start : start + ticks]
        return
    assert shift is not None, "the plan has a shift buffer for every state whose shifts may overlap"
    for part in state.unbind(1):
        aside = 0
        for start, _, ticks in moves:
            shift[aside : aside + ticks] = part[start : start + ticks]
            aside += ticks
        aside = 0
        for _, to, ticks in moves:
            part[to : to + ticks] = shift[aside : aside + ticks]
            aside += ticks


def place(state: Tensor, joined: Tensor, sources: Sequence[range]) -> None:
    """Put some ticks of `joined` `[ticks, ...]` into a state, in the order given, from its beginning on."""
    at = 0
    for piece in sources:
        state[at : at + len(piece)] = joined[piece.start : piece.stop]
        at += len(piece)
