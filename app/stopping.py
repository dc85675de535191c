"""Being told to end: SIGTERM and SIGHUP go the way that Ctrl-C goes. Entered by the main thread."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

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


def _stop(number: int, _: FrameType | None) -> None:
    raise Stopped(number)
