"""A trial of a folder's weights on this machine: ten seconds of a question through ours and through the released code.

First both hear them second by second, and every stage's results are held side by side: the first stage whose bits
differ is the one to look at, since all after it only follow. Then each hears them alone, and is timed. What is decided
is scripted, so that there is speech whatever the weights would say; what is said is theirs. The voice is made up.

The question's mel is worked out over all of it at once, where released it is unit by unit: both hear the same.
Entered by the engine thread.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from engine.bench.columns import PINNED
from engine.bench.place import Place, find_place, quiet
from engine.bench.unit.columns import CadenceUnit, Heard, Opening, StockUnit, UnitColumn
from engine.bench.unit.rig import NOISE_FRAMES, TINY_NOISE_FRAMES, Outside, UnitAsked, UnitRig
from engine.bench.unit.staged import compare_stages
from engine.bench.unit.verdict import LONGEST_MINUTES, Difference, Timed, Trial
from engine.errors import NoRoom
from engine.models.layers.mel import MELS, LogMel
from engine.models.minicpm_o.folder import Released
from engine.models.minicpm_o.loading import Loaded, load
from engine.models.minicpm_o.made_up import WholeSizes
from engine.models.minicpm_o.surveying import state_bytes, survey
from engine.models.token2wav.made_up import MadeUp
from engine.models.token2wav.shapes import flow_shapes
from engine.models.token2wav.timelines import prompt_tokens
from engine.models.weights.progress import Progress
from engine.phrases import size
from engine.stock.modules import FRAMES, STEPS
from engine.stock.package import fetched_wheel, import_released

SCRIPT, UNITS = "LLLSSSSFLL", 10
SAMPLE_RATE_HZ, HOP_SAMPLES = 16_000, 160


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
        As `engine.models.minicpm_o.loading.load`.
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
        difference = compare_stages(ours, stock, opening, heard, tell)
        seconds = {}
        for column in (stock, ours):
            tell(f"timing {column.name}")
            seconds[column.name] = tuple(_timed(column, rig.place, opening, heard))
    return Trial(rig.place.name, difference, seconds, minutes, where)


def first_difference(rig: UnitRig, question: Tensor) -> Difference | None:
    """The first stage whose bits differ, and when; see `try_out`."""
    with _columns(rig, lambda line: None) as (stock, ours):
        return compare_stages(ours, stock, rig.opening(), list(_seconds(rig, question)), lambda line: None)


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
