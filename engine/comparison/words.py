"""A comparison in words: the headline, what each session's user felt, what each step gains, what spoils it.

Pure; any thread.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from engine.cadence.verdict import unit_noun
from engine.comparison.bits import Bits
from engine.comparison.figures import Comparison, Figure, compared
from engine.comparison.session import Measured
from engine.phrases import counted, printable, spoken

# What a step is told by: the figures that a person, a budget and a machine feel.
STEP_FIGURES = ("heaviest_mean_ms", "speak_mean_ms", "response_delay_median_ms", "peak_rss_bytes", "peak_device_bytes")


@dataclass(frozen=True)
class Step:
    """From one session to the next one.

    Args:
        before: The name of the one.
        after: The name of the other.
        gains: Of the two alone, the figures of which one can be held against the other.
        bits: Whether they said the same to the bit.
    """

    before: str
    after: str
    gains: tuple[Figure, ...]
    bits: Bits


def headline(comparison: Comparison) -> str:
    """The first session against the last, in one sentence of words and figures."""
    first, last = comparison.sessions[0], comparison.sessions[-1]
    if first.figures.slack_ms is None or last.figures.slack_ms is None:
        return "; ".join(f"{printable(each.name)}: {felt(each)}" for each in (first, last))
    said = [f"{printable(each.name)} {_kept(each)}" for each in (first, last)]
    times = comparison.figure("heaviest_mean_ms")
    if times.against[-1]:
        noun = unit_noun(last.figures)
        said.append(f"the heaviest {noun} of a turn takes {times.texts[0]} and {times.texts[-1]}")
    return "; ".join(said)


def felt(session: Measured) -> str:
    """One line: late or not and by how much, what was heard of it, how long an answer took."""
    figures, noun = session.figures, unit_noun(session.figures)
    if figures.slack_ms is None:
        return "no unit ran"
    said = [
        f"{figures.overruns} of {counted(figures.units, noun)} late, the latest by {spoken(-figures.slack_ms.worst)}"
        if figures.overruns
        else f"no {noun} late, least slack {spoken(figures.slack_ms.worst)}"
    ]
    gaps = f"{spoken(figures.gap_ms)} of silence where speech was due, in {counted(figures.underflows, 'gap')}"
    said.append(gaps if figures.gap_ms else "no gap heard")
    if delay := figures.response_delay_ms:
        several = f" (median; {spoken(delay.worst)} at worst)" if delay.count > 1 else ""
        said.append(f"an answer after {spoken(delay.median)}{several}")
    return ", ".join(said)


def steps(comparison: Comparison) -> tuple[Step, ...]:
    """What each session gains on the one before it."""
    found = []
    for number, bits in enumerate(comparison.bits[1:], start=1):
        pair = comparison.sessions[number - 1 : number + 1]
        assert bits is not None
        figures = {figure.key: figure for figure in compared(pair).figures}
        gains = tuple(figures[key] for key in STEP_FIGURES if key in figures and figures[key].against[1])
        found.append(Step(pair[0].name, pair[1].name, gains, bits))
    return tuple(found)


def cautions(sessions: Sequence[Measured]) -> list[str]:
    """Why a ratio may not be the runtimes' doing; empty where nothing stands in the way."""
    said = []
    first = sessions[0]
    for other in sessions[1:]:
        pair = f"{first.name} and {other.name}: " if len(sessions) > 2 else ""
        said += [pair + line for line in _differences(first, other)]
    said += [f"{session.name}: {session.caveat}" for session in sessions if session.caveat]
    return [printable(line) for line in said]


def _differences(a: Measured, b: Measured) -> list[str]:
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
    return said


def _kept(session: Measured) -> str:
    figures, noun = session.figures, unit_noun(session.figures)
    assert figures.slack_ms is not None
    least = figures.slack_ms.worst
    if not figures.overruns:
        return f"kept every {noun}, {spoken(least)} to spare at least"
    heard = f", and {spoken(figures.gap_ms)} of silence is heard where speech was due" if figures.gap_ms else ""
    return f"was late in {figures.overruns} of {counted(figures.units, noun)}, by up to {spoken(-least)}{heard}"
