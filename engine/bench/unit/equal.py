"""Whether ours is the released control flow to the bit: tokens, sound and all that is carried, after every unit.

Entered by the engine thread.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Any

import torch
from torch import Tensor
from transformers import DynamicCache

from engine.bench.unit.columns import CadenceUnit, Heard, Opening, Said, StockUnit
from engine.models.minicpm_o.building import HEARD, SPOKEN, THOUGHT
from engine.stock.caches import keys_values, same_caches


def compare(
    ours: CadenceUnit, stock: StockUnit, opening: Opening, units: Iterator[Heard], count: int
) -> dict[str, Any]:
    """So many units through both, from the opening on; how many were equal, and what differed first."""
    before, equal, samples = ours.addresses, 0, 0
    first: str | None = None
    events: dict[str, int] = {}
    for column in (stock, ours):
        column.begin(opening)
    slides, held = 0, ours.parts.language.held
    for heard in islice(units, count):
        theirs, own = stock.hear(heard), ours.hear(heard)
        wrong = [*_unlike(own, theirs), *carried_unlike(ours, stock)]
        for column in (stock, ours):
            column.rest(heard)
        equal, samples = equal + (not wrong), samples + len(own.sound)
        events[own.event] = events.get(own.event, 0) + 1
        slides += ours.parts.language.held < held
        held = ours.parts.language.held
        if wrong and first is None:
            first = f"unit {heard.index}: {', '.join(wrong)}"
    return {
        "against": stock.name,
        "units": count,
        "equal": equal,
        "first_difference": first,
        "events": events,
        "samples": samples,
        "encoder_resets": stock.conversation.parts.encoder.resets,
        "window_slides": slides,
        "addresses_still": ours.addresses == before,
    }


def _unlike(ours: Said, theirs: Said) -> list[str]:
    names = [name for name in ("event", "drawn", "said", "tokens") if getattr(ours, name) != getattr(theirs, name)]
    return names if torch.equal(ours.sound, theirs.sound) else [*names, "sound"]


def carried_unlike(ours: CadenceUnit, stock: StockUnit) -> list[str]:
    """What is carried otherwise, by name; token2wav's by released name."""
    own, theirs = ours.parts, stock.conversation.parts
    caches = {
        HEARD: (theirs.encoder.cache, own.encoder.held),
        THOUGHT: (theirs.language.cache, own.language.held),
        SPOKEN: (theirs.speech.cache, own.speech.held),
    }
    wrong = [name for name, (cache, held) in caches.items() if not _same(ours.arena.view(name), cache, held)]
    views = {state.name: ours.arena.view(state.name) for state in ours.plan.states}
    same = same_caches(own.token2wav, views, theirs.token2wav)
    return wrong + [name for name, equal in same.items() if not equal]


def _same(state: Tensor, cache: DynamicCache | None, held: int) -> bool:
    """Whether `[ticks, layers, key|value, heads, dim]` is what a cache holds, as far as ours does."""
    if cache is None or not held:
        return not held
    return all(
        torch.equal(state[:held, index, part], whole[0].transpose(0, 1)[:held])
        for index, layer in enumerate(keys_values(cache))
        for part, whole in enumerate(layer)
    )
