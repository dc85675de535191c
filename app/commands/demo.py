"""`duplexcadence demo`: the before and after on this machine, as a page to show and tables to take away."""

import argparse
import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING

from app.demo.course import Held, Progress, hold_all
from app.demo.files import CONVERSATION, FIGURES, PAGE, PNG, SVG, TABLE, UNITS
from app.streams import say, tell
from app.targets import check_targets
from app.terminal import TerminalProgress
from engine.errors import AskedWrongly, NoRoom
from engine.models import registry, weights
from engine.phrases import counted, printable
from engine.runtime import RUNTIMES

if TYPE_CHECKING:
    from engine.export.report import Report

FOLDER = Path("duplexcadence-demo")
ROUNDS, MOST_ROUNDS = 3, 20
UNITS_A_LINE = 5  # of progress
OTHERS = (SVG, PNG, UNITS, FIGURES, TABLE)
ORDER = ("stock", "library", "cadence")  # from before to after


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "demo",
        help="show what this engine gains on this machine",
        description="Holds one recorded conversation on each runtime, one after the other: once in real time, then "
        "again as fast as it goes. Writes a page (HTML) with every second's meter and both sides' sound, pictures "
        "(SVG, PNG), tables (CSV, LaTeX), and the logs. Takes about two minutes on two cores. Ctrl-C keeps what was "
        "held.",
    )
    parser.add_argument("--out", type=Path, default=FOLDER, metavar="DIR", help=f"a folder (default: {FOLDER})")
    parser.add_argument("--model", default="pocket", metavar="M", help="a name from `models list` (default: pocket)")
    parser.add_argument(
        "--runtimes",
        default=",".join(ORDER),
        metavar="NAMES",
        help=f"two or more with commas between, from before to after (default: {','.join(ORDER)})",
    )
    parser.add_argument(
        "--rounds",
        type=int,
        default=ROUNDS,
        metavar="N",
        help=f"how often each holds it, 1 to {MOST_ROUNDS}, and a slow one less often; confidence intervals need two "
        f"(default: {ROUNDS})",
    )
    parser.add_argument(
        "--recorded", metavar="NAME", help="show sessions that ship, held on another machine, in place of this one's"
    )
    parser.add_argument("--list", action="store_true", help="list the sessions that ship")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    from app.demo.recorded import recorded_sets

    if args.list:
        sets = recorded_sets()
        for each in sets:
            say(printable(f"{each.name}  {each.about.title}; {each.about.machine}; {each.about.weights} weights"))
        if not sets:
            say("no recorded session ships with this version")
        return 0
    began_s = time.monotonic()
    report = _recorded(args) if args.recorded is not None else _held_here(args)
    from engine.comparison import text_table

    say(text_table(report.comparison))
    for line in report.beware:
        say(f"beware: {line}")
    say()
    for name in (PAGE, *OTHERS):
        say(printable(str(args.out / name)))
    say(f"\nall of it in {time.monotonic() - began_s:.0f} s")
    return int(any(each.session.figures.faults for each in report.shown))


def _recorded(args: argparse.Namespace) -> "Report":
    """The report of sessions that ship."""
    from app.demo.making import write_report
    from app.demo.recorded import find_recorded, recorded_report

    recorded = find_recorded(args.recorded)
    _make(args.out)
    report = recorded_report(recorded, shlex.join(["duplexcadence", "demo", "--recorded", recorded.name]))
    write_report(report, [[log] for log in recorded.logs()], args.out)
    return report


def _held_here(args: argparse.Namespace) -> "Report":
    """Hold the conversation on every runtime, and make the report of it."""
    runtimes = tuple(args.runtimes.split(","))
    if len(runtimes) < 2 or len(set(runtimes)) < len(runtimes) or not set(runtimes) <= set(RUNTIMES):
        raise AskedWrongly(f"--runtimes {args.runtimes}", f"two or more of {', '.join(RUNTIMES)}, each once")
    if not 1 <= args.rounds <= MOST_ROUNDS:
        raise AskedWrongly(f"--rounds {args.rounds}", f"1 to {MOST_ROUNDS}")
    entry = registry.find(args.model)
    entry.require_runs()
    folder: Path = args.out
    _make(folder)
    store = weights.open_store()
    weights.fetch(store.manifest.of_model(entry.name), progress=TerminalProgress())

    from app.demo.conversation import write_conversation
    from app.demo.making import make_report

    write_conversation(folder / CONVERSATION)
    lines = _Lines(args.rounds)
    held: list[Held] = []
    try:
        hold_all(
            entry.name, runtimes, folder / CONVERSATION, folder, args.rounds, progress=lines.show, done=held.append
        )
        tell("writing the report")
        return make_report(entry.name, held, folder, _command(args))
    except BaseException:
        for each in held:
            tell(f"kept: {each.reply}, {', '.join(str(log) for log in each.logs)}")
        raise


class _Lines:
    """Progress in lines: one as each part begins, and one every few seconds of the conversation."""

    def __init__(self, rounds: int) -> None:
        self._rounds = rounds
        self._told: object = None

    def show(self, now: Progress) -> None:
        told = (now.number, now.round, now.units // UNITS_A_LINE if now.round == 1 else 0)
        if told == self._told:
            return
        self._told = told
        if not now.round:
            what = "loading"
        elif now.round > 1:
            what = f"round {now.round} of {self._rounds}, as fast as it goes"
        else:
            what = "in real time" + (f", {counted(now.units, 'second')}" if now.units else "")
        tell(f"{now.runtime} ({now.number + 1} of {now.runtimes}): {what}")


def _make(folder: Path) -> None:
    """Make the folder, look whether it takes our files, and clear away an older demo's report."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        check_targets({}, {"--out": folder / PAGE})
        for name in (PAGE, *OTHERS):
            (folder / name).unlink(missing_ok=True)
    except OSError as error:
        raise NoRoom(f"--out {folder} cannot be written ({error.strerror})", "a folder", "name another") from None


def _command(args: argparse.Namespace) -> str:
    """What was asked for, without where it went: paths are nobody's business."""
    words = ["duplexcadence", "demo"]
    for name, default in (("model", "pocket"), ("runtimes", ",".join(ORDER)), ("rounds", ROUNDS)):
        value = getattr(args, name)
        words += [f"--{name}", str(value)] if value != default else []
    return shlex.join(words)
