"""Ours and the released code over the same seconds, stage by stage: the first whose bits differ.

All stages after it only follow. Of ours a stage's result is what its step comes to; of the released code it is taken
where it is handed on. Entered by the engine thread.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from engine.bench.unit.columns import CadenceUnit, Heard, Opening, Said, StockUnit
from engine.bench.unit.equal import carried_unlike
from engine.bench.unit.verdict import Difference
from engine.models.minicpm_o.audio_encoder import STAGE as AUDIO_ENCODER
from engine.models.minicpm_o.building import HEARD, SPOKEN, THOUGHT
from engine.models.minicpm_o.language import DECODE, PREFILL
from engine.models.minicpm_o.speech_decoder import STAGE as TTS
from engine.models.token2wav.encoding import STAGE as FLOW_ENCODER
from engine.models.token2wav.flowing import STAGE as FLOW
from engine.models.token2wav.sounding import STAGE as VOCODER

STAGES = {  # in the order that they work in, by what a person calls them
    "audio encoder": (AUDIO_ENCODER, HEARD),
    "language model": (PREFILL, DECODE, THOUGHT),
    "speech decoder": (TTS, SPOKEN),
    "flow encoder": (FLOW_ENCODER, "conformer_cnn_cache", "conformer_att_cache, before", "conformer_att_cache, after"),
    "flow": (FLOW, "estimator_cnn_cache", "estimator_att_cache"),
    "vocoder": (VOCODER, "mel", "source", "speech"),
}
Notes = dict[str, list[Tensor]]


def compare_stages(
    ours: CadenceUnit, stock: StockUnit, opening: Opening, heard: list[Heard], tell: Callable[[str], None]
) -> Difference | None:
    """Both, second by second, until one is not the other's.

    Args:
        ours: Prepared.
        stock: Over the same weights.
        opening: What the session begins with.
        heard: The seconds.
        tell: Told what is at work.
    """
    with _noting_ours(ours) as own, _noting_stock(stock) as theirs:
        for column in (stock, ours):
            column.begin(opening)
        for second in heard:
            tell(f"comparing second {second.index + 1} of {len(heard)}")
            own.clear()
            theirs.clear()
            said = stock.hear(second), ours.hear(second)
            wrong = {*_results_unlike(own, theirs), *carried_unlike(ours, stock), *_said_unlike(*said)}
            # What carries the voice was worked out before anybody listened: it is looked at once its stage has run.
            ran = list(STAGES)[: 2 if said[0].event == said[1].event == "LISTEN" else None]
            for stage in ran:
                if wrong.intersection(STAGES[stage]):
                    return Difference(stage, second.index + 1)
            for column in (stock, ours):
                column.rest(second)
    return None


def _said_unlike(one: Said, other: Said) -> Iterator[str]:
    if (one.event, one.drawn, one.said) != (other.event, other.drawn, other.said):
        yield DECODE
    if one.tokens != other.tokens:
        yield TTS
    if not torch.equal(one.sound, other.sound):
        yield VOCODER


def _results_unlike(own: Notes, theirs: Notes) -> Iterator[str]:
    for stage in {*own, *theirs}:
        mine, other = own.get(stage, []), theirs.get(stage, [])
        if len(mine) != len(other) or not all(torch.equal(a, b) for a, b in zip(mine, other, strict=True)):
            yield stage


class _Listening:
    """A runtime that notes what stages result in."""

    def __init__(self, runtime: Any, notes: Notes) -> None:
        self._runtime, self._notes = runtime, notes

    def __getattr__(self, name: str) -> Any:
        return getattr(self._runtime, name)

    def execute(self, step: Any, origin_ns: int) -> Any:
        result, record = self._runtime.execute(step, origin_ns)
        heard = step.stage == PREFILL and step.shape[0] > 1  # the mark before it is one token, and nobody asks
        if (heard or step.stage == DECODE) and isinstance(result, tuple):
            _note(self._notes, DECODE, *result)
        elif step.stage in (AUDIO_ENCODER, FLOW_ENCODER, FLOW):
            _note(self._notes, step.stage, result)
        return result, record


def _note(notes: Notes, stage: str, *results: Tensor) -> None:
    notes.setdefault(stage, []).extend(each.clone() for each in results)


@contextmanager
def _noting_ours(ours: CadenceUnit) -> Iterator[Notes]:
    notes: Notes = {}
    runtime = ours.runtime
    ours.runtime = _Listening(runtime, notes)
    try:
        yield notes
    finally:
        ours.runtime = runtime


@contextmanager
def _noting_stock(stock: StockUnit) -> Iterator[Notes]:
    """Notes the same of the released code, at the places where it hands on."""
    notes: Notes = {}
    language, flow = stock.conversation.parts.language, stock.conversation.parts.token2wav.own.flow
    feed, solve = language.feed, flow.inference_chunk

    def fed(x: Tensor, *, asked: bool = False) -> Any:
        found = feed(x, asked=asked)
        if found is not None:
            if len(x) > 1:  # what was heard
                _note(notes, AUDIO_ENCODER, x)
            _note(notes, DECODE, found[0][0], found[1][0, -1:])
        return found

    def solved(*args: Any, **options: Any) -> Any:
        found = solve(*args, **options)
        _note(notes, FLOW, found[0])
        return found

    def projected(module: Any, args: Any, result: Tensor) -> None:
        _note(notes, FLOW_ENCODER, result.transpose(1, 2))

    handle = flow.encoder_proj.register_forward_hook(projected)
    language.feed, flow.inference_chunk = fed, solved  # type: ignore[method-assign]
    try:
        yield notes
    finally:
        del language.feed, flow.inference_chunk
        handle.remove()
