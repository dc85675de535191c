"""The command line: one parser, one command a module, errors in one line.

Exit codes: 0, 1 (it ran and failed), 2 (it was asked wrongly), 128 and a signal's number (it was stopped: 130 by
Ctrl-C). Commands are imported where an interrupt is already caught.
"""

import argparse
import sys
from collections.abc import Sequence
from typing import NoReturn

from app import __version__
from app.stopping import Stopped, leave, stoppable
from app.streams import flush, make_ready, mute, tell
from engine.errors import CadenceError


def build_parser() -> argparse.ArgumentParser:
    """Every command's parser under one."""
    from app.commands import bench, compare, demo, devices, export, models, plan, run, talk

    parser = argparse.ArgumentParser(
        prog="duplexcadence",
        description="Talk with a full-duplex speech model on your own machine, and see every second land before its "
        "deadline.",
        epilog="Without a command it talks.",
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    subparsers = parser.add_subparsers(required=True, metavar="COMMAND")
    for command in (talk, run, demo, compare, export, plan, models, bench, devices):
        command.add_parser(subparsers)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command, `talk` where none is named; returns the exit code."""
    make_ready()
    try:
        with stoppable():
            try:
                args = build_parser().parse_args((sys.argv[1:] if argv is None else list(argv)) or ["talk"])
                code: int = args.run(args)
            finally:
                flush()
    except CadenceError as error:
        tell(f"duplexcadence: {error}")
        return error.exit_code
    except BrokenPipeError:  # whoever watched the progress has gone
        mute(sys.stderr)
        return 1
    except KeyboardInterrupt as stop:
        tell("duplexcadence: stopped")
        return stop.exit_code if isinstance(stop, Stopped) else 130
    return code


def program() -> NoReturn:
    """The process: one command, then its end."""
    leave(main())


if __name__ == "__main__":
    program()
