"""`duplexcadence bench`: a model's tail, or its whole unit, through the released code and through this engine."""

import argparse
import shlex
from dataclasses import replace
from pathlib import Path

from app.streams import say, tell
from app.targets import check_ending, check_targets
from engine.errors import AskedWrongly

_RUNTIMES = {"released": "stock_released", "pinned": "stock_pinned", "graphs": "stock_graphs", "cadence": "cadence"}
_PARTS = ("timing", "peaks", "equality", "endurance", "beside", "floor")
_UNIT_PARTS = ("tokens", "equality", "timing", "memory", "live")
_UNITS, _UNIT_UNITS = 100, 25  # timed of each runtime
_PROMPTS_S, _UNIT_PROMPT_S = "3.37,5,10", "5"
_SPEECH_WAYS = ("exact", "clocked", "eager")


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "bench",
        help="measure a model's tail, or its whole unit, against the released code",
        description="Says seconds of made-up speech tokens through the released code as it comes, the same with its "
        "backends' settings pinned, the same with the graphs that its package never turns on, and this engine: times "
        "in milliseconds, memory in bytes, and whether every bit is equal. Weights are random, at released sizes: "
        "times, memory and bits are true, the sound is noise. The whole unit is what a second takes, from what was "
        "heard to sound; a script says there when the model listens and speaks, for random weights decide nothing "
        "sensible. Exit code 1 where something failed or was not equal.",
    )
    parser.add_argument(
        "--model",
        required=True,
        metavar="MODEL",
        help="minicpm-o-4.5; of the tail, step-audio-2, qwen2.5-omni or qwen3-omni too",
    )
    parser.add_argument(
        "--stage",
        choices=("tail", "unit"),
        default="tail",
        help="from speech tokens to sound (the default), or a whole second of MiniCPM-o's",
    )
    parser.add_argument(
        "--runtime",
        default="all",
        metavar="NAMES",
        help="all, or some of released, pinned, graphs (of the tail), cadence with commas between (default: all)",
    )
    parser.add_argument(
        "--parts",
        metavar="NAMES",
        help=f"all, or some of {', '.join(_PARTS)}; of the unit, {', '.join(_UNIT_PARTS)}, with commas between "
        "(default: all; of the unit, all but live, which takes as long as it says)",
    )
    parser.add_argument(
        "--prompt-s",
        metavar="SECONDS",
        help=f"lengths of voice prompt in seconds, with commas between (default: {_PROMPTS_S}); of the unit, one of "
        f"them ({_UNIT_PROMPT_S})",
    )
    parser.add_argument(
        "--units", type=int, help=f"seconds timed of each runtime (default: {_UNITS}; of the unit, {_UNIT_UNITS})"
    )
    parser.add_argument(
        "--script",
        metavar="UNITS",
        help="of the unit: what is timed, as 'LL(S S10 F)': L listens, and cuts a turn short; S speaks; F ends a turn; "
        "a number is of text tokens, and what is in parentheses repeats (default: '(L S S S F)')",
    )
    parser.add_argument(
        "--live-s",
        type=int,
        default=360,
        metavar="SECONDS",
        help="of the unit: how long the session at wall-clock is, a third of it for the released code (default: 360)",
    )
    parser.add_argument(
        "--speech-decoder",
        choices=_SPEECH_WAYS,
        default=_SPEECH_WAYS[0],
        help="of the unit, on a GPU: how ours decodes speech tokens: a graph for each exact length, one graph that "
        "follows the length, or eagerly (default: exact)",
    )
    parser.add_argument(
        "--endurance-units", type=int, default=10_000, metavar="UNITS", help="seconds of the long session"
    )
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda", help="default: cuda")
    parser.add_argument("--tiny", action="store_true", help="at a size for tests, whose figures mean nothing")
    parser.add_argument("--profile", action="store_true", help="name the kernels of a unit by kind, or of tokens")
    parser.add_argument("--json", type=Path, metavar="FILE", help="where all of it goes, as it comes")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Run the command; 1 where something failed or was not equal."""
    if args.json is not None:
        check_ending("--json", args.json, (".json",))
        check_targets({}, {"--json": args.json})
    if args.units is None:
        args.units = _UNITS if args.stage == "tail" else _UNIT_UNITS
    if args.parts is None:
        args.parts = "all" if args.stage == "tail" else ",".join(_UNIT_PARTS[:-1])
    if args.prompt_s is None:
        args.prompt_s = _PROMPTS_S if args.stage == "tail" else _UNIT_PROMPT_S
    if args.units < 1:
        raise AskedWrongly(f"{args.units} units to measure", "at least one")
    return _run_tail(args) if args.stage == "tail" else _run_unit(args)


def _run_tail(args: argparse.Namespace) -> int:
    if args.endurance_units < 2:
        raise AskedWrongly(f"an endurance of {args.endurance_units} units", "at least two")
    runtimes = tuple(_RUNTIMES[name] for name in _some(args.runtime, tuple(_RUNTIMES), "--runtime"))
    parts, prompts_s = _some(args.parts, _PARTS, "--parts"), _lengths(args.prompt_s)

    # These load torch, which takes seconds, and which other commands do without.
    from engine.bench.bench import run_bench, succeeded
    from engine.bench.report import table
    from engine.bench.rig import Asked
    from engine.bench.tails import find_tail
    from engine.bench.windowed.tails import is_windowed

    if is_windowed(args.model):
        return _run_windowed(args, runtimes, parts)
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


def _run_windowed(args: argparse.Namespace, runtimes: tuple[str, ...], parts: tuple[str, ...]) -> int:
    from engine.bench.bench import succeeded
    from engine.bench.report import table
    from engine.bench.windowed.run import WindowedAsked, run_windowed

    asked = WindowedAsked(
        model=args.model,
        runtimes=runtimes,
        units=args.units,
        device=args.device,
        tiny=args.tiny,
        parts=parts,
        profile=args.profile,
        command=_command(args),
        path=args.json,
    )
    record = run_windowed(asked, tell)
    for line in table(record):
        say(line)
    return 0 if succeeded(record) else 1


def _run_unit(args: argparse.Namespace) -> int:
    known = tuple(name for name in _RUNTIMES if name != "graphs")
    runtimes = tuple(_RUNTIMES[name] for name in _some(args.runtime, known, "--runtime"))
    parts, prompts_s = _some(args.parts, _UNIT_PARTS, "--parts"), _lengths(args.prompt_s)
    if not args.model or not "minicpm-o-4.5".startswith(args.model.lower()):
        raise AskedWrongly(f"--model {args.model} --stage unit", "minicpm-o-4.5, whose whole unit is built")
    if args.live_s < 1:
        raise AskedWrongly(f"--live-s {args.live_s}", "at least one second")
    if len(prompts_s) > 1:
        raise AskedWrongly(f"--prompt-s {args.prompt_s} --stage unit", "one length")

    # These load torch, which takes seconds, and which other commands do without.
    from engine.bench.unit.report import table
    from engine.bench.unit.rig import SCRIPT, TINY_WINDOW, UnitAsked
    from engine.bench.unit.run import run_unit_bench, succeeded
    from engine.plan import Script

    asked = UnitAsked(
        script=str(Script.parse(args.script or SCRIPT)),
        runtimes=runtimes,
        parts=parts,
        units=args.units,
        live_s=args.live_s,
        profile=args.profile,
        prompt_s=prompts_s[0],
        device=args.device,
        tiny=args.tiny,
        speech_way=args.speech_decoder,
        command=_command(args),
        path=args.json,
    )
    if args.tiny:
        asked = replace(asked, system_tokens=20, window=TINY_WINDOW)
    record = run_unit_bench(asked, tell)
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
    if args.stage == "unit":
        words += ["--script", args.script] if args.script else []
        words += ["--live-s", str(args.live_s)] if "live" in args.parts else []
        words += ["--speech-decoder", args.speech_decoder, "--device", args.device]
    else:
        words += ["--endurance-units", str(args.endurance_units), "--device", args.device]
    words += [f"--{name}" for name in ("tiny", "profile") if getattr(args, name)]
    return shlex.join(words)
