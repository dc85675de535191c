"""The story of the whole unit's benchmark: one measurement after another, written as they come.

Entered by the engine thread.
"""

import datetime
from collections.abc import Callable
from typing import Any

import torch

from engine.bench.columns import CADENCE, PINNED
from engine.bench.place import find_place, one_line
from engine.bench.record import Recording
from engine.bench.rig import STOCKS
from engine.bench.settings import described, versions
from engine.bench.unit.equal import compare
from engine.bench.unit.live import live
from engine.bench.unit.memory import memory
from engine.bench.unit.paces import paces
from engine.bench.unit.profiles import profiles
from engine.bench.unit.rig import MODEL, SOLVER_STEPS, Outside, UnitAsked, UnitRig
from engine.bench.unit.scripted import TEXT_TOKENS, WORST
from engine.bench.unit.tokens import language, speech
from engine.phrases import size

Case = dict[str, Any]
Tell = Callable[[str], None]

NOTE = (
    "Weights are random, so nothing sensible is decided: a script says when the model listens and speaks, and how many "
    "text tokens it says. Which text tokens, all speech tokens and the sound follow from the weights, and so do times, "
    "memory and bits; the sound is noise."
)
# Turns that end and that are cut short, units of every length, speech that ends early.
EQUAL_SCRIPT = "L S S S10 F4 L S5 S L S S20 F2 L L S0 F0 S L"
MEMORY_UNITS = 10
PAST, TINY_PAST = 3600, 120  # ticks before the comparison, so that the window slides within it


def run_unit_bench(asked: UnitAsked, tell: Tell) -> dict[str, Any]:
    """Measure what was asked, and write it as it comes.

    Args:
        asked: What to measure.
        tell: Takes a line of progress.

    Returns:
        The record; see `engine/bench/unit.schema.json`.

    Raises:
        AskedWrongly: There is no such device here.
        MissingWeights: The released package is not to be had.
        NoRoom: The file cannot be written.
    """
    place = find_place(asked.device)
    tell(f"making weights, and importing the released package, on {place.name}")
    with torch.no_grad():
        rig = UnitRig(asked, place)
        recording = Recording(_head(rig), asked.path)
        case = recording.begin_case(prompt_s=asked.prompt_s, prompt_tokens=rig.prompt_tokens)
        for part, measure in _MEASURES.items():
            if part not in asked.parts:
                continue
            tell(part)
            try:
                measure(rig, case, tell)
            except (RuntimeError, NotImplementedError) as error:  # a device's or a library's; others are ours to mend
                case.setdefault("failed", {})[part] = one_line(error)
                tell(f"{part} failed: {one_line(error)}")
            case["ratio"] = ratios(case["runtimes"])
            place.forget()
            recording.write()
        recording.finish()
    return recording.record


def _tokens(rig: UnitRig, case: Case, tell: Tell) -> None:
    if rig.asked.profile:
        case["kernels"] = profiles(rig, tell)
    for kind, measured in (("language", language(rig, tell)), ("speech", speech(rig, tell))):
        for name, figures in measured.items():
            case["runtimes"].setdefault(name, {})[kind] = figures


def _equality(rig: UnitRig, case: Case, tell: Tell) -> None:
    if not {PINNED, CADENCE} <= set(rig.asked.runtimes):
        return
    outside = Outside(EQUAL_SCRIPT, ends_early=True)
    ours, stock = rig.cadence(outside), rig.stock(PINNED, outside)
    ours.capture()
    tell(f"{ours.prepared}" if ours.prepared else "no graphs here")
    past = TINY_PAST if rig.asked.tiny else PAST
    case["equal"] = compare(ours, stock, rig.opening(past), rig.heard(), rig.asked.equal_units) | ours.figures()
    ours.close()
    tell(f"{case['equal']['equal']} of {case['equal']['units']} units equal")


def _timing(rig: UnitRig, case: Case, tell: Tell) -> None:
    for kind, texts, units in (("usual", TEXT_TOKENS, rig.asked.units), ("worst", WORST, -(-rig.asked.units // 2))):
        for name, figures in paces(rig, texts, units, tell).items():
            case["runtimes"].setdefault(name, {})[kind] = figures
        rig.place.forget()


def _memory(rig: UnitRig, case: Case, tell: Tell) -> None:
    for name in rig.asked.runtimes:
        found = memory(rig, name, min(rig.asked.units, MEMORY_UNITS))
        case["runtimes"].setdefault(name, {})["memory"] = found
        rig.place.forget()
        tell(f"{name}: {size(found['peak_bytes'])} at the most, {size(found['state_bytes'])} of it state")


def _live(rig: UnitRig, case: Case, tell: Tell) -> None:
    for name in rig.asked.runtimes:
        seconds = rig.asked.live_s if name == CADENCE else -(-rig.asked.live_s // 3)
        case["runtimes"].setdefault(name, {})["live"] = live(rig, name, seconds, tell)
        rig.place.forget()


_MEASURES: dict[str, Callable[[UnitRig, Case, Tell], None]] = {
    "tokens": _tokens,
    "equality": _equality,
    "timing": _timing,
    "memory": _memory,
    "live": _live,
}


def ratios(runtimes: dict[str, Any]) -> dict[str, float]:
    """The faster stock's time over ours: medians of tokens by what they are and the past, means of units."""
    found: dict[str, float] = {}
    ours = runtimes.get(CADENCE, {})
    for kind, key in (("language", "median"), ("speech", "median"), ("usual", "mean_ms"), ("worst", "mean_ms")):
        for what, own in ours.get(kind, {}).items():
            if isinstance(own, dict) and key in own:
                theirs = (runtimes.get(name, {}).get(kind, {}).get(what, {}).get(key) for name in STOCKS)
                if known := [each for each in theirs if each]:
                    found[f"{kind} {what}"] = round(min(known) / own[key], 3)
    return found


def succeeded(record: dict[str, Any]) -> bool:
    """Whether nothing failed, and all that was compared was equal."""
    (case,) = record["cases"]
    equal = case.get("equal", {})
    if any(figures.get("live", {}).get("faults") for figures in case.get("runtimes", {}).values()):
        return False
    return "failed" not in case and equal.get("equal") == equal.get("units")


def _head(rig: UnitRig) -> dict[str, Any]:
    asked = rig.asked
    return {
        "model": MODEL,
        "stage": "unit",
        "device": rig.place.name,
        "command": asked.command,
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "versions": versions(),
        "settings": described(),
        "weights": "random",
        "sizes": "tiny" if asked.tiny else "released",
        "solver_steps": SOLVER_STEPS,
        "unit": f"one second, {TEXT_TOKENS} text tokens where it speaks, {WORST} steps in the worst case",
        "script": asked.script,
        "equal_script": EQUAL_SCRIPT,
        "speech_way": asked.speech_way,
        "system_tokens": asked.system_tokens,
        "window": list(asked.window),
        "note": NOTE,
        "missing": {},
    }
