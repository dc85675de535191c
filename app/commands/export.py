"""`duplexcadence export`: a timing log as a table, a trace or a picture."""

import argparse
from collections.abc import Callable
from pathlib import Path

from app.streams import say, tell
from app.targets import check_ending, check_targets
from engine.errors import AskedWrongly
from engine.export import write_csv, write_picture, write_trace
from engine.phrases import printable
from engine.timing.reader import Log, read_log

# What `--to` takes: who writes it, and the suffixes it may have, the default first.
KINDS: dict[str, tuple[Callable[[Log, Path], None], tuple[str, ...]]] = {
    "csv": (write_csv, (".csv",)),
    "trace": (write_trace, (".trace.json", ".json")),
    "picture": (write_picture, (".png", ".svg", ".pdf")),
}


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "export",
        help="turn a timing log into a table, a trace or a picture",
        description="Turns a timing log into CSV (a row a unit, a column a stage, times in milliseconds), a trace for "
        "Perfetto or chrome://tracing (times in microseconds), or a one-page picture (PNG, SVG or PDF).",
    )
    parser.add_argument("log", type=Path, metavar="LOG.jsonl")
    parser.add_argument("--to", choices=tuple(KINDS), required=True, help="what it becomes")
    parser.add_argument("--out", type=Path, metavar="FILE", help="where (default: beside the log)")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    write, suffixes = KINDS[args.to]
    if not args.log.name:
        raise AskedWrongly(f"{str(args.log)!r} is no log", "a timing log, as `run` and `talk` write it", "name one")
    out: Path = args.out or args.log.with_suffix(suffixes[0])
    check_ending("--out", out, suffixes)
    check_targets({"the log": args.log}, {"--out": out})
    log = read_log(args.log)
    write(log, out)
    if log.caveat:
        tell(log.caveat)
    say(printable(str(out)))
    return 0
