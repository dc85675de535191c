"""Standard output and error, whatever they are: closed, full, of a narrow charset, or with nobody left to read.

Imports next to nothing, so that a start can be stopped at any time with one line. Knows nothing of commands.
"""

import io
import os
import sys
from contextlib import suppress
from typing import TextIO

from engine.errors import NoRoom


def make_ready() -> None:
    """Give a closed stream a place to go, and let what its charset lacks be a question mark."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:  # else the next file would become the closed stream
        pass
    os.close(descriptor)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115  open as long as the process
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")


def say(line: str = "") -> None:
    """One line of a command's result, on standard output, at once.

    Where its reader has seen enough and gone, it goes nowhere, and the work goes on.

    Raises:
        NoRoom: It cannot be written.
    """
    _put(sys.stdout, line + "\n")


def tell(line: str) -> None:
    """One line for whoever watches, on standard error; what would break or steer the line is shown as `?`."""
    with suppress(NoRoom):  # there is nowhere left to say so
        _put(sys.stderr, "".join(sign if sign.isprintable() else "?" for sign in line) + "\n")


def ask(question: str) -> str:
    """What a person at a terminal answers to a question on standard error, in small letters; nothing elsewhere."""
    if sys.stdin is None or sys.stdin.closed or not sys.stdin.isatty():
        return ""
    _put(sys.stderr, question)
    return sys.stdin.readline().strip().lower()


def flush() -> None:
    """Let standard output have what others wrote to it.

    Raises:
        NoRoom: It cannot be written.
    """
    _put(sys.stdout, "")


def mute(stream: TextIO) -> None:
    """Let all that is still written go nowhere, with what waits in the buffer, which Python flushes as it ends."""
    with suppress(OSError, ValueError):  # a stream without a file under it has no such trouble
        descriptor = os.open(os.devnull, os.O_WRONLY)
        os.dup2(descriptor, stream.fileno())
        os.close(descriptor)


def _put(stream: TextIO, text: str) -> None:
    try:
        stream.write(text)
        stream.flush()
    except BrokenPipeError:
        mute(stream)
    except OSError as error:
        mute(stream)
        raise NoRoom(f"the output cannot be written ({error.strerror})", "room for it", "send it elsewhere") from None
