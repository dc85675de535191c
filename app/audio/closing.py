"""Gives devices back within a deadline: a broken driver can hang for ever, and a stop may not. [control].

Knows no library.
"""

from collections.abc import Callable, Sequence
from threading import Thread
from time import monotonic


def within(seconds: float, works: Sequence[Callable[[], None]]) -> bool:
    """Do all works beside each other; returns whether all were done in time. What hangs is left behind."""
    threads = [Thread(target=work, name="sound closing", daemon=True) for work in works]
    for thread in threads:
        thread.start()
    end = monotonic() + seconds
    for thread in threads:
        thread.join(max(0.0, end - monotonic()))
    return not any(thread.is_alive() for thread in threads)
