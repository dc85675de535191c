"""A trial of a folder's weights on this machine: ten seconds of a question through ours and through the released code.

First both hear them second by second, and every stage's results are held side by side: the first stage whose bits
differ is the one to look at, since all after it only follow. Then each hears them alone, and is timed. What is decided
is scripted, so that there is speech whatever the weights would say; what is said is theirs. The voice is made up.

The question's mel is worked out over all of it at once, where released it is unit by unit: both hear the same.
Entered by the engine thread.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from engine.bench.columns import CADENCE, PINNED
from engine.bench.place import Place, find_place, quiet
from engine.bench.settings import described, versions
from engine.bench.unit.columns import CadenceUnit, Heard, Opening, Said, StockUnit, UnitColumn
from engine.bench.unit.equal import carried_unlike
from engine.bench.unit.rig import NOISE_FRAMES, TINY_NOISE_FRAMES, Outside, UnitAsked, UnitRig
from engine.errors import NoRoom
from engine.models.minicpm_o.audio_encoder import STAGE as AUDIO_ENCODER
from engine.models.minicpm_o.building import HEARD, SPOKEN, THOUGHT
from engine.models.minicpm_o.folder import Loaded, Released, load, state_bytes, survey
from engine.models.minicpm_o.language import DECODE, PREFILL
from engine.models.minicpm_o.made_up import WholeSizes
from engine.models.minicpm_o.speech_decoder import STAGE as TTS
from engine.models.pocket.mel import MELS, LogMel
from engine.models.token2wav.encoding import STAGE as FLOW_ENCODER
from engine.models.token2wav.flowing import STAGE as FLOW
from engine.models.token2wav.made_up import MadeUp
from engine.models.token2wav.shapes import flow_shapes
from engine.models.token2wav.sounding import STAGE as VOCODER
from engine.models.token2wav.timelines import prompt_tokens
from engine.models.weights.progress import Progress
from engine.phrases import counted, size, spoken
from engine.stock.modules import FRAMES, STEPS
from engine.stock.package import fetched_wheel, import_released

SCRIPT, UNITS = "LLLSSSSFLL", 10
SAMPLE_RATE_HZ, HOP_SAMPLES, CADENCE_MS = 16_000, 160, 1000.0
STAGES = {  # in the order that they work in, by what a person calls them
    "audio encoder": (AUDIO_ENCODER, HEARD),
    "language model": (PREFILL, DECODE, THOUGHT),
    "speech decoder": (TTS, SPOKEN),
    "flow encoder": (FLOW_ENCODER, "conformer_cnn_cache", "conformer_att_cache, before", "conformer_att_cache, after"),
    "flow": (FLOW, "estimator_cnn_cache", "estimator_att_cache"),
    "vocoder": (VOCODER, "mel", "source", "speech"),
}
LONGEST_MINUTES = 600


@dataclass(frozen=True)
class Difference:
    """Where bits differed first.

    Args:
        stage: As a person calls it.
        second: Of the question.
    """

    stage: str
    second: int


@dataclass(frozen=True)
class Timed:
    """A second, timed.

    Args:
        event: LISTEN, SPEAK or FLUSH.
        wall_ms: From the second's arrival to its sound on the host.
    """

    event: str
    wall_ms: float


@dataclass(frozen=True)
class Trial:
    """What came of it.

    Args:
        place: The device, as its maker calls it.
        difference: Where bits differed first; None where none did.
        seconds: Of ours and of pinned stock, each timed alone.
        minutes: Of conversation that fit into what memory there was; None where that was not asked.
        where: "this card", "this machine".
    """

    place: str
    difference: Difference | None
    seconds: Mapping[str, tuple[Timed, ...]]
    minutes: int | None
    where: str

    @property
    def passed(self) -> bool:
        """Whether one can talk with it: equal, and in time."""
        return self.difference is None and not self.overruns

    @property
    def overruns(self) -> int:
        """Seconds of ours that took longer than a second."""
        return sum(one.wall_ms > CADENCE_MS for one in self.seconds[CADENCE])

    def typical_ms(self, runtime: str, event: str) -> float:
        """The median of a kind of second; a turn's end counts as speaking."""
        kinds = {"LISTEN": ("LISTEN",), "SPEAK": ("SPEAK", "FLUSH")}[event]
        return median(one.wall_ms for one in self.seconds[runtime] if one.event in kinds)

    def verdict(self) -> str:
        """In a line."""
        speak, listen = (spoken(self.typical_ms(CADENCE, event)) for event in ("SPEAK", "LISTEN"))
        times = f"SPEAK {speak}, LISTEN {listen}"
        talk = "" if self.minutes is None else f"; there is memory to talk for {_long(self.minutes)}"
        if self.difference is not None:
            return (
                f"{self.where}: NOT the released code's bits: the first to differ is the {self.difference.stage}, in "
                f"second {self.difference.second}; send the report ({times})"
            )
        if self.overruns:
            return (
                f"{self.where}: every bit is the released code's, but {self.overruns} of {len(self.seconds[CADENCE])} "
                f"seconds took longer than a second: too slow to talk with ({times})"
            )
        return f"{self.where}: every bit is the released code's; {times}, no overrun{talk}"

    def lines(self) -> list[str]:
        """Times of both, second by second, for a terminal."""
        lines = []
        for runtime, name in ((CADENCE, "ours"), (PINNED, "released, pinned")):
            times = " ".join(f"{one.event[0]}{one.wall_ms / 1e3:.2f}" for one in self.seconds[runtime])
            lines.append(f"{name}: {times} s")
        return lines

    def report(self) -> dict[str, Any]:
        """To be sent: no path, no word that was said, no name of a machine or person."""
        return {
            "trial": 1,
            "device": self.place,
            "verdict": self.verdict(),
            "equal": self.difference is None,
            "first_difference": None if self.difference is None else vars(self.difference),
            "overruns": self.overruns,
            "minutes": self.minutes,
            "events": [one.event for one in self.seconds[CADENCE]],
            "seconds_ms": {
                runtime: [round(one.wall_ms, 2) for one in times] for runtime, times in self.seconds.items()
            },
            "settings": described(),
            "versions": versions(),
        }


