"""The story of the windowed tails' benchmark: one measurement after another, written as they come.

Entered by the engine thread.
"""

import datetime
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from engine.bench import kernels, pace, peaks
from engine.bench.columns import CADENCE, PINNED, RELEASED
from engine.bench.course import for_ever
from engine.bench.measures import LOW_MEMORY_BYTES
from engine.bench.place import Place, find_place
from engine.bench.record import Recording
from engine.bench.report import working_bytes
from engine.bench.rig import STOCKS
from engine.bench.settings import as_released, described, versions
from engine.bench.windowed.columns import Cadence, Released
from engine.bench.windowed.tails import STREAM, WINDOW, Second, WindowedTail, windowed_tail
from engine.builds.pinning import pinned
from engine.phrases import size
from engine.plan import Script

Case = dict[str, Any]
Tell = Callable[[str], None]
Column = Released | Cadence

STEADY = "(S)"
TURN_UNITS, TINY_TURN_UNITS, TURNS = 30, 6, 2  # over sixty seconds in all
PEAK_UNITS = 8


@dataclass(frozen=True)
class WindowedAsked:
    """What is to be measured.

    Args:
        model: Of which model, as `windowed_tail` takes it.
        runtimes: Columns.
        units: Of the timing, for each runtime.
        device: "cuda" or "cpu".
        tiny: At the size for tests.
        parts: Which measurements.
        profile: Name the kernels.
        command: As it was asked.
        path: Of the JSON file; None to write none.
    """

    model: str
    runtimes: tuple[str, ...] = (RELEASED, PINNED, CADENCE)
    units: int = 100
    device: str = "cuda"
    tiny: bool = False
    parts: tuple[str, ...] = ("timing", "peaks", "equality")
    profile: bool = False
    command: str = ""
    path: Path | None = None


class Rig:
    """A place, and weights on it; makes columns of them.

    Args:
        asked: What is to be measured.
        place: Where.
    """

    def __init__(self, asked: WindowedAsked, place: Place) -> None:
        self.tail: WindowedTail = windowed_tail(asked.model)(asked.tiny)
        self.asked, self.place = asked, place
        if asked.tiny:
            torch.set_num_threads(1)  # tiny products are over before a second thread has woken
        self.weights: dict[str, Tensor] = self.tail.make_up(place.device)
        streams = (STREAM,) if STREAM in self.tail.ways and CADENCE in asked.runtimes else ()
        self.runtimes = (*(name for name in (RELEASED, PINNED, CADENCE) if name in asked.runtimes), *streams)

    @property
    def weight_bytes(self) -> int:
        """Of the released tensors."""
        return sum(each.nbytes for each in self.weights.values())

    def column(self, name: str) -> Column:
        """Any column, nothing of it captured."""
        if name in STOCKS:
            return Released(name, self.tail, self.weights, as_released if name == RELEASED else pinned)
        return Cadence(self.tail, self.weights, self.place, STREAM if name == STREAM else WINDOW)

    def seconds(self, script: str) -> Iterator[Second]:
        """What is said, for ever."""
        return self.tail.seconds(for_ever(script), self.place.device)


def run_windowed(asked: WindowedAsked, tell: Tell) -> dict[str, Any]:
    """Measure what was asked of a windowed tail, and write it as it comes.

    Args:
        asked: What to measure.
        tell: Takes a line of progress.

    Returns:
        The record; see `bench.schema.json`.

    Raises:
        AskedWrongly: There is no such device here, or no such tail.
        NoRoom: The file cannot be written.
    """
    place = find_place(asked.device)
    tell(f"making weights, and importing the released modules, on {place.name}")
    rig = Rig(asked, place)
    recording = Recording(_head(rig), asked.path)
    case = recording.begin_case(prompt_s=rig.tail.voice_s, prompt_tokens=0)
    if others := [part for part in asked.parts if part not in MEASURES]:
        tell(f"not measured of a tail of windows: {', '.join(others)}")
    for part, measure in MEASURES.items():
        if part not in asked.parts:
            continue
        recording.attempt(part, case, partial(measure, rig, case, tell), tell)
        place.forget()
        recording.write()
    recording.finish()
    return recording.record


