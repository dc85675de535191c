"""Slow work off the UI thread: reading logs, exporting, looking at weights. Its result comes back to [ui].

Work is done in order by one thread, so that two exports never write one file. A `CadenceError` is told to whoever
asked; any other error is our own mistake and goes the way of all uncaught errors.
"""

import sys
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from PySide6.QtCore import QObject, Qt, Signal, SignalInstance

from engine.errors import CadenceError

Then = Callable[[Any], None]
Failed = Callable[[CadenceError], None]


class Background(QObject):
    """One thread for slow work."""

    _done: SignalInstance = Signal(object, object, object)  # type: ignore[assignment]

    def __init__(self) -> None:
        super().__init__()
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="window-background")
        self._done.connect(self._deliver, Qt.ConnectionType.QueuedConnection)
        self._closed = False

    def run(self, work: Callable[[], Any], then: Then, failed: Failed) -> None:
        """Do some work; then, on the UI thread, one of the two others. Nothing once it is closed."""
        if self._closed:
            return
        self._pool.submit(work).add_done_callback(lambda future: self._done.emit(future, then, failed))

    def wait(self) -> None:
        """Until all that was asked for is done; for whoever is no window. Results are still to be delivered."""
        self._pool.submit(lambda: None).result()

    def close(self) -> None:
        """No more is taken on and no result comes back; what was asked for is done before the program ends."""
        self._closed = True
        self._pool.shutdown(wait=False)

    def _deliver(self, future: "Future[Any]", then: Then, failed: Failed) -> None:
        if self._closed or future.cancelled():
            return
        error = future.exception()
        if error is None:
            then(future.result())
        elif isinstance(error, CadenceError):
            failed(error)
        else:
            sys.excepthook(type(error), error, error.__traceback__)
