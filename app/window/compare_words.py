"""The compare view in words: a second of every session, what a column is, whose voices are equal. Pure; knows no Qt."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise

from app.window import cadence_words as words
from app.window.cadence_model import Bar
from app.window.compare_model import Axis, CompareModel
from engine.comparison import Comparison, felt
from engine.comparison.words import cautions
from engine.phrases import counted, printable, spoken

NOTHING = "-"
NO_UNIT = "no unit"


def column(axis: Axis, second: int) -> str:
    """Which part of the time axis it is: "0:12", or "0:12 to 0:15" where it is several seconds."""
    begins = words.time((second >> axis.power << axis.power) * 1_000_000_000)
    if not axis.power:
        return begins
    return f"{begins} to {words.time((((second >> axis.power) + 1 << axis.power) - 1) * 1_000_000_000)}"


def scale(axis: Axis) -> str:
    """What a bar stands for."""
    return "Each bar is a second" if not axis.power else f"Each bar is the tightest of {1 << axis.power} seconds"


def told(model: CompareModel) -> str:
    """The column that is told, in one line, session by session."""
    index = None if model.told_s is None else model.axis.column_of(model.told_s)
    return "" if index is None else side_by_side(model, index)


def side_by_side(model: CompareModel, index: int) -> str:
    """A column in view in one line, session by session."""
    begins = column(model.axis, (model.axis.first + index) << model.axis.power)
    return f"{begins}. {'. '.join(_of_each(model, index, words.headline))}"


def in_figures(model: CompareModel, index: int) -> str:
    """Its stages, session by session; for a screen reader."""
    return ". ".join(_of_each(model, index, words.in_figures))


def rows(model: CompareModel) -> list[tuple[str, tuple[str, ...]]]:
    """The chosen column's figures: what each line tells, and every session's cell; stages last, in their order."""
    bars = model.told
    lines = [
        ("Unit", _cells(bars, words.title)),
        ("What", _cells(bars, lambda bar: words.EVENTS[bar.event])),
        ("Deadline", _cells(bars, words.margin)),
        ("Answer after", _cells(bars, lambda bar: "" if bar.delay_ms is None else spoken(bar.delay_ms))),
        ("Gap in the voice", _cells(bars, lambda bar: spoken(bar.gap_ms) if bar.gap_ms else "")),
    ]
    lines += [(words.stage(name), _cells(bars, partial(_stage, name))) for name in model.stages]
    return lines


def summary(model: CompareModel) -> str:
    """The meters in words: each session's one line."""
    if model.comparison is None:
        return "No sessions yet"
    return ". ".join(f"{printable(each.name)}: {felt(each)}" for each in model.comparison.sessions)


def bits(comparison: Comparison) -> list[str]:
    """Each session's voice against the one before it, a line each."""
    return [
        f"The voices of {printable(one.name)} and {printable(other.name)}, to the bit: {printable(bits.words)}"
        for (one, other), bits in zip(pairwise(comparison.sessions), comparison.bits[1:], strict=True)
        if bits is not None
    ]


def beware(comparison: Comparison, known: str) -> list[str]:
    """What spoils the comparison, a line each; `known` is what no log tells, or empty."""
    return [f"Beware: {line}" for line in (known, *cautions(comparison.sessions)) if line]


def sessions(count: int) -> str:
    """How many are chosen."""
    return counted(count, "session")


def _of_each(model: CompareModel, index: int, tell: Callable[[Bar], str]) -> list[str]:
    bars = ((printable(lane.measured.name), lane.bars[index]) for lane in model.lanes)
    return [f"{name}: {tell(bar) if bar.event else NO_UNIT}" for name, bar in bars]


def _cells(bars: Sequence[Bar | None], tell: Callable[[Bar], str]) -> tuple[str, ...]:
    return tuple(NO_UNIT if bar is None else tell(bar) or NOTHING for bar in bars)


def _stage(name: str, bar: Bar) -> str:
    """A stage's time in a bar, and how it ran where that tells something."""
    shown = words.stage(name)
    for stage, time, path in words.stage_lines(bar):
        if stage == shown:
            return time if path in ("", "eager") else f"{time} ({path})"
    return NOTHING
