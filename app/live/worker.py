"""A thread that does what it is handed, one thing after the other; it begins with the first and outlives no program.

What a job raises goes to its future; a job of which nobody asks the result says it through `threading.excepthook`,
as a thread's end would, and the thread goes on. Knows nothing of what it does. `call` is entered by any thread.
"""

import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Protocol, TypeVar

Result = TypeVar("Result")


class Worker(Protocol):
    """Somewhere to have things done."""

    def call(self, job: Callable[[], Result]) -> "Future[Result]":
        """Have a job done after those before it; what it raises is its future's, which can be cancelled until then."""
        ...

    def post(self, job: Callable[[], None]) -> None:
        """Have a job done of which nobody asks the result."""
        ...

    def close(self, within_s: float) -> bool:
        """End once all is done; returns whether that came in time."""
        ...


class ThreadWorker:
    """The thread.

    Args:
        name: Its name.
    """

    def __init__(self, name: str) -> None:
        self._jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._starting = threading.Lock()
        # A driver or a library that hangs must not keep the program from ending.
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)

    def call(self, job: Callable[[], Result]) -> "Future[Result]":
        future: Future[Result] = Future()

        def fulfil() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                future.set_result(job())
            except BaseException as error:  # noqa: BLE001  whatever it is, it is for whoever asks
                future.set_exception(error)

        self.post(fulfil)
        return future

    def post(self, job: Callable[[], None]) -> None:
        with self._starting:
            if self._thread.ident is None:
                self._thread.start()
        self._jobs.put(job)

    def close(self, within_s: float) -> bool:
        if self._thread.ident is None:
            return True
        self._jobs.put(None)
        self._thread.join(within_s)
        return not self._thread.is_alive()

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            try:
                job()
            except BaseException:  # noqa: BLE001  told below; the thread's next job is another matter
                threading.excepthook(threading.ExceptHookArgs((*sys.exc_info(), self._thread)))
            del job  # what it held is let go of before the next comes
