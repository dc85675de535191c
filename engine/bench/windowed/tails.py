"""Which models' tails are windows of codes, what is said to them, and what says it: released code and ours.

Plans, made-up weights, and adapters of a few lines. Entered by the engine thread.
"""

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import torch
from torch import Tensor

from engine.clock import Rate
from engine.errors import AskedWrongly
from engine.models.qwen2_5_omni import made_up as made_up_2_5
from engine.models.qwen2_5_omni import timelines as timelines_2_5
from engine.models.qwen2_5_omni.checkpoint import Checkpoint as Checkpoint25
from engine.models.qwen2_5_omni.sizes import Token2WavSizes
from engine.models.qwen2_5_omni.unit import Token2Wav
from engine.models.qwen2_5_omni.windows import Windows
from engine.models.qwen3_omni import made_up as made_up_3
from engine.models.qwen3_omni import timelines as timelines_3
from engine.models.qwen3_omni.code2wav import Checkpoint as Checkpoint3
from engine.models.qwen3_omni.code2wav import Code2Wav, Window
from engine.models.qwen3_omni.sizes import Code2WavSizes
from engine.plan import Plan, plan
from engine.plan.script import FLUSH, ScriptUnit
from engine.stage import Ticking, Timeline
from engine.step import Step
from engine.stock import qwen2_5_omni as stock_2_5
from engine.stock import qwen3_omni as stock_3

SPEECH = "speech"  # the stage that puts out codes
WINDOW, STREAM = "window", "stream"  # ways to drive a tail: as released, and, where there is one, as one long turn


@dataclass(frozen=True)
class Second:
    """What is said in a unit.

    Args:
        index: Which.
        windows: In order; none where the tail waits for more codes.
        ends: A turn ends with it.
        ahead: By way, the most ticks of each state that the next one may need.
    """

    index: int
    windows: tuple[Any, ...]
    ends: bool
    ahead_by_way: Mapping[str, Mapping[str, int]]

    @property
    def ahead(self) -> Mapping[str, int]:
        """As released."""
        return self.ahead_by_way[WINDOW]


class Stock(Protocol):
    """A released tail in windows; see `engine.stock`."""

    @property
    def state_bytes(self) -> int:
        """Bytes of what it holds from window to window."""
        ...

    def reset(self) -> None:
        """Begin a new turn."""
        ...

    def __call__(self, window: Any) -> Tensor:
        """A window's sound, on the host."""
        ...


class Ours(Protocol):
    """Our tail."""

    def reset(self) -> None:
        """Begin a new turn."""
        ...

    def steps(self, window: Any) -> Generator[Step, Any, Tensor]:
        """A window's launches; at last its sound."""
        ...

    def rehearse(self, stage: str, shape: tuple[int, ...], *, last: bool) -> Step:
        """A launch to be captured."""
        ...


class WindowedTail(Protocol):
    """A model's tail at some size.

    Attributes:
        model: Its name, as commands take it.
        solver_steps: Of its solver; none where it has none.
        unit: A second, in words.
        ways: How ours can be driven.
        voice_s: Seconds of the voice that it is given; none where it needs none.
    """

    model: str
    solver_steps: int
    unit: str
    ways: tuple[str, ...]
    voice_s: float

    def turn(self, units: int) -> str:
        """The script of a turn: a short first unit, so many whole ones, a flush."""
        ...

    def plan(self, way: str, script: str) -> Plan:
        """A session that goes like `script`, of whose units each is a second."""
        ...

    def make_up(self, device: torch.device) -> dict[str, Tensor]:
        """Random weights under their released names."""
        ...

    def seconds(self, units: Iterable[ScriptUnit], device: torch.device) -> Iterator[Second]:
        """What is said, the same to all."""
        ...

    def stock(self, weights: Mapping[str, Tensor]) -> Stock:
        """The released code over such weights."""
        ...

    def ours(self, weights: Mapping[str, Tensor], views: Mapping[str, Tensor]) -> Ours:
        """Ours over such weights, and the arena's views by "stage.state"."""
        ...

    def carried_alike(self, stock: Any, ours: Any) -> bool:
        """Whether both carry the same to the bit."""
        ...

    def whole(self, stock: Any, windows: list[Any]) -> Tensor | None:
        """What the released code makes of a whole turn at once, on the host; None where that is no way of its own."""
        ...


