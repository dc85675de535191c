"""Says in words whether a session kept its cadence, and what its user felt. Pure; any thread."""

from engine.cadence.statistics import Statistics
from engine.phrases import MIB, aligned, counted, printable, size, spoken
from engine.timing import SessionHeader


def unit_noun(figures: Statistics) -> str:
    """What a unit is called: a second where it lasts one."""
    return "second" if 950 <= figures.cadence_ms <= 1100 else "unit"


def verdict(figures: Statistics) -> str:
    """One line: did every unit finish before the next chunk arrived?"""
    if figures.slack_ms is None:
        return "no unit ran"
    noun, least = unit_noun(figures), figures.slack_ms.worst
    if not figures.overruns:
        return (
            f"every {noun} finished before the next arrived: {figures.units} of {figures.units} units, "
            f"least slack {spoken(least)}"
        )
    finished = "finished after the next had arrived"
    return (
        f"{figures.overruns} of {counted(figures.units, noun)} {finished}: "
        f"the latest by {spoken(-least)}, unit {figures.tightest}"
    )


def described(header: SessionHeader) -> str:
    """One line: which model, on which runtime and device, fed how."""
    pace = "in real time" if header.audio.realtime else "as fast as it goes"
    return printable(f"{header.model}, {header.runtime} runtime, {header.device}, {header.audio.source} {pace}")


def summary(figures: Statistics) -> str:
    """The verdict and a few lines beneath it; what was not measured is left out."""
    if figures.slack_ms is None:
        return verdict(figures)
    slack, delay = figures.slack_ms, figures.response_delay_ms
    rows = [
        [
            "slack",
            f"median {spoken(slack.median)}, 95% of units kept {spoken(slack.p95)}, 99% {spoken(slack.p99)}",
        ]
    ]
    if delay:
        rows.append(
            [
                "response delay",
                f"median {spoken(delay.median)}, p95 {spoken(delay.p95)}, worst {spoken(delay.worst)} "
                f"over {counted(delay.count, 'answer')}",
            ]
        )
    rows.append(["voice", _voice(figures)])
    if figures.dropped_ms or figures.overflows:
        rows.append(
            ["microphone", f"{spoken(figures.dropped_ms)} lost, {counted(figures.overflows, 'overflow')}"],
        )
    rows.append(["memory", _memory(figures)])
    if figures.faults:
        rows.append(["faults", f"{figures.faults}, see the log's lines of the type fault"])
    return "\n".join([verdict(figures), *("  " + line for line in aligned(rows))])


def _voice(figures: Statistics) -> str:
    gaps = f"{counted(figures.underflows, 'gap')}, {spoken(figures.gap_ms)} in all" if figures.gap_ms else "no gap"
    spoke = f"spoke in {figures.events.get('SPEAK', 0)} of {counted(figures.units, unit_noun(figures))}"
    return f"{spoke}, {gaps}; dead air {spoken(figures.dead_air_ms)} (waiting for answers, and gaps)"


def _memory(figures: Statistics) -> str:
    parts = [f"arena {size(figures.peak_committed)} committed of {size(figures.reserved)} reserved"]
    if figures.peak_rss is not None:
        parts.insert(0, f"{size(figures.peak_rss)} resident at most")
    if figures.rss_slope is not None:
        slope = round(figures.rss_slope / MIB, 1) + 0.0  # no "-0.0"
        parts.append(f"slope {slope:+.1f} MiB a minute")
    if figures.peak_device is not None:
        parts.append(f"device {size(figures.peak_device)}")
    return ", ".join(parts)
