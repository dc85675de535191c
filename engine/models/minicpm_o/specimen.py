"""MiniCPM-o at a size for tests, its weights made up, its turns by a script: what the laws are tried on.

Entered by whoever holds the laws.
"""

from collections.abc import Generator, Iterator
from typing import Any

import torch
from torch import Tensor

from engine.models.layers.harmonics import draw_noise
from engine.models.layers.named import Named
from engine.models.minicpm_o.building import build
from engine.models.minicpm_o.made_up import TINY, make_up_whole, resized
from engine.models.minicpm_o.model import Chance, MiniCPMO
from engine.models.minicpm_o.protocol import Limits, Protocol, Window, WindowLimits
from engine.models.minicpm_o.sampling import SpeechRules, TextRules
from engine.models.minicpm_o.timelines import timelines
from engine.models.specimen import Specimen, Views
from engine.models.token2wav.checkpoint import Checkpoint
from engine.models.token2wav.made_up import make_up, make_up_prompt
from engine.plan import Plan
from engine.step import Step

PROMPT_TOKENS, SOLVER_STEPS, NOISE_FRAMES = 30, 2, 400
_TEXTS = 3  # of a unit that speaks


def specimen() -> Specimen:
    """A conversation of two turns. It says of no whole: what it carries is trimmed, as only released code tells."""
    lines = resized(timelines(prompt=PROMPT_TOKENS, solver_steps=SOLVER_STEPS), TINY)
    return Specimen(lines, _Course, script="LSFLF", session_s=60)


class _Course:
    """See `engine.models.specimen.Course`."""

    def __init__(self, plan: Plan, views: Views) -> None:
        made, marks = make_up(TINY.token2wav, NOISE_FRAMES), TINY.marks
        weights = Named(make_up_whole(TINY, torch.device("cpu")))
        rules = TextRules(marks.chunk_eos, marks.turn_eos, marks.listen), SpeechRules()
        self._parts = build(
            (weights, TINY.encoder),
            (weights, TINY.language),
            (weights, TINY.speech),
            (Checkpoint.of(TINY.token2wav, made.flow, made.vocoder), made.noise),
            plan.timelines,
            views,
            rules,
        )
        self._parts.token2wav.prepare(make_up_prompt(TINY.token2wav, PROMPT_TOKENS))
        self._noise = torch.Generator()
        chance = Chance(lambda: None, self._decide, lambda: None, self._draw)
        protocol = Protocol(marks, Limits(), len)
        self._model = MiniCPMO(self._parts, marks, protocol, Window(WindowLimits(), 0), chance)
        self._told: Iterator[int | None] = iter(())
        self.begin()

    def begin(self) -> None:
        self._noise.manual_seed(1)
        for _ in self._model.begin(()):
            raise AssertionError("there is no system prompt to read")

    def unit(self, event: str, index: int) -> Generator[Step, Any, Tensor]:
        marks = TINY.marks
        end = [marks.turn_eos] if event == "F" else []
        self._told = iter([marks.listen] if event == "L" else [marks.speak, *[None] * _TEXTS, *end, marks.chunk_eos])
        frames = self._parts.encoder.frames
        mel = torch.randn(1, TINY.encoder.mels, frames, generator=torch.Generator().manual_seed(index))
        spoken = yield from self._model.unit(mel)
        return spoken.sound

    def _decide(self, drawn: int) -> int:
        told = next(self._told)
        return drawn % TINY.texts if told is None else told

    def _draw(self, frames: int) -> Tensor:
        return draw_noise(TINY.token2wav.vocoder.source, frames, self._noise)

    def rehearse(self, stage: str, shape: tuple[int, ...], last: bool) -> Step:
        return self._parts.rehearse(stage, shape, last=last, chance=False)

    @property
    def beside(self) -> tuple[Tensor, ...]:
        return self._parts.beside

    def whole(self) -> Tensor | None:
        return None
