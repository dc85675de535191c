"""The whole unit's record as a person reads it. Pure; any thread."""

from collections.abc import Iterator, Sequence
from typing import Any

from engine.phrases import MIB, aligned

_HEAD = "| MiniCPM-o's whole unit | released | pinned | ours | faster | equal |"
_README_NOTE = (
    "A whole second, from what was heard to sound; means of units, medians of tokens. Random weights of released sizes "
    "decide nothing sensible: a script says when the model listens and speaks. *Faster* is against the faster of "
    "released and pinned."
)
_PASTS = ("200", "1000", "4000")
_NAMES = {"stock_released": "released", "stock_pinned": "pinned", "cadence": "ours"}


def table(record: dict[str, Any]) -> list[str]:
    """For a terminal."""
    (case,) = record["cases"]
    lines = [f"{record['model']}, whole unit, random weights of {record['sizes']} sizes, {record['device']}"]
    lines += [record["note"]]
    for kind, what in (("usual", record["unit"].split(",")[1].strip()), ("worst", "the worst case")):
        rows: list[tuple[str, ...]] = [("UNIT", "RUNTIME", "UNITS", "MEAN", "MEDIAN", "P99", "OVERRUNS")]
        for event in ("LISTEN", "SPEAK", "FLUSH"):
            for name, figures in case["runtimes"].items():
                if event in (paces := figures.get(kind, {})):
                    rows.append((event, _NAMES[name], *_pace(paces[event])))
        if len(rows) > 1:
            lines += [what, *aligned(rows, "llrrrrr")]
    tokens: list[tuple[str, ...]] = [("TOKEN", "PAST", "RUNTIME", "MEDIAN", "P95", "HOST")]
    for kind in ("language", "speech"):
        for name, figures in case["runtimes"].items():
            for context, one in figures.get(kind, {}).items():
                if isinstance(one, dict):
                    tokens.append((kind, context, _NAMES[name], *(_ms(one, key) for key in ("median", "p95", "host"))))
    if len(tokens) > 1:
        lines += aligned(tokens, "lrlrrr")
    return [*lines, *_remarks(case)]


def unit_table(records: Sequence[dict[str, Any]]) -> list[str]:
    """README's lines."""
    return [_README_NOTE, "", _HEAD, "|---|---|---|---|---|---|", *(row for one in records for row in _rows(one))]


def _rows(record: dict[str, Any]) -> Iterator[str]:
    (case,) = record["cases"]
    runtimes = case["runtimes"]
    for kind, what, event, key in (
        ("usual", "it listens", "LISTEN", "mean_ms"),
        ("usual", "it speaks, 10 text tokens", "SPEAK", "mean_ms"),
        ("worst", "it speaks, the most there can be", "SPEAK", "mean_ms"),
        *(("language", f"a token of the language model, {past} before it", past, "median") for past in _PASTS),
        *(("speech", f"a speech token, {past} before it", past, "median") for past in _PASTS),
    ):
        found = [runtimes.get(name, {}).get(kind, {}).get(event, {}) for name in _NAMES]
        if any(key in one for one in found):
            faster, equal = case["ratio"].get(f"{kind} {event}"), found[-1].get("equal")
            times = [_ms(one, key) for one in found]
            cells = [what, *times, f"{faster:.2f}x" if faster else "-", "-" if equal is None else str(equal)]
            yield f"| {' | '.join(cells)} |"
    if found := case.get("equal"):
        yield f"| units equal to the bit | | | | | {found['equal']} of {found['units']} |"


def _pace(figures: dict[str, Any]) -> tuple[str, ...]:
    times = (_ms(figures, f"{key}_ms") for key in ("mean", "median", "p99"))
    return (str(figures["units"]), *times, str(figures["overruns"]))


def _ms(figures: dict[str, Any], key: str) -> str:
    return f"{figures[key]:.1f} ms" if key in figures else "-"


def _remarks(case: dict[str, Any]) -> Iterator[str]:
    for name, figures in case["runtimes"].items():
        if memory := figures.get("memory"):
            parts = ", ".join(
                f"{memory[f'{part}_bytes'] / MIB:.0f} MiB {word}"
                for part, word in (("weight", "weights"), ("state", "state"), ("activation", "activations"),
                                   ("graph", "graphs"))
                if f"{part}_bytes" in memory
            )  # fmt: skip
            yield f"{_NAMES[name]}: {memory['peak_bytes'] / MIB:.0f} MiB at the most: {parts}"
            if memory.get("within_plan") is False:
                yield "the arena held more than planned"
        if live := figures.get("live"):
            yield (
                f"{_NAMES[name]}: {live['overruns']} of {live['units']} seconds at wall-clock overrun; "
                f"least slack {_ms(live, 'slack_worst_ms')}"
            )
            yield from (f"{_NAMES[name]}: {fault}" for fault in live["faults"])
        for kind in ("language", "speech", "usual", "worst"):
            for why in {**figures.get(kind, {}), **figures.get(kind, {}).get("graphs", {})}.get("refused", ()):
                yield f"{kind}: no graph for {why}"
    for what, found in case.get("kernels", {}).items():
        kinds = ", ".join(f"{one['count']:.0f} {one['name']} {one['ms']:.2f}" for one in found["kinds"][:6])
        yield f"{what}: {found['count']:.0f} kernels, {found['ms']:.2f} ms: {kinds}"
    for what, ratio in case["ratio"].items():
        yield f"{what}: {ratio:.2f} times as fast as the faster stock"
    if found := case.get("equal"):
        first = f" (first apart: {found['first_difference']})" if found["first_difference"] else ""
        yield (
            f"{found['equal']} of {found['units']} units equal to pinned to the bit{first}, with "
            f"{found['encoder_resets']} resets of the encoder and {found['window_slides']} slides of the window"
        )
    for part, why in case.get("failed", {}).items():
        yield f"{part} failed: {why}"
