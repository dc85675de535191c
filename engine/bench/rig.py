"""What a measurement stands on: a place, weights and the released code; makes columns of them, in any process.

Entered by the engine thread.
"""

from dataclasses import dataclass
from pathlib import Path

import torch

from engine.bench.columns import (
    CADENCE,
    GRAPHS,
    PINNED,
    RELEASED,
    TRANSCRIPTION,
    Cadence,
    Column,
    Stock,
    StockGraphs,
    Transcription,
)
from engine.bench.place import Place
from engine.bench.settings import as_released
from engine.bench.tails import STEADY, Tail
from engine.builds.pinning import pinned
from engine.errors import CadenceError
from engine.models.token2wav.made_up import TINY, make_up, make_up_prompt
from engine.models.token2wav.sizes import Token2WavSizes
from engine.models.token2wav.timelines import prompt_tokens
from engine.models.token2wav.unit import VoicePrompt
from engine.stock.driver import ReleasedDriver
from engine.stock.modules import released_modules
from engine.stock.package import fetched_wheel, import_released

RUNTIMES = (RELEASED, PINNED, GRAPHS, CADENCE)
STOCKS = (RELEASED, PINNED)  # that the headline is measured against; the dormant graphs stand beside it
PARTS = ("timing", "peaks", "equality", "endurance", "beside", "floor")
NOISE_FRAMES = 50 * 600  # as much as the released code draws


@dataclass(frozen=True)
class Asked:
    """What is to be measured.

    Args:
        tail: Of which model.
        runtimes: Columns.
        prompts_s: Seconds of voice prompt, a case each.
        units: Of the timing, for each runtime.
        device: "cuda" or "cpu".
        tiny: At the size for tests.
        parts: Which measurements.
        profile: Name the kernels.
        endurance_units: Of the long session.
        command: As it was asked.
        path: Of the JSON file; None to write none.
    """

    tail: Tail
    runtimes: tuple[str, ...] = RUNTIMES
    prompts_s: tuple[float, ...] = (3.37, 5.0, 10.0)
    units: int = 100
    device: str = "cuda"
    tiny: bool = False
    parts: tuple[str, ...] = PARTS
    profile: bool = False
    endurance_units: int = 10_000
    command: str = ""
    path: Path | None = None


class Rig:
    """A place, with weights on it and the released code beside it.

    Args:
        asked: Whatever is to be measured.
        place: As `find_place` gives it for what was asked.
    """

    def __init__(self, asked: Asked, place: Place) -> None:
        self.asked, self.place = asked, place
        self.sizes = TINY if asked.tiny else Token2WavSizes()
        if asked.tiny:
            torch.set_num_threads(1)  # tiny products are over before a second thread has woken
        self.made = make_up(self.sizes, NOISE_FRAMES).to(self.place.device)
        self.missing: dict[str, str] = {}  # columns that cannot be had, and why
        try:
            self.released = import_released(fetched_wheel())
        except CadenceError as error:
            self.missing |= dict.fromkeys((*STOCKS, GRAPHS), f"the released package is not here: {error}")
        if not self.place.is_gpu or asked.tiny:
            why = "its graphs are captured on a GPU alone, and at the released sizes, which are written into them"
            self.missing.setdefault(GRAPHS, why)
        had = [name for name in asked.runtimes if name not in self.missing]
        if any(name in self.missing for name in asked.runtimes if name in STOCKS):
            had.insert(0, TRANSCRIPTION)
        self.runtimes = tuple(had)  # that were asked for and can be had
        self.stocks = tuple(name for name in had if name in (*STOCKS, TRANSCRIPTION))

    @property
    def weight_bytes(self) -> int:
        """Bytes of the released files' tensors."""
        return sum(each.nbytes for half in (self.made.flow, self.made.vocoder) for each in half.values())

    def let_go(self) -> None:
        """Let the columns alone hold weights; no more of them can be made."""
        del self.made

    def has(self, name: str) -> bool:
        """Whether a column was asked for and can be had."""
        return name in self.runtimes

    def prompt(self, seconds: float) -> VoicePrompt:
        """A voice prompt of that length, on the place's device."""
        made, device = make_up_prompt(self.sizes, prompt_tokens(round(seconds * 16_000))), self.place.device
        return VoicePrompt(made.tokens.to(device), made.mel.to(device), made.speaker.to(device))

    def stock(self, name: str) -> Stock:
        """A column of the released code in some settings, not prepared."""
        return Stock(name, self._driver(), as_released if name == RELEASED else pinned)

    def stock_graphs(self) -> StockGraphs:
        """The released code with its package's own graphs, not prepared."""
        return StockGraphs(self._driver(), self.place)

    def cadence(self, prompt: VoicePrompt, tail: Tail | None = None, script: str = STEADY) -> Cadence:
        """Ours, not prepared."""
        return Cadence(tail or self.asked.tail, self.made, prompt.tokens.shape[1], self.place, script)

    def column(self, name: str, prompt: VoicePrompt) -> Column:
        """Any column, not prepared."""
        if name == CADENCE:
            return self.cadence(prompt)
        if name == TRANSCRIPTION:
            return Transcription(self.asked.tail, self.made, prompt.tokens.shape[1], self.place)
        return self.stock_graphs() if name == GRAPHS else self.stock(name)

    def _driver(self) -> ReleasedDriver:
        """Over modules of its own, for what it carries lies in them; they share weights."""
        return ReleasedDriver(self.released, *released_modules(self.released, self.made), self.asked.tail.solver_steps)
