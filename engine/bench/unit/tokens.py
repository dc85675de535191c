"""How long a token takes, of the language model and of the speech decoder, behind a past of some length.

A token's time is the host's, from its id to its logits (the language model's) or from a unit's condition to its last
speech token, shared among the 26 that are drawn. The host's own part ends when the device has been asked for all of it.
Entered by the engine thread.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from transformers import DynamicCache

from engine.bench.columns import CADENCE, PINNED
from engine.bench.place import Place, quiet
from engine.bench.unit.columns import CadenceUnit, StockUnit
from engine.bench.unit.rig import DTYPE, Outside, UnitRig
from engine.bench.unit.scripted import TEXT_TOKENS
from engine.cadence.statistics import Spread
from engine.models.minicpm_o.building import SPOKEN, THOUGHT
from engine.models.minicpm_o.language import DECODE, PREFILL
from engine.models.minicpm_o.sampling import draw
from engine.models.minicpm_o.speech_decoder import DRAWS
from engine.replay import ReplayRuntime
from engine.stock.speaking import MOST

TOKENS, UNITS = 32, 4  # of the language model; of speech
Figures = dict[str, Any]
Saying = tuple[list[int], Tensor]  # what was said, and what it means
Unit = tuple[Callable[[], None], Callable[[], Tensor]]  # goes back to the past; says a unit after it


class Stopwatch:
    """Milliseconds of some work: until it has been asked for, and until the device has done it."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self.asked_ms: list[float] = []
        self.done_ms: list[float] = []

    def time(self, work: Callable[..., Any], *arguments: Any) -> Any:
        """Do some work."""
        place = self._place
        place.synchronize()
        start_ns = place.clock.now_ns()
        result = work(*arguments)
        asked_ns = place.clock.now_ns()
        place.synchronize()
        self.asked_ms.append((asked_ns - start_ns) / 1e6)
        self.done_ms.append((place.clock.now_ns() - start_ns) / 1e6)
        return result

    def figures(self, shared: int = 1) -> Figures:
        """Of one of `shared` that each time was for; in milliseconds on a GPU alone."""
        done, asked = Spread.of(self.done_ms), Spread.of(self.asked_ms)
        assert done is not None
        assert asked is not None
        found: Figures = {"tokens": done.count * shared}
        if self._place.is_gpu:
            found |= {name: round(getattr(done, name) / shared, 3) for name in ("median", "mean", "p95")}
            found["host"] = round(asked.median / shared, 3)
        return found


def language(rig: UnitRig, tell: Callable[[str], None]) -> Figures:
    """Of the language model, by runtime and context: its times, and at how many tokens ours gave pinned's logits."""
    found: Figures = {}
    logits: dict[str, dict[str, list[Tensor]]] = {}
    for name in rig.asked.runtimes:
        found[name], logits[name] = _language(rig, name, tell)
        rig.place.forget()
    for context, ours in logits.get(CADENCE, {}).items():
        if PINNED in logits:
            pairs = zip(ours, logits[PINNED][context], strict=True)
            found[CADENCE][context]["equal"] = sum(torch.equal(one, other) for one, other in pairs)
    return found


def _language(rig: UnitRig, name: str, tell: Callable[[str], None]) -> tuple[Figures, dict[str, list[Tensor]]]:
    column, found, logits = rig.column(name, Outside("L")), dict[str, Any](), dict[str, list[Tensor]]()
    for context in rig.contexts:
        watch = Stopwatch(rig.place)
        past = random(rig, context, rig.sizes.language.stack.width)
        with column.settings(), quiet():
            token = thinks(column, past) if isinstance(column, CadenceUnit) else _released(column, past)
            logits[str(context)] = [watch.time(token, at).clone() for at in range(TOKENS)]
        found[str(context)] = watch.figures()
        tell(f"language model, {name}, {context} ticks: {found[str(context)]}")
        column.rest_a_while()
    found |= column.figures()
    column.close()
    return found, logits


def _released(column: StockUnit, past: Tensor) -> Callable[[int], Tensor]:
    model = column.conversation.parts.language
    model.begin()
    model.feed(past)

    def token(at: int) -> Tensor:
        fed = model.feed(model.embedded([at]), asked=True)
        assert fed is not None
        return fed[0][0]

    return token


