"""Two sessions side by side in text, and what stands in the way of comparing them. Pure; any thread."""

from dataclasses import dataclass

from engine.cadence.statistics import Spread, Statistics, measure
from engine.cadence.verdict import verdict
from engine.phrases import aligned, printable, size, spoken
from engine.timing import Log, SessionHeader

SAME = 0.005  # ratios nearer to one than this are called the same
MOST_TIMES = 100  # a ratio beyond is told as that: it compares a time with next to none


@dataclass(frozen=True)
class Side:
    """One of the two sessions."""

    header: SessionHeader
    figures: Statistics
    caveat: str = ""


def compare(log_a: Log, log_b: Log) -> str:
    """Both logs side by side: figures, what B's are to A's, verdicts, and differences that spoil the comparison.

    Raises:
        BadLog: A line of either is not schema 1.
    """
    sides = [Side(log.header, measure(log.records()), log.caveat) for log in (log_a, log_b)]
    return compared(*sides)


def compared(a: Side, b: Side) -> str:
    """As `compare`, of sessions already measured."""
    rows = [["", "A", "B", "B against A"], *_identity(a.header, b.header), *_figures(a.figures, b.figures)]
    lines = aligned(rows, gap="   ")
    lines += ["", f"A: {verdict(a.figures)}", f"B: {verdict(b.figures)}"]
    return "\n".join([*lines, *(f"beware: {line}" for line in cautions(a, b))])


def cautions(a: Side, b: Side) -> list[str]:
    """Why a ratio between the two may not be the runtimes' doing; empty where nothing stands in the way."""
    said = []
    for name in ("model", "device"):
        one, other = getattr(a.header, name), getattr(b.header, name)
        if one != other:
            said.append(f"not the same {name}: {one} and {other}")
    if a.header.audio != b.header.audio:
        said.append("not the same audio, rates or pace")
    settings = sorted(
        key
        for key in a.header.settings.keys() | b.header.settings.keys()
        if a.header.settings.get(key) != b.header.settings.get(key)
    )
    if settings:
        said.append(f"not the same settings: {', '.join(settings)}")
    if a.figures.units != b.figures.units:
        said.append(f"not the same length: {a.figures.units} and {b.figures.units} units")
    elif a.figures.events != b.figures.events:
        said.append("not the same numbers of LISTEN, SPEAK and FLUSH units")
    said += [f"{name}: {side.caveat}" for name, side in (("A", a), ("B", b)) if side.caveat]
    return [printable(line) for line in said]


def _identity(a: SessionHeader, b: SessionHeader) -> list[list[str]]:
    return [
        [label, printable(getattr(a, name)), printable(getattr(b, name)), ""]
        for label, name in (("model", "model"), ("runtime", "runtime"), ("device", "device"), ("began", "wall_clock"))
    ]


def _figures(a: Statistics, b: Statistics) -> list[list[str]]:
    rows = [["units", str(a.units), str(b.units), ""], ["overruns", str(a.overruns), str(b.overruns), ""]]
    if a.slack_ms and b.slack_ms:
        for name, one, other in (
            ("slack, least", a.slack_ms.worst, b.slack_ms.worst),
            ("slack, 95% of units kept", a.slack_ms.p95, b.slack_ms.p95),
        ):
            rows.append([name, spoken(one), spoken(other), f"{(other - one) / 1000:+.2f} s"])
    for event in ("LISTEN", "SPEAK", "FLUSH"):
        rows += _times(f"{event} unit", a.work_ms.get(event), b.work_ms.get(event))
    rows += _times("response delay", a.response_delay_ms, b.response_delay_ms)
    stages_a, stages_b = ({stage.name: stage.ms for stage in figures.stages} for figures in (a, b))
    for name in dict.fromkeys([*stages_a, *stages_b]):
        rows += _times(printable(name), stages_a.get(name), stages_b.get(name))
    rows.append(["gaps in the voice", spoken(a.gap_ms), spoken(b.gap_ms), ""])
    for name, one_bytes, other_bytes in (
        ("resident memory, peak", a.peak_rss, b.peak_rss),
        ("device memory, peak", a.peak_device, b.peak_device),
        ("arena committed, peak", a.peak_committed, b.peak_committed),
    ):
        if one_bytes is not None and other_bytes is not None:
            rows.append([name, size(one_bytes), size(other_bytes), _less(one_bytes, other_bytes)])
    return rows


def _times(name: str, a: Spread | None, b: Spread | None) -> list[list[str]]:
    """Rows for the median and p95 of a time; "-" for the side that has none."""
    if a is None and b is None:
        return []
    rows = []
    for part in ("median", "p95"):
        one, other = (getattr(spread, part) if spread else None for spread in (a, b))
        told = [spoken(ms) if ms is not None else "-" for ms in (one, other)]
        rows.append([f"{name}, {part}", *told, _faster(one, other) if one is not None and other is not None else ""])
    return rows


def _faster(one_ms: float, other_ms: float) -> str:
    if one_ms <= 0 or other_ms <= 0:
        return ""
    ratio = one_ms / other_ms
    if abs(ratio - 1) <= SAME:
        return "the same"
    times, how = (ratio, "faster") if ratio > 1 else (1 / ratio, "slower")
    return f"{times:.2f}x {how}" if times < MOST_TIMES else f"over {MOST_TIMES} times {how}"


def _less(one: int, other: int) -> str:
    if one <= 0:
        return ""
    change = other / one - 1
    return "the same" if abs(change) <= SAME else f"{abs(change):.0%} {'more' if change > 0 else 'less'}"