def _speech(rate: Rate, lines: tuple[Timeline, ...], script: str) -> Plan:
    return plan((Timeline(SPEECH, Ticking(rate, speech=True), "code", chunk=1), *lines), script=script)


def _walked(
    tail: WindowedTail, units: Iterable[ScriptUnit]
) -> Iterator[tuple[int, ScriptUnit, int, Mapping[str, Any]]]:
    """Each unit with its number of codes, and what each way needs next."""
    plans = {way: tail.plan(way, "(S)") for way in tail.ways}
    positions = {way: made.start for way, made in plans.items()}
    for index, told in enumerate(units):
        codes = 0
        for way, made in plans.items():
            unit, positions[way] = made.advance(positions[way], told.event, index=index, speech_ticks=told.ticks)
            codes = unit.stages[SPEECH].ticks
        yield index, told, codes, {way: made.ahead(positions[way]) for way, made in plans.items()}


class Qwen25Tail:
    """Qwen2.5-Omni's: block DiT and BigVGAN; see `WindowedTail`.

    Args:
        tiny: At the size for tests.
    """

    model = "qwen2.5-omni-7b"
    ways: tuple[str, ...] = (WINDOW,)
    unit = "50 codes, one second, in a window of 24 before and 12 ahead"

    def __init__(self, tiny: bool) -> None:
        self.sizes = made_up_2_5.TINY if tiny else Token2WavSizes()
        self.solver_steps = self.sizes.points - 1  # of four evaluations each
        self.voice_s = self._voice.mel.shape[1] / 100

    @cached_property
    def _voice(self) -> Any:
        return made_up_2_5.make_up_voice(self.sizes)

    @property
    def _lines(self) -> tuple[Timeline, ...]:
        return timelines_2_5.token2wav(SPEECH, mels=self.sizes.flow.channels)

    def turn(self, units: int) -> str:
        return f"(S30 {'S ' * units}F17)"

    def plan(self, way: str, script: str) -> Plan:
        return _speech(Rate(timelines_2_5.CODE_HZ), self._lines, script)

    def make_up(self, device: torch.device) -> dict[str, Tensor]:
        return made_up_2_5.make_up(self.sizes, device)

    def seconds(self, units: Iterable[ScriptUnit], device: torch.device) -> Iterator[Second]:
        generator, noise = torch.Generator().manual_seed(11), torch.Generator(device).manual_seed(13)
        mels = self.sizes.flow.channels

        def draw(frames: int) -> Tensor:
            return torch.randn(1, frames, mels, generator=noise, device=device)

        windows = Windows(self._lines[0], draw)
        for index, told, count, ahead in _walked(self, units):
            codes = torch.randint(0, self.sizes.codes - 1, (1, count), generator=generator).to(device)
            ends = told.event == FLUSH
            yield Second(index, tuple(windows.add(codes, last=ends)), ends, ahead)
            if ends:
                windows = Windows(self._lines[0], draw)

    def stock(self, weights: Mapping[str, Tensor]) -> stock_2_5.ReleasedWindows:
        made = stock_2_5.ReleasedWindows(self.sizes, *stock_2_5.released_modules(self.sizes, weights))
        made.prepare(self._voice)
        return made

    def ours(self, weights: Mapping[str, Tensor], views: Mapping[str, Tensor]) -> Token2Wav:
        made = Token2Wav(Checkpoint25.of(self.sizes, weights), views)
        made.prepare(self._voice)
        return made

    def carried_alike(self, stock: stock_2_5.ReleasedWindows, ours: Token2Wav) -> bool:
        held = ours.vocoder.carried
        return held.shape[2] == 0 if stock.carried is None else torch.equal(held, stock.carried)

    def whole(self, stock: stock_2_5.ReleasedWindows, windows: list[Any]) -> None:
        return None