def thinks(column: CadenceUnit, past: Tensor, ahead: int = TOKENS) -> Callable[[int], Tensor]:
    """Our language model behind a past, with room for so many ticks ahead; a token's logits by its id."""
    model, runtime, arena = column.parts.language, column.runtime, column.arena
    arena.commit_ticks(THOUGHT, len(past) + ahead)
    model.begin()
    runtime.execute(model.step(PREFILL, past, asked=False), 0)
    if isinstance(runtime, ReplayRuntime):
        runtime.prepare_clocked(DECODE, range(len(past) + 1, len(past) + ahead + 1))

    def token(at: int) -> Tensor:
        found: Tensor = runtime.execute(model.step(DECODE, model.embedded([at]), asked=True), 0)[0][0]
        return found

    return token


def speech(rig: UnitRig, tell: Callable[[str], None]) -> Figures:
    """Of the speech decoder, by runtime and context: its times, and how many of pinned's tokens ours drew."""
    found: Figures = {}
    drawn: dict[str, dict[str, Tensor]] = {}
    for name in rig.asked.runtimes:
        found[name], drawn[name] = _speech(rig, name, tell)
        rig.place.forget()
    for context, ours in drawn.get(CADENCE, {}).items():
        if PINNED in drawn:
            found[CADENCE][context]["equal"] = int((ours == drawn[PINNED][context]).sum())
    return found


def _speech(rig: UnitRig, name: str, tell: Callable[[str], None]) -> tuple[Figures, dict[str, Tensor]]:
    column, found, drawn = rig.column(name, Outside("L")), dict[str, Any](), dict[str, Tensor]()
    said, chance = saying(rig)
    for context in rig.contexts:
        watch, past = Stopwatch(rig.place), random(rig, context, *rig.sizes.speech.stack.tick_shape)
        with column.settings(), quiet():
            begin, unit = (
                speaks(column, past, said, chance)
                if isinstance(column, CadenceUnit)
                else _released_speech(column, past, said, chance)
            )
            for number in range(UNITS + 2):  # the first is to be captured, the second the first from graphs
                begin()
                drawn[str(context)] = watch.time(unit) if number > 1 else unit()
                column.rest_a_while()
        found[str(context)] = watch.figures(DRAWS)
        tell(f"speech decoder, {name}, {context} ticks: {found[str(context)]}")
    found |= column.figures()
    column.close()
    return found, drawn


def _released_speech(column: StockUnit, past: Tensor, said: Saying, chance: Tensor) -> Unit:
    decoder = column.conversation.parts.speech
    texts, meanings = said

    def begin() -> None:
        decoder.cache, decoder.start = DynamicCache(), len(past)
        for index, layer in enumerate(past.unbind(1)):
            keys, values = (part.transpose(0, 1)[None].contiguous() for part in layer.unbind(1))
            decoder.cache.update(keys, values, index)

    def unit() -> Tensor:
        condition = decoder.condition([(text, one[None, None]) for text, one in zip(texts, meanings, strict=True)])
        return decoder(condition, chance, least=MOST, ends_turn=False)[0]

    return begin, unit


def saying(rig: UnitRig) -> tuple[Saying, Tensor]:
    """What a unit says and means, and its chance."""
    sizes, device = rig.sizes.speech, rig.place.device
    chance = draw(DRAWS, sizes.tokens, torch.float32, torch.Generator(device).manual_seed(5))
    return (list(range(TEXT_TOKENS)), random(rig, TEXT_TOKENS, sizes.llm)), chance


def speaks(column: CadenceUnit, past: Tensor, said: Saying, chance: Tensor) -> Unit:
    """Our speech decoder behind a past: what goes back to it, and what says a unit after it."""
    decoder = column.parts.speech
    texts, meanings = torch.tensor(said[0], device=past.device), said[1]
    column.arena.commit_ticks(SPOKEN, len(past) + TEXT_TOKENS + 1 + DRAWS)
    column.arena.view(SPOKEN)[: len(past)] = past

    def unit() -> Tensor:
        return column.run(decoder.steps(texts, meanings, chance, may_end=False))

    return lambda: decoder.begin(len(past)), unit


def random(rig: UnitRig, *shape: int) -> Tensor:
    """Normal numbers of the weights' type, the same each time."""
    generator = torch.Generator(rig.place.device).manual_seed(shape[0])
    return torch.randn(shape, generator=generator, device=rig.place.device).to(DTYPE)
