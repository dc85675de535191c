"""What the released driver carries and what ours carries: told apart bit by bit, and handed from ours to it.

Entered by the engine thread.
"""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from transformers import DynamicCache

from engine.models.token2wav.unit import Token2Wav
from engine.stock.driver import ReleasedDriver


def keys_values(cache: DynamicCache | None) -> list[tuple[Tensor, Tensor]]:
    """What a dynamic cache holds, by layer: keys and values, each `[1, heads, ticks, dim]`."""
    layers: list[Any] = [] if cache is None else cache.layers
    return [(layer.keys, layer.values) for layer in layers if layer.keys is not None]


def carried(ours: Token2Wav, views: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """What ours carries, in the released names and shapes, as views; the conformer's attention in its two halves."""
    held, frames = ours.encoder.held, ours.flow.held
    tails = torch.cat((views["flow_encoder.look_ahead_conv"], views["flow_encoder.upsample_conv"]))
    found = {
        "conformer_cnn_cache": tails.permute(1, 2, 0),
        "conformer_att_cache, before": views["flow_encoder.attention"][:held].permute(1, 2, 3, 0, 4),
        "conformer_att_cache, after": views["flow_encoder.up_attention"][: 2 * held].permute(1, 2, 3, 0, 4),
        "estimator_cnn_cache": views["flow.conv"].permute(1, 2, 3, 4, 0),
        "estimator_att_cache": views["flow.attention"][:frames].permute(1, 2, 3, 4, 0, 5),
    }
    if ours.vocoder.held:
        found |= {name: views[f"vocoder.{name}"].movedim(0, -1) for name in ("mel", "source", "speech")}
    return found


def same_caches(ours: Token2Wav, views: Mapping[str, Tensor], released: ReleasedDriver) -> dict[str, bool]:
    """By released name, whether ours carries what the released caches carry, tick for tick and bit for bit."""
    theirs, found = dict(released.caches), carried(ours, views)
    attention, layers, held = theirs["conformer_att_cache"], ours.sizes.flow.encoder.layers, ours.encoder.held
    theirs["conformer_att_cache, before"] = attention[:layers, :, :, :held]
    theirs["conformer_att_cache, after"] = attention[layers:]
    for name in ("estimator_cnn_cache", "estimator_att_cache"):  # released, with steps that no solver takes
        theirs[name] = theirs[name][: len(found[name])]
    return {name: torch.equal(one, theirs[name]) for name, one in found.items()}


def hand_over(ours: Token2Wav, views: Mapping[str, Tensor], released: ReleasedDriver) -> None:
    """Let the released driver go on from where ours stands, in the middle of a turn; copies."""
    found = {name: one.clone(memory_format=torch.contiguous_format) for name, one in carried(ours, views).items()}
    before, after = (found.pop(f"conformer_att_cache, {part}") for part in ("before", "after"))
    found["conformer_att_cache"] = torch.cat((before.repeat(1, 1, 1, 2, 1), after))
    for name in ("estimator_cnn_cache", "estimator_att_cache"):
        steps = len(released.caches[name])
        whole = found[name].new_zeros(steps, *found[name].shape[1:])
        whole[: len(found[name])] = found[name]
        found[name] = whole
    released.carry(found)