class Qwen3Tail:
    """Qwen3-Omni's: code2wav, in windows as released, or as a stream; see `WindowedTail`.

    Args:
        tiny: At the size for tests.
    """

    model, solver_steps, voice_s = "qwen3-omni-30b-a3b", 0, 0.0
    ways: tuple[str, ...] = (WINDOW, STREAM)
    unit = "12 or 13 frames of 16 codes, one second, 25 before them again"
    dtype = torch.bfloat16  # as the released model is loaded

    def __init__(self, tiny: bool) -> None:
        self.sizes = made_up_3.TINY if tiny else Code2WavSizes()

    def turn(self, units: int) -> str:
        return f"(S7 {'S ' * units}F5)"

    def plan(self, way: str, script: str) -> Plan:
        shape = self.sizes.shape(str(self.dtype).removeprefix("torch."))
        lines = timelines_3.windows(SPEECH) if way == WINDOW else timelines_3.carried(SPEECH, shape)
        return _speech(timelines_3.FRAME_HZ, lines, script)

    def make_up(self, device: torch.device) -> dict[str, Tensor]:
        made = made_up_3.make_up(self.sizes, device)
        return {name: each.to(self.dtype) for name, each in made.items()}

    def seconds(self, units: Iterable[ScriptUnit], device: torch.device) -> Iterator[Second]:
        generator = torch.Generator().manual_seed(11)
        past = made_up_3.make_up_codes(self.sizes, 0, generator).to(device)
        for index, told, count, ahead in _walked(self, units):
            windows: tuple[Window, ...] = ()
            if count:
                codes = torch.cat((past, made_up_3.make_up_codes(self.sizes, count, generator).to(device)), 2)
                windows = (Window(codes, past.shape[2]),)
                past = codes[:, :, -timelines_3.AGAIN_FRAMES :]
            ends = told.event == FLUSH
            yield Second(index, windows, ends, ahead)
            past = past[:, :, :0] if ends else past

    def stock(self, weights: Mapping[str, Tensor]) -> stock_3.ReleasedWindows:
        return stock_3.ReleasedWindows(self.sizes, stock_3.released_module(self.sizes, weights))

    def ours(self, weights: Mapping[str, Tensor], views: Mapping[str, Tensor]) -> Code2Wav:
        made = Code2Wav(Checkpoint3.of(self.sizes, weights), views)
        made.reset()
        return made

    def carried_alike(self, stock: Any, ours: Any) -> bool:
        return True  # neither carries anything

    def whole(self, stock: stock_3.ReleasedWindows, windows: list[Window]) -> Tensor:
        codes = torch.cat([window.codes[:, :, window.again :] for window in windows], 2)
        sound: Tensor = stock.module(codes)
        return sound.cpu()


TAILS: tuple[type[Qwen25Tail] | type[Qwen3Tail], ...] = (Qwen25Tail, Qwen3Tail)


def is_windowed(name: str) -> bool:
    """Whether a model of that name, or of that beginning of one, has such a tail."""
    return bool(name) and any(tail.model.startswith(name.lower()) for tail in TAILS)


def windowed_tail(name: str) -> Callable[[bool], WindowedTail]:
    """Makes the tail of a model, by its name or the beginning of it; at the size for tests, or as released.

    Raises:
        AskedWrongly: None, or more than one, is named so.
    """
    found = [tail for tail in TAILS if name and tail.model.startswith(name.lower())]
    if len(found) != 1:
        known = ", ".join(tail.model for tail in TAILS)
        raise AskedWrongly(f"no one model named {name!r} has a tail of windows", f"one of {known}")
    return found[0]
