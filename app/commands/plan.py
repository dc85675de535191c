"""`duplexcadence plan`: every shape and byte of a session, before it starts; neither torch nor weights are loaded."""

import argparse

from app.streams import say
from engine.models import registry


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "plan",
        help="print every shape and byte of a model's session",
        description="Prints what a session of a model will need, worked out before it starts: shapes unit by unit, "
        "bytes of state in MiB (1048576 bytes), graphs. Loads neither torch nor weights.",
    )
    parser.add_argument("model", metavar="MODEL", help="a name from `models list`")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    say(registry.find(args.model).load_plan().describe())
    return 0
