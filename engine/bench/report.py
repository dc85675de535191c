"""The benchmark's record as a person reads it: a short table for a terminal, and README's block.

Pure functions of records and texts; any thread.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from engine.bench.unit.report import unit_table
from engine.errors import AskedWrongly
from engine.phrases import MIB, aligned

BEGIN, END = "<!-- bench -->", "<!-- /bench -->"
_NAMES = {"stock_released": "released", "stock_pinned": "pinned", "stock_graphs": "its graphs"}
_HEAD = (
    "| model, solver steps | voice prompt | released | pinned | its own graphs | ours | faster | working memory "
    "| equal |"
)
_NOTE = (
    "One second of speech from tokens to sound, medians, float32, random weights of released sizes. *Faster* is "
    "against the faster of released and pinned; *working memory* is state, activations and graphs, against the smaller "
    "of both; *its own graphs* are those that the released package has and its models never turn on, over their own "
    "units of 0.96 s; *equal* counts units whose sound and caches are pinned's to the bit, over a scripted session, "
    "the same with 2 GiB of memory left, and the end of a long turn."
)


def table(record: dict[str, Any]) -> list[str]:
    """For a terminal."""
    lines = [
        f"{record['model']}, {record['stage']}, {record['solver_steps']} solver steps, random weights of "
        f"{record['sizes']} sizes, {record['device']}"
    ]
    rows = [("PROMPT", "RUNTIME", "MEDIAN", "P95", "OVERRUNS", "BUSY", "PEAK", "WORKING")]
    for case in record["cases"]:
        for name, figures in case["runtimes"].items():
            rows.append((f"{case['prompt_s']:g} s", _NAMES.get(name, name), *_cells(figures)))
    lines += aligned(rows, "llrrrrrr")
    for case in record["cases"]:
        lines += [f"prompt of {case['prompt_s']:g} s: {remark}" for remark in _remarks(case)]
    return lines + [f"no {_NAMES.get(name, name)}: {why}" for name, why in record["missing"].items()]


def working_bytes(figures: dict[str, Any]) -> int:
    """Bytes of state and activations, those in graphs' own memory among them."""
    return sum(figures.get(part, 0) for part in ("state_bytes", "activation_bytes", "graph_bytes"))


def compared(case: dict[str, Any]) -> list[dict[str, Any]]:
    """Every comparison of bits in a case."""
    found = (case.get("equal"), case.get("equal_low_memory"), case.get("endurance", {}).get("after"))
    return [one for one in found if one is not None]


def _cells(figures: dict[str, Any]) -> Iterator[str]:
    for name in ("median_ms", "p95_ms"):
        yield f"{figures[name]:.1f} ms" if name in figures else "-"
    yield str(figures.get("overruns", "-"))
    yield f"{figures['device_busy_ms']:.1f} ms" if "device_busy_ms" in figures else "-"
    for count in (figures.get("peak_bytes"), working_bytes(figures)):
        yield f"{count / MIB:.0f} MiB" if count else "-"


def _remarks(case: dict[str, Any]) -> Iterator[str]:
    ratio, against = case["ratio"], "transcription" if "transcription" in case["runtimes"] else "faster stock"
    if "speed" in ratio:
        yield f"{ratio['speed']:.2f} times as fast as the {against}"
    if "speed_stream" in ratio:
        yield f"as a stream, {ratio['speed_stream']:.2f} times as fast"
    if (whole := case["runtimes"].get("stream", {}).get("against_whole")) is not None:
        yield (
            f"a turn as a stream, {whole['samples']:,} samples, beside the released code's of all of it at once, "
            f"{whole['whole_samples']:,}: at most {whole['largest_difference']:.2g} of full scale apart"
        )
    if "speed_graphs" in ratio:
        yield f"{ratio['speed_graphs']:.2f} times as fast as the package's own graphs"
    if "state_and_activations" in ratio:
        yield f"{ratio['state_and_activations']:.0%} of stock's working memory, {ratio['peak_memory']:.0%} of its peak"
    if case["runtimes"].get("cadence", {}).get("within_plan") is False:
        yield "the arena held more than planned"
    if "floor_ms" in case.get("floor", {}):
        yield f"no runtime below {case['floor']['floor_ms']:.1f} ms"
    for name, where in (("equal", ""), ("equal_low_memory", ", with 2 GiB of memory left")):
        if name in case:
            yield f"{_equal(case[name])}{where}"
    if "beside" in case:
        yield f"beside an app's threads the p99 is {case['beside']['ratio_p99']:.2f} of what it is alone"
    if "endurance" in case:
        long = case["endurance"]
        grown = ", ".join(f"{name} {count:+,} bytes" for name, count in long["grown_bytes"].items())
        yield f"{long['units']:,} units: {grown}; drift {long['drift']:.2f}; then {_equal(long['after'])}"
    for name, why in case.get("missing", {}).items():
        yield f"no {_NAMES.get(name, name)}: {why}"
    for part, why in case.get("failed", {}).items():
        yield f"{part} failed: {why}"


def _equal(found: dict[str, Any]) -> str:
    first = f" (first apart: {found['first_difference']})" if found["first_difference"] else ""
    return f"{found['equal']} of {found['units']} units equal{first}"


def readme_block(records: Sequence[dict[str, Any]]) -> str:
    """README's figures, a row a model, device and prompt, and the whole units' below; empty without records."""
    tails, units = ([one for one in records if one["stage"] == stage] for stage in ("tail", "unit"))
    lines: list[str] = []
    if tails:
        lines += [_NOTE, "", _HEAD, "|---|---|---|---|---|---|---|---|---|"]
        lines += [_row(record, case) for record in tails for case in record["cases"]]
    if units:
        lines += ["", *unit_table(units)] if lines else unit_table(units)
    for record in (*tails, *units):
        versions = record["versions"]
        where = f"{record['device']}, torch {versions['torch']}, {record['date']}"
        lines += ["", f"{record['model']}, {record['stage']}: {where}, by `{record['command']}`."]
    return "\n".join(lines)


def _row(record: dict[str, Any], case: dict[str, Any]) -> str:
    def ms(name: str) -> str:
        median = case["runtimes"].get(name, {}).get("median_ms")
        return "-" if median is None else f"{median:.1f} ms"

    def ratio(name: str, form: str) -> str:
        return format(case["ratio"][name], form) if name in case["ratio"] else "-"

    graphs = ms("stock_graphs")
    if "speed_graphs" in case["ratio"]:
        graphs += f" ({ratio('speed_graphs', '.2f')}x)"
    faster = ratio("speed", ".2f")
    found = compared(case)
    equal = f"{sum(one['equal'] for one in found)} of {sum(one['units'] for one in found)}" if found else "-"
    cells = (
        f"{record['model']}, {record['solver_steps']}",
        f"{case['prompt_s']:g} s",
        *(ms("stock_released"), ms("stock_pinned"), graphs, ms("cadence")),
        faster if faster == "-" else f"{faster}x",
        ratio("state_and_activations", ".0%"),
        equal,
    )
    return f"| {' | '.join(cells)} |"


def with_figures(readme: str, records: Iterable[dict[str, Any]]) -> str:
    """README with the figures of these records between its marks; as it is where it has neither marks nor records.

    Raises:
        AskedWrongly: There are records, and no place for them.
    """
    block = readme_block(list(records))
    before, begin, rest = readme.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        if block:
            raise AskedWrongly("README has no place for the benchmark's figures", f"the lines {BEGIN} and {END}")
        return readme
    return f"{before}{BEGIN}\n{block}\n{END}{after}"