class FolderRig(UnitRig):
    """A place with a folder's weights on it, and the released code beside it.

    Args:
        loaded: On the place's device, in bfloat16.
        place: Where.

    Raises:
        MissingWeights: The released package is not to be had.
    """

    def __init__(self, loaded: Loaded, place: Place) -> None:
        sizes = loaded.sizes
        tiny = sizes.language.stack.width < WholeSizes().language.stack.width
        self.asked = UnitAsked(device=place.device.type, tiny=tiny, system_tokens=20)
        self.place, self.sizes, self.baseline_bytes = place, sizes, place.used_bytes()
        parts = (loaded.encoder, loaded.language, loaded.speech)
        self.weights = {name: each for part in parts for name, each in part.tensors.items()}
        frames, channels = TINY_NOISE_FRAMES if tiny else NOISE_FRAMES, sizes.token2wav.flow.estimator.channels
        noise = torch.randn(1, channels, frames, generator=torch.Generator().manual_seed(1)).to(place.device)
        token2wav = loaded.token2wav
        self.made = MadeUp(sizes.token2wav, token2wav.flow.tensors, token2wav.vocoder.tensors, noise)
        self.prompt_tokens = prompt_tokens(round(self.asked.prompt_s * SAMPLE_RATE_HZ))
        self.released = import_released(fetched_wheel())


def try_folder(
    folder: Path,
    device: torch.device,
    question: NDArray[np.float32],
    *,
    available_bytes: Callable[[], int],
    progress: Progress,
) -> Trial:
    """Load a folder and try it out.

    Args:
        folder: A released one.
        device: Where.
        question: float32 `[samples]` at 16 kHz.
        available_bytes: What can be had on the device now.
        progress: Told of everything.

    Raises:
        NoRoom: The device cannot hold it, or not the released code beside it.
        MissingPart: What drives the device is not installed.
        As `engine.models.minicpm_o.folder.load`.
    """
    where = "this card" if device.type == "cuda" else "this machine"
    if device.type == "cuda":
        torch.cuda.set_device(device)
    place, spare_bytes = find_place(device.type), available_bytes()
    needed_bytes = survey(folder).needed_bytes + beside_bytes(Released(folder).sizes)
    if spare_bytes < needed_bytes:
        raise NoRoom(
            f"{where} has {size(spare_bytes)} to spare",
            f"{size(needed_bytes)} for a trial, with what the released code takes beside the weights",
            "end what else uses it; talking needs less",
        )
    loaded = load(folder, place.device, available_bytes=lambda: spare_bytes, progress=progress)
    rig = FolderRig(loaded, place)
    try:
        minutes = minutes_that_fit(loaded.sizes, spare_bytes - rig.weight_bytes)
        return try_out(rig, torch.from_numpy(question), minutes=minutes, where=where, tell=progress.say)
    except torch.OutOfMemoryError as error:
        raise NoRoom(
            f"{where} ran out of memory on the trial",
            f"room for the released code's own beside {size(rig.weight_bytes)} of weights",
            "end what else uses it: talking needs less",
        ) from error


