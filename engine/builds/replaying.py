"""How MiniCPM-o's steps are run on a device from graphs, each stage's in the way that suits it.

The language model's tokens go through one clocked graph, what it reads at once through seams; the speech decoder's
tokens recur length by length from turn to turn, and have a graph each, or go the clocked way; all else runs from
graphs of its exact shape. Entered by the engine thread.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from torch import Tensor

from engine.arena import DeviceArena
from engine.builds.capturing import Capturing
from engine.clock import Clock
from engine.models.minicpm_o.audio_encoder import STAGE as AUDIO_ENCODER
from engine.models.minicpm_o.building import SPOKEN, THOUGHT
from engine.models.minicpm_o.language import CLOSE, DECODE, PREFILL
from engine.models.minicpm_o.model import DRAW, Parts
from engine.models.minicpm_o.speech_decoder import CONDITION
from engine.models.minicpm_o.speech_decoder import STAGE as TTS
from engine.models.minicpm_o.timelines import CLOSING_TOKENS
from engine.models.token2wav.encoding import STAGE as FLOW_ENCODER
from engine.models.token2wav.flowing import STAGE as FLOW
from engine.models.token2wav.sounding import STAGE as VOCODER
from engine.plan import Plan
from engine.replay import Prepared, ReplayRuntime
from engine.step import Step

SPEECH_WAYS = ("exact", "clocked", "eager")
SEAMED = (10, CLOSING_TOKENS)  # ticks that the language model reads at once: what was heard, and what ends a unit
OWNERS = {DECODE: PREFILL, CLOSE: PREFILL, DRAW: PREFILL, TTS: CONDITION}  # of the states that a stage writes
_BEFORE = (AUDIO_ENCODER, FLOW_ENCODER, FLOW, VOCODER)  # captured before a session


@contextmanager
def set_aside(arena: DeviceArena, parts: Parts, stage: str) -> Iterator[None]:
    """While entered, all that a stage writes may be written, and nothing of it stays."""
    kept = [each.clone() for each in parts.beside]
    with arena.set_aside(OWNERS.get(stage, stage)):
        yield
    for each, was in zip(parts.beside, kept, strict=True):
        each.copy_(was)


def replaying(
    plan: Plan,
    arena: DeviceArena,
    parts: Parts,
    capturing: Capturing,
    clock: Clock,
    *,
    speech_way: str = "exact",
    budget_bytes: int,
) -> ReplayRuntime:
    """A runtime of a device; nothing but seams is captured yet.

    Args:
        plan: Of all stages.
        arena: Of the plan.
        parts: Over the arena's views.
        capturing: Of the device.
        clock: The session's.
        speech_way: One of `SPEECH_WAYS`.
        budget_bytes: Of graphs captured in the slack.
    """
    language, speech = parts.language, parts.speech
    most = {state.name: state.max_ticks for state in plan.states}
    x = language.embedded([0])
    decode = capturing.clocked(
        DECODE, partial(_at, language.token, (x,)), language.probe, range(2, most[THOUGHT] + 1), (x,)
    )
    clocked = {DECODE: decode, PREFILL: decode}
    if speech_way == "clocked":
        token, chance = parts.rehearse(TTS, (1, 2), last=False, chance=True).inputs
        ticks = range(2, most[SPOKEN] + 1)
        run = partial(_at, speech.token, (token, chance))
        clocked[TTS] = capturing.clocked(TTS, run, speech.probe, ticks, (token, chance))
    speech.captures = speech_way != "eager"
    with set_aside(arena, parts, PREFILL):
        for count in SEAMED:
            language.seam(count, capturing.graphed)

    def rehearse(stage: str, shape: tuple[int, ...], last: bool) -> Step:
        return parts.rehearse(stage, shape, last=last, chance=True)

    return ReplayRuntime(clock, capturing.capturer, rehearse, budget_bytes, clocked)


def capture(runtime: ReplayRuntime, plan: Plan, tell: Callable[[int, int], None] = lambda done, of: None) -> Prepared:
    """Capture what a session keeps meeting.

    Args:
        runtime: Of the plan.
        plan: Its shapes.
        tell: Told how many of how many are done.
    """
    return runtime.prepare([one for one in plan.shapes if one.stage in _BEFORE], tell)


def _at(run: Callable[..., Any], places: tuple[Tensor, ...], tick: int) -> Any:
    return run(*places, length=tick)
