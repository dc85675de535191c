"""`duplexcadence compare`: two timing logs side by side."""

import argparse
from pathlib import Path

from app.streams import say
from engine.cadence.compare import compare
from engine.timing.reader import read_log


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "compare",
        help="set two timing logs side by side",
        description="Sets two logs side by side: times with their units, and the second as a ratio of the first.",
    )
    parser.add_argument("log_a", type=Path, metavar="A.jsonl")
    parser.add_argument("log_b", type=Path, metavar="B.jsonl")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    say(compare(read_log(args.log_a), read_log(args.log_b)))
    return 0
