"""From logs and sounds to a report's files. Every figure is read from the logs anew. Entered by one thread."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

from app.demo.course import Held
from app.demo.files import CONVERSATION, FIGURES, PAGE, PNG, SVG, TABLE, UNITS
from app.demo.machine import environment
from app.demo.sounds import both_sides
from engine.comparison import Measured, measured
from engine.comparison.session import nobody_waits
from engine.export.report import Report, Shown, Sound, write_figures, write_latex, write_page, write_units
from engine.export.side_by_side import write_side_by_side
from engine.timing import Log, read_log

# What Pocket's runtimes are, and what changes from one to the next: POCKET.md's words, checked against its builder.
WHAT = {
    "stock": "The libraries as they come: nothing is changed in what they compute, nor in how many threads they take.",
    "library": "The libraries, driven with this engine's windows: they compute what cadence computes.",
    "cadence": "This engine.",
}
CHANGES = {
    ("stock", "library"): (
        "What is heard is as long as what was said, where stock pads it to half a minute; the part of the prompt that "
        "never changes is read once, not with every question; the weights of the words are multiplied as the released "
        "file holds them, four bits each, where this machine can do that, and not widened to float32; an answer is "
        "spoken clause by clause while the rest is being written, not as a whole once all is; one thread, which waits "
        "for no other, in place of as many as there are cores."
    ),
    ("library", "cadence"): (
        "The session's state lies at addresses that never change, in memory sized by the plan, and ears and language "
        "model are this engine's own layers over it in place of transformers'. By design not a bit of what is said "
        "changes."
    ),
}
CHANGES["stock", "cadence"] = f"{CHANGES['stock', 'library']} {CHANGES['library', 'cadence']}"
SOUND = (
    "What is heard is both sides as they were: the recorded questions, and the answers when they really came. Nothing "
    "was added or cut; where a voice was late, the silence that its listener heard is there."
)
METHOD = (
    "Each runtime held the same recorded conversation in a process of its own, one after the other, never two at once. "
    "The first round was fed in real time, a second of sound each second: it is the one that is drawn, heard and "
    "tabled. The rounds after it ran as fast as the machine went: the clock jumps over what would have been waiting, "
    "so that work and lateness are as real. Lateness is finish minus deadline by the monotonic clock; a gap is counted "
    "by the playout that fills the reply's file; the response delay runs from the end of the question's last voiced "
    "sample to the answer's first audible one; memory is what is resident of that process at its most, libraries "
    "included. Voices are compared by a SHA-256 of each second's samples, which each run wrote into its own log."
)
BUSY_SHARE = 0.1  # of the machine; where others used more, the report says so


def make_report(
    model: str, held: Sequence[Held], folder: Path, command: str, *, tick: Callable[[], None] = nobody_waits
) -> Report:
    """Measure what was held, and write all files of the report into `folder`.

    Args:
        model: The model's name.
        held: Two runtimes or more; the first is what the others are held against.
        folder: Holds the conversation; takes the files.
        command: What was asked for, to be told.
        tick: Called now and then; what it raises ends the work, and no file is half-written.

    Raises:
        BadLog, NoRoom: A log cannot be read, or a file not be written.
    """
    logs = [[read_log(path) for path in each.logs] for each in held]
    shown = tuple(
        Shown(
            what=WHAT.get(each.runtime, ""),
            rounds=tuple(measured(log, each.runtime, tick=tick) for log in rounds),
            sound=Sound(
                both_sides(folder / CONVERSATION, each.reply, _cadence_s(rounds[0])), -_cadence_s(rounds[0]), SOUND
            ),
            others=each.others,
        )
        for each, rounds in zip(held, logs, strict=True)
    )
    header = logs[0][0].header
    names = ", ".join(each.runtime for each in held[:-1]) + f" and {held[-1].runtime}"
    report = Report(
        title=f"DuplexCadence: one conversation, {len(held)} runtimes",
        lead=(
            f"The model {model} was asked the same recorded questions on {names}, one after the other, on this machine "
            f"({header.device}), {header.wall_clock.replace('T', ' ')}."
        ),
        shown=shown,
        changes=tuple(CHANGES.get((one.runtime, other.runtime), "") for one, other in pairwise(held)),
        environment=(*environment(header), *(_settings(each.session) for each in shown)),
        method=METHOD,
        commands=(
            command,
            *(
                f"duplexcadence run {CONVERSATION} --runtime {each.runtime} --realtime --log {each.runtime}.jsonl"
                for each in held
            ),
        ),
        beware=tuple(busy([(each.session.name, each.others) for each in shown])),
    )
    write_report(report, logs, folder, tick=tick)
    return report


def write_report(
    report: Report, logs: Sequence[Sequence[Log]], folder: Path, *, tick: Callable[[], None] = nobody_waits
) -> None:
    """Write all files of a report.

    Args:
        report: The report.
        logs: Of each session it shows, round by round.
        folder: Takes the files.
        tick: Called between them; what it raises ends the work, and no file is half-written.

    Raises:
        BadLog, NoRoom: A log cannot be read, or a file not be written.
    """
    rounds = [(each.session.name, of, each.others) for each, of in zip(report.shown, logs, strict=True)]
    write_figures(report, folder / FIGURES)
    write_units(rounds, folder / UNITS)
    write_latex(report, folder / TABLE)
    for name in (SVG, PNG):
        tick()
        write_side_by_side(report.comparison, folder / name, "; ".join(report.beware))
    tick()
    write_page(report, folder / PAGE)


def busy(others: Sequence[tuple[str, Sequence[float]]]) -> list[str]:
    """Who did not have the machine for himself, in a line; empty where all did.

    Args:
        others: Names, and which share of the machine others used, round by round.
    """
    shares = [(name, rounds[0]) for name, rounds in others if rounds and rounds[0] > BUSY_SHARE]
    if not shares:
        return []
    told = ", ".join(f"{share:.0%} beside {name}" for name, share in shares)
    return [f"others used this machine's processors too, {told}: what was late may not have been by itself"]


def _settings(session: Measured) -> tuple[str, str]:
    told = ", ".join(f"{name} {value}" for name, value in session.header.settings.items())
    return f"settings of {session.name}", told


def _cadence_s(log: Log) -> float:
    return next((unit.cadence_ms for unit in log.units()), 1000.0) / 1000
