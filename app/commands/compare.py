"""`duplexcadence compare`: timing logs side by side, as a table and as a picture."""

import argparse
from pathlib import Path

from app.streams import say
from app.targets import check_ending, check_targets
from engine.comparison import compare, text_table
from engine.export.picture import KINDS
from engine.phrases import printable
from engine.timing.reader import read_log


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "compare",
        help="set timing logs side by side",
        description="Sets two to six logs side by side: times with their units, each as a ratio of the first log's, "
        "and whether the voices are equal to the bit (measured by hashes in the logs, as `run` and `demo` write them).",
    )
    parser.add_argument("log", type=Path, metavar="A.jsonl", help="what the others are held against")
    parser.add_argument("others", type=Path, nargs="+", metavar="B.jsonl")
    parser.add_argument(
        "--picture", type=Path, metavar="FILE", help="draw all meters over one time axis (PNG, SVG or PDF)"
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    paths: list[Path] = [args.log, *args.others]
    if args.picture is not None:
        check_ending("--picture", args.picture, KINDS)
        check_targets({f"the log {path}": path for path in paths}, {"--picture": args.picture})
    comparison = compare([read_log(path) for path in paths])
    say(text_table(comparison))
    if args.picture is not None:
        from engine.export.side_by_side import write_side_by_side

        write_side_by_side(comparison, args.picture)
        say(f"\npicture  {printable(str(args.picture))}")
    return 0
