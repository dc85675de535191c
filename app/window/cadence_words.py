"""The cadence meter in words and figures: one bar's, and the whole meter's. Pure functions; knows no Qt. Any thread."""

from app.window.cadence_model import Bar, CadenceModel
from app.window.words import length
from engine.cadence.rows import WAITING
from engine.cadence.verdict import unit_noun
from engine.clock import NS
from engine.phrases import counted, printable, spoken

EVENTS = {"LISTEN": "listen", "SPEAK": "speak", "FLUSH": "end of turn", "": "under way"}
NAME_LETTERS = 24


def clock(bar: Bar) -> str:
    """When its chunk came: "1:07", "1:02:03"."""
    return time(max(0, bar.arrival_ns))


def time(at_ns: int) -> str:
    """A moment since the session's start: "1:07", "1:02:03"."""
    return length(at_ns // NS)


def title(bar: Bar) -> str:
    """Which it is: "Unit 41", "Units 500 to 511"."""
    return f"Unit {bar.first}" if bar.units == 1 else f"Units {bar.first} to {bar.last}"


def margin(bar: Bar) -> str:
    """How it stands to its deadline: "0.46 s to spare", "0.31 s late", "2 of 12 late, the worst by 31 ms"."""
    if bar.slack_ms is None:
        return "past its deadline" if bar.late else "running"
    if not bar.overruns:
        return f"{spoken(bar.slack_ms)} to spare"
    if bar.units == 1:
        return f"{spoken(-bar.slack_ms)} late"
    return f"{bar.overruns} of {bar.units} late, the worst by {spoken(-bar.slack_ms)}"


def remarks(bar: Bar) -> list[str]:
    """What else happened: an answer began, a gap was heard, audio was lost, work had to wait."""
    said = []
    if bar.delay_ms is not None:
        said.append(f"answer after {spoken(bar.delay_ms)}")
    if bar.gap_ms:
        said.append(f"gap of {spoken(bar.gap_ms)}")
    if bar.dropped_ms:
        said.append(f"{spoken(bar.dropped_ms)} of microphone lost")
    waited_ms = sum(span.end_ms - span.start_ms for span in bar.spans if span.name == WAITING)
    if waited_ms >= 1:
        said.append(f"waited {spoken(waited_ms)} for the unit before")
    return said


def stage(name: str) -> str:
    """A stage's name as it is shown."""
    return printable(name.replace("_", " "))[:NAME_LETTERS]


def stage_lines(bar: Bar) -> list[tuple[str, str, str]]:
    """Name, time and path of each stage."""
    return [(stage(each.name), spoken(each.ms), ", ".join(each.paths)) for each in bar.stages]


def headline(bar: Bar) -> str:
    """One line: "Unit 41, speak, 0.46 s to spare, answer after 1.72 s"."""
    return ", ".join([title(bar), EVENTS[bar.event], margin(bar), *remarks(bar)])


def in_figures(bar: Bar) -> str:
    """Its stages in one line: "hearing 0.29 s, words 0.24 s"; for a screen reader."""
    if not bar.stages:
        return "no work"
    return ", ".join(f"{name} {time}" for name, time, _ in stage_lines(bar))


def tooltip(bar: Bar) -> str:
    """Several lines of plain text."""
    lines = [f"{name}: {time}" + (f" ({path})" if path else "") for name, time, path in stage_lines(bar)]
    about = f"{title(bar)} at {clock(bar)}, {EVENTS[bar.event]}"
    return "\n".join([about, margin(bar), *remarks(bar), *lines])


def summary(model: CadenceModel) -> str:
    """The meter in words: "60 seconds: no overrun, least slack 0.46 s. The agent spoke in 22"."""
    return ". ".join(part for part in (verdict(model), more(model)) if part)


def verdict(model: CadenceModel) -> str:
    """How the bars stand to the deadline: "60 seconds: no overrun, least slack 0.46 s"."""
    bars = model.bars
    if not bars or model.figures is None:
        return "No second yet"
    noun = "second" if any(bar.units > 1 for bar in bars) else unit_noun(model.figures)
    late = sum(bar.overruns for bar in bars)
    tightest = min(bars, key=lambda bar: bar.slack_ms or 0.0)
    least_ms = tightest.slack_ms or 0.0
    if late:
        return f"{counted(len(bars), noun)}: {counted(late, 'overrun')}, the worst by {spoken(-least_ms)}"
    return f"{counted(len(bars), noun)}: no overrun, least slack {spoken(least_ms)}"


def more(model: CadenceModel) -> str:
    """What else the bars tell: "The agent spoke in 24, with 0.18 s of gaps"."""
    if not model.bars:
        return "Each will be a bar of work beneath its deadline"
    spoke = sum(bar.event == "SPEAK" for bar in model.bars)
    gaps_ms = sum(bar.gap_ms for bar in model.bars)
    return f"The agent spoke in {spoke}" + (f", with {spoken(gaps_ms)} of gaps" if gaps_ms else "")
