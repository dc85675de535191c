"""Qwen2.5-Omni's tail at a size for tests, its weights and codes made up: what the laws are tried on.

Entered by whoever holds the laws.
"""

from collections.abc import Generator
from typing import Any

import torch
from torch import Tensor

from engine.clock import Rate
from engine.models.qwen2_5_omni.checkpoint import Checkpoint
from engine.models.qwen2_5_omni.made_up import TINY, make_up, make_up_voice
from engine.models.qwen2_5_omni.timelines import CODE_HZ, token2wav
from engine.models.qwen2_5_omni.unit import Token2Wav
from engine.models.qwen2_5_omni.windows import Windows
from engine.models.specimen import Specimen, Views, made_up_codes
from engine.plan import Plan
from engine.stage import Ticking, Timeline
from engine.step import Step

_CODES = Timeline("codes", Ticking(Rate(CODE_HZ), speech=True), "code")


def specimen() -> Specimen:
    """Two turns. It says of no whole: a window is an answer of its own, and windows are not one long one."""
    return Specimen((_CODES, *token2wav("codes", mels=TINY.flow.channels)), _Course, script="LSSFSF")


class _Course:
    """See `engine.models.specimen.Course`."""

    beside: tuple[Tensor, ...] = ()

    def __init__(self, plan: Plan, views: Views) -> None:
        self._plan, (_, self._line, _) = plan, plan.timelines
        self._ours = Token2Wav(Checkpoint.of(TINY, make_up(TINY, torch.device("cpu"))), views)
        self._ours.prepare(make_up_voice(TINY))
        self._generator = torch.Generator()
        self.begin()

    def begin(self) -> None:
        self._generator.manual_seed(1)
        self._end_turn()

    def _end_turn(self) -> None:
        self._windows = Windows(self._line, self._draw)
        self._ours.reset()

    def _draw(self, frames: int) -> Tensor:
        return torch.randn(1, frames, TINY.flow.channels, generator=self._generator)

    def unit(self, event: str, index: int) -> Generator[Step, Any, Tensor]:
        sounds = [torch.zeros(0)]
        for launch in self._plan.unit(index).stages[_CODES.name].launches:
            codes = yield made_up_codes(_CODES.name, launch, (1, launch.fed), TINY.codes - 1, index)
            for window in self._windows.add(codes, last=event == "F"):
                sound = yield from self._ours.steps(window)
                sounds.append(sound[0].clone())
        if event == "F":
            self._end_turn()
        return torch.cat(sounds)

    def rehearse(self, stage: str, shape: tuple[int, ...], last: bool) -> Step:
        return self._ours.rehearse(stage, shape, last=last)

    def whole(self) -> Tensor | None:
        return None
