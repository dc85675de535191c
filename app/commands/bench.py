"""`duplexcadence bench`: a model's tail through the released code and through this engine, measured side by side."""

import argparse
import shlex
from pathlib import Path

from app.streams import say, tell
from app.targets import check_ending, check_targets
from engine.errors import AskedWrongly

_RUNTIMES = {"released": "stock_released", "pinned": "stock_pinned", "graphs": "stock_graphs", "cadence": "cadence"}
_PARTS = ("timing", "peaks", "equality", "endurance", "beside", "floor")


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "bench",
        help="measure a model's tail against the released code",
        description="Says seconds of made-up speech tokens through the released code as it comes, the same with its "
        "backends' settings pinned, the same with the graphs that its package never turns on, and this engine: times "
        "in milliseconds, memory in bytes, and whether every bit is equal. Weights are random, at released sizes: "
        "times, memory and bits are true, the sound is noise. Exit code 1 where something failed or was not equal.",
    )
    parser.add_argument("--model", required=True, metavar="MODEL", help="minicpm-o-4.5 or step-audio-2")
    parser.add_argument("--stage", choices=("tail",), default="tail", help="from speech tokens to sound")
    parser.add_argument(
        "--runtime",
        default="all",
        metavar="NAMES",
        help="all, or some of released, pinned, graphs, cadence with commas between (default: all)",
    )
    parser.add_argument(
        "--parts",
        default="all",
        metavar="NAMES",
        help=f"all, or some of {', '.join(_PARTS)} with commas between (default: all)",
    )
    parser.add_argument(
        "--prompt-s",
        default="3.37,5,10",
        metavar="SECONDS",
        help="lengths of voice prompt in seconds, with commas between (default: 3.37,5,10)",
    )
    parser.add_argument("--units", type=int, default=100, help="seconds timed of each runtime (default: 100)")
    parser.add_argument(
        "--endurance-units", type=int, default=10_000, metavar="UNITS", help="seconds of the long session"
    )
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda", help="default: cuda")
    parser.add_argument("--tiny", action="store_true", help="at a size for tests, whose figures mean nothing")
    parser.add_argument("--profile", action="store_true", help="name the kernels of a unit by kind")
    parser.add_argument("--json", type=Path, metavar="FILE", help="where all of it goes, as it comes")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Run the command; 1 where something failed or was not equal."""
    if args.json is not None:
        check_ending("--json", args.json, (".json",))
        check_targets({}, {"--json": args.json})
    if args.units < 1:
        raise AskedWrongly(f"{args.units} units to measure", "at least one")
    if args.endurance_units < 2:
        raise AskedWrongly(f"an endurance of {args.endurance_units} units", "at least two")
    runtimes = tuple(_RUNTIMES[name] for name in _some(args.runtime, tuple(_RUNTIMES), "--runtime"))
    parts, prompts_s = _some(args.parts, _PARTS, "--parts"), _lengths(args.prompt_s)

    # These load torch, which takes seconds, and which other commands do without.
    from engine.bench.bench import run_bench, succeeded
    from engine.bench.report import table
    from engine.bench.rig import Asked
    from engine.bench.tails import find_tail

    asked = Asked(
        find_tail(args.model),
        runtimes,
        prompts_s,
        args.units,
        args.device,
        args.tiny,
        parts,
        args.profile,
        args.endurance_units,
        _command(args),
        args.json,
    )
    record = run_bench(asked, tell)
    for line in table(record):
        say(line)
    return 0 if succeeded(record) else 1


def _some(text: str, known: tuple[str, ...], option: str) -> tuple[str, ...]:
    """Of what is known, what was asked for, in the known order."""
    asked = known if text == "all" else text.split(",")
    if not asked or not set(asked) <= set(known):
        raise AskedWrongly(f"{option} {text}", f"all, or some of {', '.join(known)} with commas between")
    return tuple(name for name in known if name in asked)


def _lengths(text: str) -> tuple[float, ...]:
    try:
        lengths = tuple(float(part) for part in text.split(","))
    except ValueError:
        lengths = ()
    if not lengths or not all(0.5 <= length <= 15 for length in lengths):
        raise AskedWrongly(f"--prompt-s {text}", "seconds from 0.5 to 15, with commas between")
    return lengths


def _command(args: argparse.Namespace) -> str:
    """As it was asked, without the names of files."""
    words = ["duplexcadence", "bench", "--model", args.model, "--stage", args.stage, "--runtime", args.runtime]
    words += ["--parts", args.parts, "--prompt-s", args.prompt_s, "--units", str(args.units)]
    words += ["--endurance-units", str(args.endurance_units), "--device", args.device]
    words += [f"--{name}" for name in ("tiny", "profile") if getattr(args, name)]
    return shlex.join(words)
