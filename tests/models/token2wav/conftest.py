"""A tiny token2wav beside the released one of the same weights."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor

from engine.arena import HostArena
from engine.clock import Rate
from engine.models.layers.harmonics import draw_noise
from engine.models.token2wav.checkpoint import Checkpoint
from engine.models.token2wav.made_up import TINY, resized
from engine.models.token2wav.timelines import token2wav
from engine.models.token2wav.unit import Token2Wav, VoicePrompt
from engine.plan import Launch, Plan, plan
from engine.plan.advance import SHIFT
from engine.stage import Ticking, Timeline
from engine.stock.driver import ReleasedDriver
from tests.golden.token2wav import random_modules

STEPS = 3


@dataclass
class Session:
    """Ours, in an arena of its own, planned and committed as a session does it; and what it is driven with.

    Args:
        plan: Of a speech clock and token2wav's three stages.
        arena: Committed ahead of every unit.
        views: What ours was given.
        ours: Ready to be prepared.
        prompt: The voice.
    """

    plan: Plan
    arena: HostArena
    views: Mapping[str, Tensor]
    ours: Token2Wav
    prompt: VoicePrompt

    def launches(self, units: int) -> Iterator[tuple[Launch, Tensor]]:
        """Every launch of the script's first units with its tokens; what it needs is committed, the rest spoiled."""
        generator = torch.Generator().manual_seed(11)
        for index in range(units):
            unit = self.plan.unit(index)
            self.arena.commit_needed(unit.needed)
            for launch in unit.stages["flow_encoder"].launches:
                self.spoil(unit.needed)
                yield launch, torch.randint(0, TINY.flow.vocabulary, (1, launch.fed), generator=generator)

    def spoil(self, needed: Mapping[str, int]) -> None:
        """Overwrite with no number what the unit has room for and no launch may read before it has written it."""
        tokens, frames = self.ours.encoder.held, self.ours.flow.held
        held = {"flow.attention": frames, "flow_encoder.attention": tokens, "flow_encoder.up_attention": 2 * tokens}
        for name, view in self.views.items():
            if name in held or name.endswith(SHIFT):
                view[held.get(name, 0) : needed[name]] = torch.nan

    def say(self, tokens: Tensor, seed: int, *, last: bool = False) -> Tensor:
        """One launch of ours, its noise drawn from a seed."""
        frames = self.ours.frames(tokens.shape[1], last=last)
        noise = draw_noise(TINY.vocoder.source, frames, torch.Generator().manual_seed(seed))
        return self.ours(tokens, noise, last=last)


@pytest.fixture(scope="session")
def tiny(released: Any) -> tuple[Any, Any]:
    """The released flow and vocoder, tiny, their weights random."""
    flow, vocoder = random_modules(released, TINY, STEPS, frames=400)
    return flow.requires_grad_(False), vocoder.requires_grad_(False)


@pytest.fixture(scope="session")
def checkpoint(tiny: tuple[Any, Any]) -> Checkpoint:
    """The same weights for ours."""
    flow, vocoder = tiny
    return Checkpoint.of(TINY, flow.state_dict(), vocoder.state_dict())


@pytest.fixture(scope="session")
def begin(tiny: tuple[Any, Any], checkpoint: Checkpoint) -> Callable[..., Session]:
    """Begins a session: `begin(script, prompt=60, least=5, silence=3)`, not yet prepared."""

    def begin(script: str, *, prompt: int = 60, least: int = 5, silence: int = 3) -> Session:
        lines = token2wav("tts", prompt=prompt, solver_steps=STEPS, least=least, silence=silence)
        lines = resized(lines, TINY)
        speech = Timeline("tts", Ticking(Rate(25), speech=True), "speech token", chunk=1)
        planned = plan((speech, *lines), script=script)
        arena = HostArena(planned)
        arena.commit_needed(planned.unit(0).needed)
        views = {state.name: arena.view(state.name) for state in planned.states}
        noise = tiny[0].decoder.rand_noise.clone()
        generator = torch.Generator().manual_seed(7)
        voice = VoicePrompt(
            torch.randint(0, TINY.flow.vocabulary, (1, prompt), generator=generator),
            torch.randn(1, 2 * prompt, TINY.vocoder.mels, generator=generator),
            torch.randn(1, TINY.flow.speaker, generator=generator),
        )
        return Session(planned, arena, views, Token2Wav(checkpoint, lines, views, noise), voice)

    return begin


@pytest.fixture
def released_driver(released: Any, tiny: tuple[Any, Any]) -> ReleasedDriver:
    """The released driver over the released modules."""
    return ReleasedDriver(released, *tiny, STEPS)
