"""Runs a function in a process of its own, so that its memory, its libraries and its crashes stay there.

Knows nothing of weights. Entered by the fetching thread; the other process is ended whenever this one stops waiting.
"""

import errno
import multiprocessing
import os
import re
import signal
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from engine.errors import CadenceError

TICK_S = 0.2


class ChildBroke(CadenceError):
    """The other process raised what nobody foresaw, or ended without a word."""


def in_child(target: Callable[..., None], *args: Any, tick: Callable[[], None]) -> None:
    """Call `target(*args)` in a fresh process and wait for it.

    Args:
        target: A module's function: it is found by name over there.
        args: Anything that pickles.
        tick: Called several times a second while waiting; what it raises ends the process.

    Raises:
        ChildBroke: It raised something unforeseen, or ended without a word.
        CadenceError, OSError: As `target` raised it.
    """
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_run, args=(target, args, theirs), daemon=True)
    process.start()
    theirs.close()
    try:
        while not ours.poll(TICK_S):
            tick()
        error: Exception | None = ours.recv()
    except EOFError:
        process.join()
        error = ChildBroke(_ending(target, process.exitcode or 0))
    finally:
        process.kill()
        process.join()
        ours.close()
    if error is not None:
        raise error


def _run(target: Callable[..., None], args: tuple[Any, ...], pipe: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group: the parent decides
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    try:
        target(*args)
    except Exception as error:  # noqa: BLE001 - whatever it is, the parent must hear of it
        pipe.send(_portable(error))
    else:
        pipe.send(None)


def _leave_with_parent() -> None:
    """A parent that was killed wants nothing any more."""
    if parent := multiprocessing.parent_process():
        parent.join()
        os._exit(1)


def _portable(error: Exception) -> Exception:
    """An exception that pickles and that the parent knows."""
    if isinstance(error, CadenceError):
        return error
    # safetensors reports the system's errors as text of its own.
    if (said := re.search(r"os error (\d+)|No space left", str(error))) and not isinstance(error, OSError):
        return OSError(int(said[1] or errno.ENOSPC), str(error))
    if isinstance(error, OSError):
        return OSError(error.errno, error.strerror, error.filename)
    return ChildBroke(f"{type(error).__name__}: {' '.join(str(error).split())}")


def _ending(target: Callable[..., None], exit_code: int) -> str:
    if exit_code == -9:
        return f"{target.__name__} was killed by the system, most likely for want of memory"
    return f"{target.__name__} ended without a result (exit code {exit_code})"