def times(rig: Rig, case: Case, tell: Tell) -> None:
    """Times, kernels and captures, second by second in turn."""
    with _ready(rig, rig.runtimes, tell) as columns:
        seconds = rig.seconds(STEADY)
        walls = pace.take_turns(columns, seconds, rig.asked.units, rig.place, tell)
        for column in columns:
            figures = kernels.figures(column, walls[column.name], seconds, rig.place, profile=rig.asked.profile)
            case["runtimes"].setdefault(column.name, {}).update(figures)
    stocks = [pace.median(walls[name]) for name in STOCKS if name in walls]
    for name, ratio in ((CADENCE, "speed"), (STREAM, "speed_stream")):
        if stocks and name in walls:
            case["ratio"][ratio] = round(min(stocks) / pace.median(walls[name]), 3)


def peaks_apart(rig: Rig, case: Case, tell: Tell) -> None:
    """Memory, a process for each runtime."""
    runtimes = case["runtimes"]
    for name in rig.runtimes:
        found = peaks.alone(measure_peak, rig.asked, name)
        runtimes.setdefault(name, {}).update(found)
        tell(f"{name}: {size(found['peak_bytes'])} at the most")
    stocks = [runtimes[name] for name in STOCKS if name in rig.runtimes]
    if stocks and CADENCE in rig.runtimes:
        ours = runtimes[CADENCE]
        case["ratio"]["peak_memory"] = round(ours["peak_bytes"] / min(one["peak_bytes"] for one in stocks), 4)
        if working := min(map(working_bytes, stocks)):  # on a CPU nobody counts activations, and none carries anything
            case["ratio"]["state_and_activations"] = round(working_bytes(ours) / working, 4)


def measure_peak(asked: WindowedAsked, name: str) -> dict[str, Any]:
    """A column's peak and its parts, in bytes; entered by the main thread of a process that measures nothing else."""
    place = find_place(asked.device)
    place.forget()
    baseline = place.used_bytes()
    rig = Rig(asked, place)
    column, weight_bytes = rig.column(name), rig.weight_bytes
    rig.weights.clear()  # the column holds those that it needs
    place.forget()
    watch, used = peaks.Watch(column, place), [place.used_bytes()]
    watch.prepared()
    column.capture()
    used.append(place.used_bytes())
    place.forget()
    column.begin()
    kept = peaks.Kept(column.arena, column.plan, place) if isinstance(column, Cadence) and name == CADENCE else None
    for second in islice(rig.seconds(rig.tail.turn(PEAK_UNITS - 3)), PEAK_UNITS):
        watch.before()
        column.say(second)
        place.synchronize()
        watch.after()
        column.rest(second)
        if kept is not None:
            kept.look(second)
        used.append(place.used_bytes())
    found = watch.figures(max(used) - baseline, weight_bytes, column.graph_bytes)
    return found | (kept.figures() if kept is not None else {})


def equal_bits(rig: Rig, case: Case, tell: Tell) -> None:
    """Windows, twice: with all of the memory, and with little left; and the stream beside the whole turn."""
    if not {CADENCE, PINNED} <= set(rig.runtimes):
        return
    told = rig.tail.turn(TINY_TURN_UNITS if rig.asked.tiny else TURN_UNITS)
    units = TURNS * len(Script.parse(told).cycle)
    for name, left in (("equal", None), ("equal_low_memory", LOW_MEMORY_BYTES))[: 1 + rig.place.is_gpu]:
        stock = rig.column(PINNED)
        assert isinstance(stock, Released)
        with ExitStack() as stack:
            if left is not None:
                for second in islice(rig.seconds(told), pace.WARM_UP):
                    stock.say(second)  # so that torch keeps what it takes; what is left is for ours
                stack.enter_context(rig.place.left_free(left))
            (ours,) = stack.enter_context(_ready(rig, (CADENCE,), tell))
            assert isinstance(ours, Cadence)
            found = compare(rig, ours, stock, islice(rig.seconds(told), units))
            case[name] = found | ours.figures() | ({} if left is None else {"free_bytes": left})
        tell(f"{found['equal']} of {found['units']} units equal")
        del stock, ours
        rig.place.forget()
    if STREAM in rig.runtimes:
        case["runtimes"].setdefault(STREAM, {})["against_whole"] = against_whole(rig, told, tell)


