"""Being told to end: SIGTERM and SIGHUP go the way that Ctrl-C goes; and the end. Entered by the main thread."""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import NoReturn

from app.streams import flush
from engine.errors import NoRoom

NAMES = ("SIGTERM", "SIGHUP")  # the second is not on every system


class Stopped(KeyboardInterrupt):
    """The system, or another process, wants this one to end.

    Args:
        number: The signal's.
    """

    def __init__(self, number: int) -> None:
        super().__init__()
        self.exit_code = 128 + number


@contextmanager
def stoppable() -> Iterator[None]:
    """In this block those signals raise `Stopped`; one that was to be ignored (nohup) is ignored still."""
    numbers = [getattr(signal, name) for name in NAMES if hasattr(signal, name)]
    if threading.current_thread() is not threading.main_thread():  # which alone is told of signals
        numbers = []
    before = {number: signal.getsignal(number) for number in numbers}
    ours = [number for number, handler in before.items() if handler is signal.SIG_DFL]
    for number in ours:
        signal.signal(number, _stop)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)


def leave(code: int) -> NoReturn:
    """End the process, whatever its threads are at.

    One that still loads a model, or hangs in a driver, cannot be ended; Python would wait for it or, as it ends a
    daemon inside a library's code, abort (seen with torch and onnxruntime, 2026-12-07). Whatever is to be kept has
    been closed by then.
    """
    if all(thread is threading.current_thread() for thread in threading.enumerate()):
        sys.exit(code)
    with suppress(NoRoom):
        flush()
    os._exit(code)


def _stop(number: int, _: FrameType | None) -> None:
    raise Stopped(number)
