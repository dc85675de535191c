"""The figures of a comparison: each with its value as measured, the text that every table shows, and what it gains.

Pure but for the logs it reads; any thread.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from engine.cadence.statistics import Spread
from engine.comparison.bits import Bits, equality
from engine.comparison.session import Measured, measured, nobody_waits
from engine.errors import AskedWrongly
from engine.phrases import printable, size, spoken
from engine.timing import Log

LETTERS = "ABCDEF"
MOST_SESSIONS = len(LETTERS)  # more meters than that a page does not hold
SAME = 0.005  # ratios nearer to one than this are called the same
MOST_TIMES = 100  # a ratio beyond is told as that: it compares a time with next to none
NOTHING = "-"

Value = float | int | None


@dataclass(frozen=True)
class Figure:
    """One figure of every session, in the order of the sessions.

    Args:
        key: Its name in tables that programs read; units in it.
        label: Its name in words.
        values: As measured; None where a session has none.
        texts: As people read them.
        against: What each is to the first session's, in words; the first's own is empty.
        main: Whether it stands in short tables too.
        stage: Whether it is one stage's.
    """

    key: str
    label: str
    values: tuple[Value, ...]
    texts: tuple[str, ...]
    against: tuple[str, ...]
    main: bool = False
    stage: bool = False


@dataclass(frozen=True)
class Comparison:
    """Sessions side by side.

    Args:
        sessions: Two or more; the first is what the others are held against.
        figures: All that was measured.
        bits: Each session's voice against the one before it; the first has none before it.
    """

    sessions: tuple[Measured, ...]
    figures: tuple[Figure, ...]
    bits: tuple[Bits | None, ...]

    def figure(self, key: str) -> Figure:
        """The figure of that key."""
        return next(figure for figure in self.figures if figure.key == key)


def compare(
    logs: Sequence[Log], names: Sequence[str] | None = None, *, tick: Callable[[], None] = nobody_waits
) -> Comparison:
    """Measure logs and set them side by side.

    Args:
        logs: Two to six; the first is what the others are held against.
        names: What each is called; where none are given its runtime, or A, B, C ... where two are of one.
        tick: As `measured`.

    Raises:
        AskedWrongly: There are fewer or more.
        BadLog: A line of one is not schema 1.
    """
    if not 2 <= len(logs) <= MOST_SESSIONS:
        raise AskedWrongly(f"{len(logs)} logs to compare", f"two to {MOST_SESSIONS}")
    runtimes = [log.header.runtime for log in logs]
    names = names or (runtimes if len(set(runtimes)) == len(runtimes) else LETTERS)
    return compared([measured(log, name, tick=tick) for log, name in zip(logs, names, strict=False)])


def compared(sessions: Sequence[Measured]) -> Comparison:
    """As `compare`, of sessions that are measured."""
    bits = [None, *(equality(one, other) for one, other in pairwise(sessions))]
    return Comparison(tuple(sessions), tuple(_figures(sessions)), tuple(bits))


def over_cadence(ms: float | None, cadence_ms: float) -> float | None:
    """By which share of the cadence a time is over it; negative where under."""
    return None if ms is None or cadence_ms <= 0 else ms / cadence_ms - 1


def share_words(share: float | None) -> str:
    """A share over the cadence, as said: "14% over" or "86% under"."""
    if share is None:
        return NOTHING
    return f"{abs(share):.0%} {'over' if share > 0 else 'under'}"


def _figures(sessions: Sequence[Measured]) -> Iterator[Figure]:
    figures = [session.figures for session in sessions]
    yield _counts("units", "units", [each.units for each in figures])
    yield _counts("units_spoken", "of them spoken", [each.events.get("SPEAK", 0) for each in figures])
    yield _counts("overruns", "overruns", [each.overruns for each in figures], main=True)
    least = [each.slack_ms.worst if each.slack_ms else None for each in figures]
    yield _times("latest_ms", "latest by", [None if ms is None else max(0.0, -ms) for ms in least], main=True)
    speak = [each.work_ms.get("SPEAK") for each in figures]
    yield _times("speak_mean_ms", "SPEAK unit, mean", _means(speak), main=True)
    yield _over("speak_over_cadence", "SPEAK unit, mean, over the cadence", sessions, speak)
    heaviest = [session.heaviest_ms for session in sessions]
    label = "heaviest unit of a turn, mean"
    yield _times("heaviest_mean_ms", label, _means(heaviest), main=True)
    yield _over("heaviest_over_cadence", f"{label}, over the cadence", sessions, heaviest)
    yield _slack("slack_least_ms", "slack, least", least)
    for part, name in (("p99", "99% of units kept"), ("p95", "95% of units kept"), ("median", "median")):
        values = [getattr(each.slack_ms, part) if each.slack_ms else None for each in figures]
        yield _slack(f"slack_{part}_ms", f"slack, {name}", values)
    yield _counts("gaps", "gaps in the voice", [each.underflows for each in figures])
    yield _times("gap_ms", "silence where speech was due", [each.gap_ms for each in figures], main=True, ratio=False)
    delays = [each.response_delay_ms for each in figures]
    yield from _spread("response_delay", "response delay", delays, main=True)
    if any(delays):
        worst = [delay.worst if delay else None for delay in delays]
        yield _times("response_delay_worst_ms", "response delay, worst", worst, main=True)
    yield _times("dead_air_ms", "dead air", [each.dead_air_ms for each in figures], ratio=False)
    for event in ("LISTEN", "SPEAK", "FLUSH"):
        yield from _spread(f"{event.lower()}_unit", f"{event} unit", [each.work_ms.get(event) for each in figures])
    stages = [{stage.name: stage.ms for stage in each.stages} for each in figures]
    for name in dict.fromkeys(name for each in stages for name in each):
        for figure in _spread(f"stage_{name}", printable(name), [each.get(name) for each in stages]):
            yield replace(figure, stage=True)
    yield _bytes("peak_rss_bytes", "resident memory, peak", [each.peak_rss for each in figures], main=True)
    device = [each.peak_device for each in figures]
    if any(each is not None for each in device):
        yield _bytes("peak_device_bytes", "device memory, peak", device, main=True)
    yield _bytes("peak_committed_bytes", "arena committed, peak", [each.peak_committed for each in figures])


def _counts(key: str, label: str, values: Sequence[int], *, main: bool = False) -> Figure:
    return Figure(key, label, tuple(values), tuple(map(str, values)), ("",) * len(values), main)


def _times(key: str, label: str, values: Sequence[float | None], *, main: bool = False, ratio: bool = True) -> Figure:
    texts = tuple(NOTHING if ms is None else spoken(ms) for ms in values)
    return Figure(key, label, tuple(values), texts, _against(values, _faster if ratio else _none), main)


def _means(spreads: Sequence[Spread | None]) -> list[float | None]:
    return [spread.mean if spread else None for spread in spreads]


def _slack(key: str, label: str, values: Sequence[float | None]) -> Figure:
    texts = tuple(NOTHING if ms is None else spoken(ms) for ms in values)
    against = _against(values, lambda one, other: f"{(other - one) / 1000:+.2f} s")
    return Figure(key, label, tuple(values), texts, against, main=key == "slack_least_ms")


def _over(key: str, label: str, sessions: Sequence[Measured], spreads: Sequence[Spread | None]) -> Figure:
    shares = tuple(
        over_cadence(mean_ms, session.figures.cadence_ms)
        for session, mean_ms in zip(sessions, _means(spreads), strict=True)
    )
    return Figure(key, label, shares, tuple(map(share_words, shares)), ("",) * len(shares), main=True)


def _spread(key: str, label: str, spreads: Sequence[Spread | None], *, main: bool = False) -> Iterator[Figure]:
    if not any(spreads):
        return
    for part in ("median", "p95"):
        values = [getattr(spread, part) if spread else None for spread in spreads]
        yield _times(f"{key}_{part}_ms", f"{label}, {part}", values, main=main and part == "median")


def _bytes(key: str, label: str, values: Sequence[int | None], *, main: bool = False) -> Figure:
    texts = tuple(NOTHING if count is None else size(count) for count in values)
    return Figure(key, label, tuple(values), texts, _against(values, _less), main)


def _against(values: Sequence[Value], words: Callable[[float, float], str]) -> tuple[str, ...]:
    first, *others = values
    told = ["" if first is None or other is None else words(first, other) for other in others]
    return ("", *told)


def _none(_one: float, _other: float) -> str:
    return ""


def _faster(one_ms: float, other_ms: float) -> str:
    if one_ms <= 0 or other_ms <= 0:
        return ""
    ratio = one_ms / other_ms
    if abs(ratio - 1) <= SAME:
        return "the same"
    times, how = (ratio, "faster") if ratio > 1 else (1 / ratio, "slower")
    return f"{times:.2f}x {how}" if times < MOST_TIMES else f"over {MOST_TIMES} times {how}"


def _less(one: float, other: float) -> str:
    if one <= 0:
        return ""
    change = other / one - 1
    return "the same" if abs(change) <= SAME else f"{abs(change):.0%} {'more' if change > 0 else 'less'}"
