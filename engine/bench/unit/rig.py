"""What a measurement of the whole unit stands on: a place, weights on it, the released code; makes columns of them.

Entered by the engine thread.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import torch

from engine.bench.columns import CADENCE, PINNED, RELEASED
from engine.bench.place import Place
from engine.bench.settings import as_released
from engine.bench.unit.chance import UnitChance
from engine.bench.unit.columns import CadenceUnit, Heard, Opening, StockUnit
from engine.bench.unit.scripted import TEXT_TOKENS, Scripted
from engine.builds.pinning import pinned
from engine.models.layers.named import Named
from engine.models.minicpm_o.building import build
from engine.models.minicpm_o.checkpoint import ENCODER, LANGUAGE, SPEECH, checked
from engine.models.minicpm_o.made_up import TINY, WholeSizes, make_up_whole, resized
from engine.models.minicpm_o.protocol import Window, WindowLimits, WindowMode
from engine.models.minicpm_o.sampling import SpeechRules, TextRules
from engine.models.minicpm_o.sizes import encoder_shapes, language_shapes, speech_shapes
from engine.models.minicpm_o.timelines import timelines
from engine.models.token2wav.checkpoint import Checkpoint
from engine.models.token2wav.made_up import make_up, make_up_prompt
from engine.models.token2wav.timelines import prompt_tokens
from engine.models.token2wav.unit import VoicePrompt
from engine.plan import Plan, Script, plan
from engine.plan.script import ScriptUnit
from engine.stock.conversation import ReleasedParts
from engine.stock.driver import ReleasedDriver
from engine.stock.hearing import ReleasedEncoder
from engine.stock.language import ReleasedLanguage
from engine.stock.modules import released_modules
from engine.stock.package import fetched_wheel, import_released
from engine.stock.speaking import ReleasedSpeechDecoder

RUNTIMES = (RELEASED, PINNED, CADENCE)
PARTS = ("tokens", "equality", "timing", "memory", "live")
SCRIPT = "(L S S S F)"
MODEL, SOLVER_STEPS = "minicpm-o-4.5", 5
TINY_WINDOW = (300, 220)
NOISE_FRAMES, TINY_NOISE_FRAMES = 50 * 600, 1000
DTYPE = torch.bfloat16


@dataclass(frozen=True)
class UnitAsked:
    """What is to be measured.

    Args:
        script: Of the timing; see `scripted`.
        runtimes: Columns.
        parts: Which measurements.
        units: Timed of each, at the usual number of text tokens; half as many at the most.
        equal_units: Of the comparison of bits.
        profile: Name the kernels of tokens.
        live_s: Seconds at wall-clock, of ours; a third as many of the released code.
        prompt_s: Seconds of voice prompt.
        system_tokens: Of the system prompt.
        window: Tokens over which the language model's past is cut, and to which.
        device: "cuda" or "cpu".
        tiny: At the size for tests.
        speech_way: How ours runs the speech decoder's tokens on a GPU: one of `engine.builds.replaying.SPEECH_WAYS`.
        command: As it was asked.
        path: Of the JSON file; None to write none.
    """

    script: str = SCRIPT
    runtimes: tuple[str, ...] = RUNTIMES
    parts: tuple[str, ...] = PARTS[:-1]
    units: int = 25
    equal_units: int = 60
    live_s: int = 360
    profile: bool = False
    prompt_s: float = 5.0
    system_tokens: int = 100
    window: tuple[int, int] = (4000, 3500)
    device: str = "cuda"
    tiny: bool = False
    speech_way: str = "exact"
    command: str = ""
    path: Path | None = None


@dataclass(frozen=True)
class Outside:
    """What a conversation is given from outside.

    Args:
        script: See `scripted`.
        texts: Text tokens of a unit that speaks, where the script says nothing.
        ends_early: In some units speech, where it may end, ends before its second is full.
    """

    script: str
    texts: int = TEXT_TOKENS
    ends_early: bool = False


class UnitRig:
    """A place, with weights on it and the released code beside it.

    Args:
        asked: Whatever is to be measured.
        place: As `find_place` gives it for what was asked.

    Raises:
        MissingWeights: The released package is not to be had.
    """

    def __init__(self, asked: UnitAsked, place: Place) -> None:
        self.asked, self.place, device = asked, place, place.device
        self.baseline_bytes = place.used_bytes()
        self.sizes = TINY if asked.tiny else WholeSizes()
        if asked.tiny:
            torch.set_num_threads(1)  # tiny products are over before a second thread has woken
        self.weights = make_up_whole(self.sizes, device, DTYPE)
        noise = TINY_NOISE_FRAMES if asked.tiny else NOISE_FRAMES
        self.made = make_up(self.sizes.token2wav, noise).to(device)
        self.prompt_tokens = prompt_tokens(round(asked.prompt_s * 16_000))
        self.released = import_released(fetched_wheel())

    @property
    def contexts(self) -> tuple[int, ...]:
        """Ticks behind which tokens are timed."""
        return (50, 200) if self.asked.tiny else (200, 1000, 4000)

    @property
    def weight_bytes(self) -> int:
        """Bytes of all tensors that a checkpoint would bring."""
        halves = (self.weights, self.made.flow, self.made.vocoder)
        return sum(each.nbytes for half in halves for each in half.values())

    @property
    def rules(self) -> TextRules:
        """How text tokens are drawn."""
        marks = self.sizes.marks
        return TextRules(marks.chunk_eos, marks.turn_eos, marks.listen)

    @property
    def limits(self) -> WindowLimits:
        """When the past is cut."""
        high, low = self.asked.window
        return WindowLimits(WindowMode.BASIC, high, low)

    def prompt(self) -> VoicePrompt:
        """The voice, on the place's device."""
        made, device = make_up_prompt(self.sizes.token2wav, self.prompt_tokens), self.place.device
        return VoicePrompt(made.tokens.to(device), made.mel.to(device), made.speaker.to(device))

    def opening(self, past_ticks: int = 0, unit: int = 24) -> Opening:
        """A system prompt, and earlier units of `unit` ticks each, about `past_ticks` in all."""
        generator = torch.Generator(self.place.device).manual_seed(3)
        rows = self.asked.system_tokens + past_ticks // unit * unit
        x = torch.randn(rows, self.sizes.language.stack.width, generator=generator, device=self.place.device).to(DTYPE)
        system, past = x[: self.asked.system_tokens], x[self.asked.system_tokens :]
        return Opening(system, past.split(unit) if len(past) else ())

    def heard(self) -> Iterator[Heard]:
        """Seconds to hear, without an end."""
        encoder, device = self.sizes.encoder, self.place.device
        generator = torch.Generator(device)
        for index in count():
            frames = encoder.chunk + encoder.context * (2 if index else 1)
            generator.manual_seed(index)
            yield Heard(index, torch.randn(1, encoder.mels, frames, generator=generator, device=device))

    def plan(self, script: str) -> Plan:
        """A session that goes like `script`, whose numbers are of text tokens and which the plan leaves out."""
        lines = timelines(
            prompt=self.prompt_tokens,
            solver_steps=SOLVER_STEPS,
            system_tokens=self.asked.system_tokens,
            window=self.asked.window,
        )
        told = Script.parse(script)
        bare = Script(*(tuple(ScriptUnit(unit.event) for unit in part) for part in (told.start, told.cycle)))
        return plan(resized(lines, self.sizes), script=str(bare))

    def column(self, name: str, outside: Outside) -> StockUnit | CadenceUnit:
        """A column; ours has still to capture its graphs."""
        return self.cadence(outside) if name == CADENCE else self.stock(name, outside)

    def stock(self, name: str, outside: Outside) -> StockUnit:
        """The released control flow, in the settings of a column."""
        settings = as_released if name == RELEASED else pinned
        flow, vocoder = released_modules(self.released, self.made)
        token2wav = ReleasedDriver(self.released, flow, vocoder, SOLVER_STEPS)
        with settings():
            token2wav.prepare(self.prompt())
        parts = ReleasedParts(
            ReleasedEncoder(self.weights, self.sizes.encoder),
            ReleasedLanguage(self.weights, self.sizes.language, self.rules, self.limits),
            ReleasedSpeechDecoder(self.weights, self.sizes.speech),
            token2wav,
        )
        return StockUnit(name, parts, self.sizes.marks, *self._outside(outside), settings)

    def cadence(self, outside: Outside) -> CadenceUnit:
        """Ours."""
        planned, sizes = self.plan(outside.script), self.sizes
        arena = self.place.arena(planned)
        arena.commit_needed(planned.ahead(planned.start))
        views = {state.name: arena.view(state.name) for state in planned.states}
        noise = self.made.noise[:, :, : len(views["flow.attention.shift"])].clone()
        parts = build(
            (self._named(ENCODER), sizes.encoder),
            (self._named(LANGUAGE), sizes.language),
            (self._named(SPEECH), sizes.speech),
            (Checkpoint.of(sizes.token2wav, self.made.flow, self.made.vocoder), noise),
            planned.timelines,
            views,
            (self.rules, SpeechRules()),
        )
        with pinned():
            parts.token2wav.prepare(self.prompt())
        window = Window(self.limits, self.asked.system_tokens)
        return CadenceUnit(
            planned, arena, parts, sizes.marks, window, *self._outside(outside), self.place,
            self.asked.speech_way,
        )  # fmt: skip

    def _outside(self, outside: Outside) -> tuple[Scripted, UnitChance]:
        sizes = self.sizes
        chance = UnitChance(sizes, DTYPE, self.place.device, ends_early=outside.ends_early)
        return Scripted(Script.parse(outside.script), sizes.marks, sizes.texts, outside.texts), chance

    def _named(self, prefixes: tuple[str, ...]) -> Named:
        shapes = {
            ENCODER: encoder_shapes(self.sizes.encoder),
            LANGUAGE: language_shapes(self.sizes.language),
            SPEECH: speech_shapes(self.sizes.speech),
        }[prefixes]
        own = {name: each for name, each in self.weights.items() if name.startswith(prefixes)}
        return checked("made-up weights", own, shapes)
