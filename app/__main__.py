"""The command line: one parser, one command a module, errors in one line.

Exit codes: 0, 1 (it ran and failed), 2 (it was asked wrongly), 130 (stopped by Ctrl-C).
"""

import argparse
import os
import sys
from collections.abc import Sequence

from app.commands import compare, devices, export, models, plan, run, talk
from engine.errors import CadenceError

COMMANDS = (talk, run, compare, export, plan, models, devices)


def build_parser() -> argparse.ArgumentParser:
    """Every command's parser under one."""
    parser = argparse.ArgumentParser(
        prog="duplexcadence",
        description="Talk with a full-duplex speech model on your own machine, and see every second land before its "
        "deadline.",
        epilog="Without a command it talks.",
    )
    subparsers = parser.add_subparsers(required=True, metavar="COMMAND")
    for command in COMMANDS:
        command.add_parser(subparsers)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command, `talk` where none is named; returns the exit code."""
    args = build_parser().parse_args((sys.argv[1:] if argv is None else list(argv)) or ["talk"])
    try:
        code: int = args.run(args)
    except CadenceError as error:
        sys.stderr.write(f"duplexcadence: {error}\n")
        return error.exit_code
    except BrokenPipeError:  # whoever read the output has seen enough; nothing may be written as Python ends
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        sys.stderr.write("duplexcadence: stopped\n")
        return 130
    return code


if __name__ == "__main__":
    sys.exit(main())
