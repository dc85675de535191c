"""Qwen3-Omni's tail as a stream, at a size for tests, its weights and codes made up: what the laws are tried on.

Entered by whoever holds the laws.
"""

from collections.abc import Generator
from typing import Any

import torch
from torch import Tensor

from engine.models.qwen3_omni.code2wav import Checkpoint, Code2Wav, Window
from engine.models.qwen3_omni.made_up import TINY, make_up
from engine.models.qwen3_omni.timelines import FRAME_HZ, carried
from engine.models.specimen import Specimen, Views, made_up_codes
from engine.plan import Plan
from engine.stage import Ticking, Timeline
from engine.step import Step, carry_out

_FRAMES = Timeline("codes", Ticking(FRAME_HZ, speech=True), "frame")
_ROUNDING = 1e-6  # of full scale: sums of a piece and of the whole are not taken in one order


def specimen() -> Specimen:
    """Two turns, of which the first is also decoded at once."""
    return Specimen((_FRAMES, *carried("codes", TINY.shape())), _Course, script="LSSSFSF", tolerance=_ROUNDING)


class _Course:
    """See `engine.models.specimen.Course`."""

    beside: tuple[Tensor, ...] = ()

    def __init__(self, plan: Plan, views: Views) -> None:
        checkpoint = Checkpoint.of(TINY, make_up(TINY, torch.device("cpu")))
        self._plan, self._ours, self._at_once = plan, Code2Wav(checkpoint, views), Code2Wav(checkpoint, {})
        self._turns: list[list[Tensor]] = [[]]
        self.begin()

    def begin(self) -> None:
        self._turns = [[]]
        self._ours.reset()

    def unit(self, event: str, index: int) -> Generator[Step, Any, Tensor]:
        sounds = [torch.zeros(0)]
        for launch in self._plan.unit(index).stages[_FRAMES.name].launches:
            shape = 1, TINY.codebooks, launch.fed
            codes = yield made_up_codes(_FRAMES.name, launch, shape, TINY.codes, index)
            self._turns[-1].append(codes)
            sound = yield from self._ours.steps(Window(codes, again=0))
            sounds.append(sound[0, 0].clone())
        if event == "F":
            self._turns.append([])
            self._ours.reset()
        return torch.cat(sounds)

    def rehearse(self, stage: str, shape: tuple[int, ...], last: bool) -> Step:
        return self._ours.rehearse(stage, shape, last=last)

    def whole(self) -> Tensor | None:
        codes = torch.cat(self._turns[0], 2)
        return carry_out(self._at_once.steps(Window(codes, again=0)))[0, 0]
