"""The benchmark's story: for every length of voice prompt, what was asked for, one measurement after another.

Entered by the engine thread.
"""

import datetime
from collections.abc import Callable
from typing import Any

from engine.bench import equality, kernels, pace
from engine.bench.columns import CADENCE, GRAPHS, PINNED, RELEASED, Cadence, Stock
from engine.bench.course import course, for_ever
from engine.bench.place import one_line
from engine.bench.record import Recording
from engine.bench.rig import Asked, Rig
from engine.bench.settings import described, versions
from engine.bench.tails import GRAPHS_TOKENS, STEADY
from engine.models.token2wav.timelines import CHUNK_TOKENS, LOOK_AHEAD_TOKENS
from engine.models.token2wav.unit import VoicePrompt

Tell = Callable[[str], None]
LOW_MEMORY_BYTES = 2 << 30


def run_bench(asked: Asked, tell: Tell) -> dict[str, Any]:
    """Measure what was asked, and write it as it comes.

    Args:
        asked: What to measure.
        tell: Takes a line of progress.

    Returns:
        The record; see `bench.schema.json`.

    Raises:
        AskedWrongly: There is no such device here.
        NoRoom: The file cannot be written.
    """
    tell(f"making weights and importing the released package, on {asked.device}")
    rig = Rig(asked)
    recording = Recording(_head(rig), asked.path)
    for seconds in asked.prompts_s:
        prompt = rig.prompt(seconds)
        case = recording.begin_case(prompt_s=seconds, prompt_tokens=prompt.tokens.shape[1])
        for part, measure in _MEASURES.items():
            if part not in asked.parts:
                continue
            tell(f"prompt of {seconds} s: {part}")
            try:
                measure(rig, case, prompt, tell)
            except (RuntimeError, NotImplementedError) as error:  # a device's, a library's
                case.setdefault("failed", {})[part] = one_line(error)
                tell(f"{part} failed: {one_line(error)}")
            rig.place.forget()
            recording.write()
    recording.finish()
    return recording.record


def sound(record: dict[str, Any]) -> bool:
    """Whether nothing failed, and all that was compared was equal."""
    compared = [
        found
        for case in record["cases"]
        for name in ("equal", "equal_low_memory", "handed_over")
        if (found := case.get(name)) and "units" in found
    ]
    return all(found["equal"] == found["units"] for found in compared) and not any(
        "failed" in case for case in record["cases"]
    )


def _head(rig: Rig) -> dict[str, Any]:
    asked = rig.asked
    return {
        "model": asked.tail.model,
        "stage": "tail",
        "device": rig.place.name,
        "command": asked.command,
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "versions": versions(),
        "settings": described(),
        "weights": "random",
        "sizes": "tiny" if asked.tiny else "released",
        "solver_steps": asked.tail.solver_steps,
        "unit": f"{CHUNK_TOKENS}+{LOOK_AHEAD_TOKENS} tokens, one second",
        "script": equality.SCRIPT,
        "missing": {name: why for name, why in rig.missing.items() if name in asked.runtimes},
    }


def _timing(rig: Rig, case: dict[str, Any], prompt: VoicePrompt, tell: Tell) -> None:
    names = [name for name in (RELEASED, PINNED, CADENCE) if rig.has(name)]
    columns = [rig.column(name, prompt) for name in names]
    for column in columns:
        column.prepare(prompt)
        tell(f"{column.name} is ready")
    plan = rig.asked.tail.plan(rig.asked.tail.lines(prompt.tokens.shape[1], rig.sizes))
    units = course(plan, for_ever(STEADY), rig.sizes.flow.vocabulary, rig.place.device)
    walls = pace.take_turns(columns, units, rig.asked.units, rig.place, tell)
    for column in columns:
        figures = case["runtimes"].setdefault(column.name, {})
        figures |= pace.summed_up(walls[column.name], rig.place) | column.figures()
        found = kernels.seen(column, units, rig.place) if rig.place.is_gpu or rig.asked.profile else []
        if rig.place.is_gpu:
            figures["device_busy_ms"] = round(sum(one.ms for one in found), 3)
        if rig.asked.profile:
            figures["kernels"] = kernels.listed(found)
    stocks = [pace.median(walls[name]) for name in (RELEASED, PINNED) if name in walls]
    if stocks and CADENCE in walls:
        case["ratio"]["speed"] = round(min(stocks) / pace.median(walls[CADENCE]), 3)
    _close(columns)


def _graphs(rig: Rig, case: dict[str, Any], prompt: VoicePrompt, tell: Tell) -> None:
    """The package's dormant graphs, and ours over the same shorter units."""
    tail, script = rig.asked.tail.eager_to_start(), f"(S{GRAPHS_TOKENS})"
    theirs, ours = rig.stock(GRAPHS), rig.cadence(prompt, tail, script)
    for column in (theirs, ours):
        column.prepare(prompt)
    units = course(ours.plan, for_ever(script), rig.sizes.flow.vocabulary, rig.place.device)
    walls = pace.take_turns((theirs, ours), units, rig.asked.units, rig.place, tell)
    figures = pace.summed_up(walls[GRAPHS], rig.place) | theirs.figures()
    if not figures["replays"]:
        rig.missing[GRAPHS] = "after this prompt more frames are held than its graphs are padded to"
    figures |= {"cadence_there": pace.summed_up(walls[CADENCE], rig.place)}
    case["runtimes"][GRAPHS] = figures
    case["ratio"]["speed_graphs"] = round(pace.median(walls[GRAPHS]) / pace.median(walls[CADENCE]), 3)
    _close((theirs, ours))


def _timings(rig: Rig, case: dict[str, Any], prompt: VoicePrompt, tell: Tell) -> None:
    _timing(rig, case, prompt, tell)
    if rig.has(GRAPHS):
        rig.place.forget()
        _graphs(rig, case, prompt, tell)


def _equality(rig: Rig, case: dict[str, Any], prompt: VoicePrompt, tell: Tell) -> None:
    """Twice: with all of the memory, and with little left, in which the libraries may choose otherwise."""
    if not (rig.has(CADENCE) and rig.has(PINNED)):
        return
    for name, left in (("equal", None), ("equal_low_memory", LOW_MEMORY_BYTES)):
        theirs, ours = rig.stock(PINNED), rig.cadence(prompt)
        theirs.prepare(prompt)
        give_back = None if left is None else rig.place.leave_free(left)
        if left is not None and give_back is None:
            return  # no such thing on a CPU
        try:
            ours.prepare(prompt)
            case[name] = equality.compare_session(ours, theirs, rig.sizes.flow.vocabulary, rig.place)
            case[name] |= ours.figures()
            if left is not None:
                case[name]["free_bytes"] = left
        finally:
            _close((ours,))
            if give_back is not None:
                give_back()
        tell(f"{case[name]['equal']} of {case[name]['units']} units equal")
        del theirs, ours
        rig.place.forget()


def _close(columns: "tuple[Stock | Cadence, ...] | list[Any]") -> None:
    for column in columns:
        if isinstance(column, Cadence):
            column.close()


_MEASURES: dict[str, Callable[[Rig, dict[str, Any], VoicePrompt, Tell], None]] = {
    "timing": _timings,
    "equality": _equality,
}
