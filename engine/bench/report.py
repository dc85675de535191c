"""The benchmark's record as a person reads it: a short table for a terminal, and README's block.

Pure functions of records; any thread.
"""

from collections.abc import Iterator
from typing import Any

from engine.phrases import aligned

_NAMES = {"stock_released": "released", "stock_pinned": "pinned", "stock_graphs": "graphs", "cadence": "cadence"}


def table(record: dict[str, Any]) -> list[str]:
    """For a terminal."""
    steps, device = record["solver_steps"], record["device"]
    lines = [f"{record['model']}, {record['stage']}, {steps} solver steps, random weights of {record['sizes']} sizes, "
             f"{device}"]  # fmt: skip
    rows = [("PROMPT", "RUNTIME", "MEDIAN", "P95", "OVERRUNS", "BUSY")]
    for case in record["cases"]:
        for name, figures in case["runtimes"].items():
            rows.append((f"{case['prompt_s']:g} s", _NAMES.get(name, name), *_cells(figures)))
    lines += aligned(rows, "llrrrr")
    for case in record["cases"]:
        lines += [f"prompt of {case['prompt_s']:g} s: {remark}" for remark in _remarks(case)]
    return lines + [f"no {_NAMES.get(name, name)}: {why}" for name, why in record["missing"].items()]


def _cells(figures: dict[str, Any]) -> tuple[str, ...]:
    times = (f"{figures[name]:.1f} ms" if name in figures else "-" for name in ("median_ms", "p95_ms"))
    busy = f"{figures['device_busy_ms']:.1f} ms" if "device_busy_ms" in figures else "-"
    return (*times, str(figures.get("overruns", "-")), busy)


def _remarks(case: dict[str, Any]) -> Iterator[str]:
    ratio = case["ratio"]
    if "speed" in ratio:
        yield f"{ratio['speed']:.2f} times as fast as the faster stock"
    if "speed_graphs" in ratio:
        yield f"{ratio['speed_graphs']:.2f} times as fast as the package's own graphs"
    for name, where in (("equal", ""), ("equal_low_memory", ", with 2 GiB of memory left")):
        if name in case:
            found = case[name]
            first = f"; first apart: {found['first_difference']}" if found["first_difference"] else ""
            yield f"{found['equal']} of {found['units']} units equal{where}{first}"
    for part, why in case.get("failed", {}).items():
        yield f"{part} failed: {why}"
