"""The benchmark's story: for every length of voice prompt, what was asked for, one measurement after another.

Entered by the engine thread.
"""

import datetime
from collections.abc import Callable
from functools import partial
from typing import Any

from engine.bench import equality
from engine.bench.measures import MEASURES, ONCE
from engine.bench.place import find_place
from engine.bench.record import Recording
from engine.bench.report import compared
from engine.bench.rig import Asked, Rig
from engine.bench.settings import described, versions
from engine.models.token2wav.timelines import CHUNK_TOKENS, LOOK_AHEAD_TOKENS


def run_bench(asked: Asked, tell: Callable[[str], None]) -> dict[str, Any]:
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
    place = find_place(asked.device)
    tell(f"making weights, and importing the released package, on {place.name}")
    rig = Rig(asked, place)
    recording = Recording(_head(rig), asked.path)
    for number, seconds in enumerate(asked.prompts_s):
        prompt = rig.prompt(seconds)
        case = recording.begin_case(prompt_s=seconds, prompt_tokens=prompt.tokens.shape[1])
        for part, measure in MEASURES.items():
            if part not in asked.parts or (number and part in ONCE):
                continue
            tell(f"prompt of {seconds:g} s")
            recording.attempt(part, case, partial(measure, rig, case, prompt, tell), tell)
            place.forget()
            recording.write()
    recording.finish()
    return recording.record


def succeeded(record: dict[str, Any]) -> bool:
    """Whether nothing failed, and all that was compared was equal."""
    cases = record["cases"]
    equal = all(found["equal"] == found["units"] for case in cases for found in compared(case))
    return equal and not any("failed" in case for case in cases)


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
        "script": equality.script(asked.tiny),
        "missing": {name: why for name, why in rig.missing.items() if name in asked.runtimes},
    }