def try_out(
    rig: UnitRig,
    question: Tensor,
    *,
    minutes: int | None = None,
    where: str = "this machine",
    tell: Callable[[str], None] = lambda line: None,
) -> Trial:
    """Ten seconds of a question through ours and through the released code.

    Args:
        rig: With the weights.
        question: float32 `[samples]` at 16 kHz; silence follows.
        minutes: For the verdict.
        where: The device, in words.
        tell: Told what is at work.
    """
    heard, opening = list(_seconds(rig, question)), rig.opening()
    with _columns(rig, tell) as (stock, ours):
        difference = _compare(ours, stock, opening, heard, tell)
        seconds = {}
        for column in (stock, ours):
            tell(f"timing {column.name}")
            seconds[column.name] = tuple(_timed(column, rig.place, opening, heard))
    return Trial(rig.place.name, difference, seconds, minutes, where)


def first_difference(rig: UnitRig, question: Tensor) -> Difference | None:
    """The first stage whose bits differ, and when; see `try_out`."""
    with _columns(rig, lambda line: None) as (stock, ours):
        return _compare(ours, stock, rig.opening(), list(_seconds(rig, question)), lambda line: None)


@contextmanager
def _columns(rig: UnitRig, tell: Callable[[str], None]) -> Iterator[tuple[StockUnit, CadenceUnit]]:
    tell("capturing")
    stock, ours = rig.stock(PINNED, Outside(SCRIPT)), rig.cadence(Outside(SCRIPT))
    try:
        ours.capture()
        yield stock, ours
    finally:
        ours.close()


def beside_bytes(sizes: WholeSizes) -> int:
    """What a trial takes beside weights and a session's state: the released flow's room, and our flow's own order."""
    flow = sizes.token2wav.flow
    shapes = flow_shapes(flow).values()
    tick = flow.estimator.depth * 2 * flow.estimator.heads * 2 * flow.estimator.dim
    return 4 * ((STEPS + 1) * FRAMES * tick + sum(torch.Size(shape).numel() for shape in shapes))


def minutes_that_fit(sizes: WholeSizes, spare_bytes: int) -> int:
    """Whole minutes of a conversation whose state fits into so many bytes, weights apart; no more than ten hours.

    Reckoned from the tenth minute on; of fewer, rather one less: early on turns still grow too.
    """
    ten, twenty = (sum(state_bytes(sizes, 60 * minutes).values()) for minutes in (10, 20))
    a_minute = (twenty - ten) / 10
    return int(min(max(0.0, (spare_bytes - ten) / a_minute + 10), LONGEST_MINUTES))


def _seconds(rig: UnitRig, question: Tensor) -> Iterator[Heard]:
    """The question as the encoder is fed it, a second at a time."""
    encoder = rig.sizes.encoder
    frames = UNITS * encoder.chunk + encoder.context
    padded = functional.pad(question, (0, max(0, frames * HOP_SAMPLES - len(question))))[: frames * HOP_SAMPLES]
    mel = LogMel()(padded[None])  # [1, MELS, frames]
    if encoder.mels != MELS:  # an encoder for tests hears it in coarser bands
        mel = functional.adaptive_avg_pool1d(mel.transpose(1, 2), encoder.mels).transpose(1, 2)
    mel = mel.to(rig.place.device)
    for index in range(UNITS):
        start = index * encoder.chunk - (encoder.context if index else 0)
        yield Heard(index, mel[:, :, start : (index + 1) * encoder.chunk + encoder.context].contiguous())


Notes = dict[str, list[Tensor]]


def _long(minutes: int) -> str:
    return f"more than {minutes // 60} hours" if minutes >= LONGEST_MINUTES else counted(minutes, "minute")


def _compare(
    ours: CadenceUnit, stock: StockUnit, opening: Opening, heard: list[Heard], tell: Callable[[str], None]
) -> Difference | None:
    """Both, second by second, until one is not the other's."""
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


def _timed(column: UnitColumn, place: Place, opening: Opening, heard: list[Heard]) -> Iterator[Timed]:
    column.begin(opening)
    with quiet():
        for second in heard:
            place.synchronize()
            start_ns = place.clock.now_ns()
            said = column.hear(second)
            place.synchronize()
            wall_ns = place.clock.now_ns() - start_ns
            column.rest(second)
            yield Timed(said.event, wall_ns / 1e6)
