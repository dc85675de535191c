"""Gives devices back within a deadline: a broken driver can hang for ever, and a stop may not. [control].

One after the other on one thread, since a sound library need not bear two. Knows no library.
"""

from collections.abc import Callable, Sequence
from threading import Thread


def within(seconds: float, works: Sequence[Callable[[], None]]) -> bool:
    """Do one work after the other; returns whether all were done in time. What hangs is left behind, with the rest."""

    def do() -> None:
        for work in works:
            work()

    if not works:
        return True
    thread = Thread(target=do, name="sound closing", daemon=True)
    thread.start()
    thread.join(seconds)
    return not thread.is_alive()
