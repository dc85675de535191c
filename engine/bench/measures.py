"""What each part of a benchmark measures, for one length of voice prompt: makes columns, lets them speak, fills a case.

A case is one entry of the record; see `bench.schema.json`. Entered by the engine thread.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import islice
from typing import Any

from engine.bench import beside, endurance, equality, floor, kernels, pace, peaks
from engine.bench.columns import CADENCE, GRAPHS, PINNED, Cadence, Column
from engine.bench.course import course, for_ever
from engine.bench.report import working_bytes
from engine.bench.rig import Rig
from engine.bench.tails import GRAPHS_TOKENS, STEADY
from engine.models.token2wav.timelines import FRAMES_A_TOKEN, KEPT_FRAMES
from engine.models.token2wav.unit import VoicePrompt
from engine.phrases import size

Case = dict[str, Any]
Tell = Callable[[str], None]
LOW_MEMORY_BYTES = 2 << 30


def floor_of_it(rig: Rig, case: Case, prompt: VoicePrompt, tell: Tell) -> None:
    """What no runtime can go below."""
    tail = rig.asked.tail
    plan = tail.plan(tail.lines(prompt.tokens.shape[1], rig.sizes))
    case["floor"] = floor.floor(plan, rig.sizes, tail.solver_steps, rig.place.name)


def times(rig: Rig, case: Case, prompt: VoicePrompt, tell: Tell) -> None:
    """Times, kernels and captures; of the package's dormant graphs over units of their own."""
    tail = rig.asked.tail
    with _ready([rig.column(name, prompt) for name in rig.runtimes if name != GRAPHS], prompt, tell) as columns:
        plan = tail.plan(tail.lines(prompt.tokens.shape[1], rig.sizes))
        units = course(plan, for_ever(STEADY), rig.sizes.flow.vocabulary, rig.place.device)
        walls = pace.take_turns(columns, units, rig.asked.units, rig.place, tell)
        for column in columns:
            figures = kernels.figures(column, walls[column.name], units, rig.place, profile=rig.asked.profile)
            case["runtimes"].setdefault(column.name, {}).update(figures)
    stocks = [pace.median(walls[name]) for name in rig.stocks]
    if stocks and CADENCE in walls:
        case["ratio"]["speed"] = round(min(stocks) / pace.median(walls[CADENCE]), 3)
    if rig.has(GRAPHS):
        rig.place.forget()
        _times_of_graphs(rig, case, prompt, tell)


def _times_of_graphs(rig: Rig, case: Case, prompt: VoicePrompt, tell: Tell) -> None:
    frames = FRAMES_A_TOKEN * prompt.tokens.shape[1] + KEPT_FRAMES
    tail, script = rig.asked.tail.eager_to_start(), f"(S{GRAPHS_TOKENS})"
    theirs, ours = rig.stock_graphs(), rig.cadence(prompt, tail, script)
    with _ready([theirs, ours], prompt, tell) as columns:
        if frames > theirs.reach:
            case["missing"] = {GRAPHS: f"{frames} frames are held, and its graphs are padded to {theirs.reach}"}
            return
        units = course(ours.plan, for_ever(script), rig.sizes.flow.vocabulary, rig.place.device)
        walls = pace.take_turns(columns, units, rig.asked.units, rig.place, tell)
        figures = pace.summed_up(walls[GRAPHS], rig.place) | theirs.figures()
        figures["cadence_there"] = pace.summed_up(walls[CADENCE], rig.place)
    case["runtimes"].setdefault(GRAPHS, {}).update(figures)
    case["ratio"]["speed_graphs"] = round(pace.median(walls[GRAPHS]) / pace.median(walls[CADENCE]), 3)


def peaks_apart(rig: Rig, case: Case, prompt: VoicePrompt, tell: Tell) -> None:
    """Memory, a process for each runtime."""
    runtimes = case["runtimes"]
    for name in rig.runtimes:
        if name not in case.get("missing", {}):
            found = peaks.measure_alone(rig.asked, name, case["prompt_s"])
            runtimes.setdefault(name, {}).update(found)
            tell(f"{name}: {size(found['peak_bytes'])} at the most")
    stocks = [runtimes[name] for name in rig.stocks]
    if stocks and rig.has(CADENCE):
        ours = runtimes[CADENCE]
        case["ratio"]["peak_memory"] = round(ours["peak_bytes"] / min(one["peak_bytes"] for one in stocks), 4)
        case["ratio"]["state_and_activations"] = round(working_bytes(ours) / min(map(working_bytes, stocks)), 4)


def equal_bits(rig: Rig, case: Case, prompt: VoicePrompt, tell: Tell) -> None:
    """Twice: with all of the memory, and with little left, in which the libraries may choose otherwise."""
    if not (rig.has(CADENCE) and rig.has(PINNED)):
        return
    told, vocabulary, place = equality.script(rig.asked.tiny), rig.sizes.flow.vocabulary, rig.place
    for name, left in (("equal", None), ("equal_low_memory", LOW_MEMORY_BYTES))[: 1 + place.is_gpu]:
        theirs, ours = rig.stock(PINNED), rig.cadence(prompt)
        theirs.prepare(prompt)
        with ExitStack() as stack:
            if left is not None:
                for unit in islice(course(ours.plan, for_ever(told), vocabulary, place.device), pace.WARM_UP):
                    theirs.say(unit)  # so that torch keeps what it takes; what is left is for ours
                stack.enter_context(place.left_free(left))
            stack.enter_context(_ready([ours], prompt, tell))
            found = equality.compare_session(ours, theirs, told, vocabulary, place)
            case[name] = found | ours.figures() | ({} if left is None else {"free_bytes": left})
        tell(f"{found['equal']} of {found['units']} units equal")
        del theirs, ours
        place.forget()


def pace_beside(rig: Rig, case: Case, prompt: VoicePrompt, tell: Tell) -> None:
    """Ours, with an app's threads beside it."""
    if rig.has(CADENCE):
        ours = rig.cadence(prompt)
        with _ready([ours], prompt, tell):
            case["beside"] = beside.keep_pace(ours, rig.asked.units, rig.sizes.flow.vocabulary, rig.place, tell)


def long_turn(rig: Rig, case: Case, prompt: VoicePrompt, tell: Tell) -> None:
    """Ours for a long time, and then the released code from where it stands."""
    if rig.has(CADENCE) and rig.has(PINNED):
        ours, theirs = rig.cadence(prompt), rig.stock(PINNED)
        with _ready([theirs, ours], prompt, tell):
            count, vocabulary = rig.asked.endurance_units, rig.sizes.flow.vocabulary
            case["endurance"] = endurance.endure(ours, theirs, count, vocabulary, rig.place, tell)


@contextmanager
def _ready(columns: list[Column], prompt: VoicePrompt, tell: Tell) -> Iterator[list[Column]]:
    """Columns that have taken in the voice and captured their graphs; their arenas go when this is left."""
    try:
        for column in columns:
            column.prepare(prompt)
            column.capture()
            tell(f"{column.name} is ready")
        yield columns
    finally:
        for column in columns:
            if isinstance(column, Cadence):
                column.close()
        columns.clear()


MEASURES: dict[str, Callable[[Rig, Case, VoicePrompt, Tell], None]] = {
    "floor": floor_of_it,
    "timing": times,
    "peaks": peaks_apart,
    "equality": equal_bits,
    "beside": pace_beside,
    "endurance": long_turn,
}
ONCE = ("beside", "endurance")  # with the first prompt alone