def compare(rig: Rig, ours: Cadence, stock: Released, seconds: Iterable[Second]) -> dict[str, Any]:
    """Seconds through both, from a turn's beginning; how many were equal, and what differed first."""
    came = equal = launches = 0
    first: str | None = None
    before = ours.addresses
    for column in (ours, stock):
        column.begin()
    for second in seconds:
        theirs, sounds = stock.say(second), ours.say(second)
        wrong = [
            f"sound of window {number}"
            for number, pair in enumerate(zip(sounds, theirs, strict=True))
            if not torch.equal(*pair)
        ]
        if not rig.tail.carried_alike(stock.stock, ours.ours):
            wrong.append("what is carried")
        for column in (stock, ours):
            column.rest(second)
        came, equal, launches = came + 1, equal + (not wrong), launches + len(second.windows)
        if wrong and first is None:
            first = f"unit {second.index}: {', '.join(wrong)}"
    found = {"against": stock.name, "units": came, "launches": launches, "equal": equal, "first_difference": first}
    return {**found, "addresses_still": ours.addresses == before}


def against_whole(rig: Rig, told: str, tell: Tell) -> dict[str, Any]:
    """A turn as a stream beside what the released code makes of it at once: the largest difference, of full scale."""
    stock = rig.column(PINNED)
    assert isinstance(stock, Released)
    with _ready(rig, (STREAM,), tell) as (ours,), torch.no_grad(), pinned():
        ours.begin()
        sounds: list[Tensor] = []
        windows: list[Any] = []
        for second in rig.seconds(told):
            sounds += ours.say(second)
            windows += second.windows
            ours.rest(second)
            if second.ends:
                break
        whole = rig.tail.whole(stock.stock, windows)
    assert whole is not None, "a stream is of something whole"
    streamed = torch.cat(sounds, -1)
    apart = (streamed.double() - whole.double()).abs().max() if streamed.shape == whole.shape else torch.inf
    return {
        "units": len(windows),
        "samples": streamed.shape[-1],
        "whole_samples": whole.shape[-1],
        "largest_difference": float(apart),
        "loudness": float(whole.double().abs().mean()),
    }


@contextmanager
def _ready(rig: Rig, names: Sequence[str], tell: Tell) -> Iterator[list[Column]]:
    """Columns with their graphs captured; their arenas go when this is left."""
    columns: list[Column] = []
    try:
        for name in names:
            columns.append(rig.column(name))
            columns[-1].capture()
            columns[-1].begin()
            tell(f"{name} is ready")
        yield columns
    finally:
        for column in columns:
            column.close()
        columns.clear()


def _head(rig: Rig) -> dict[str, Any]:
    asked = rig.asked
    known = (RELEASED, PINNED, CADENCE)
    why = "the released modules come without any"
    return {
        "model": rig.tail.model,
        "stage": "tail",
        "device": rig.place.name,
        "command": asked.command,
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "versions": versions(),
        "settings": described() | {"weights": str(next(iter(rig.weights.values())).dtype).removeprefix("torch.")},
        "weights": "random",
        "sizes": "tiny" if asked.tiny else "released",
        "solver_steps": rig.tail.solver_steps,
        "unit": rig.tail.unit,
        "script": rig.tail.turn(TINY_TURN_UNITS if asked.tiny else TURN_UNITS),
        "missing": {name: why for name in asked.runtimes if name not in known},
    }


MEASURES: dict[str, Callable[[Rig, Case, Tell], None]] = {
    "timing": times,
    "peaks": peaks_apart,
    "equality": equal_bits,
}
