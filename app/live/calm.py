"""Keeps the interpreter's own work out of a conversation's way: who runs when, and when garbage is collected.

Threads change ten times as often as Python's default, so that a callback or the window waits half a millisecond for a
busy thread and not five. Garbage is collected between units alone; what was loaded is never looked through. Process
wide, so there is one of it. Entered by [engine]; `close` by whoever ends the program.
"""

import gc
import sys

SWITCH_S = 5e-4


class Calm:
    """The interpreter's settings, as a conversation wants them and as they were."""

    def __init__(self) -> None:
        self._switch_s: float | None = None
        self._settled = False

    def begin(self) -> None:
        """Something is to be loaded, and then talked with."""
        if self._switch_s is None:
            self._switch_s = sys.getswitchinterval()
        sys.setswitchinterval(SWITCH_S)
        gc.disable()

    def settle(self) -> None:
        """What is there now stays: no collection looks through it.

        The first time nothing is collected before, since that takes 0.2 s of every thread; later there is little to
        look through, and what the last session left must not stay.
        """
        if self._settled:
            gc.collect()
        gc.freeze()
        self._settled = True

    def collect(self) -> None:
        """A moment in which nobody waits."""
        gc.collect()

    def thaw(self) -> None:
        """What was loaded does not stay after all."""
        gc.unfreeze()
        gc.collect()
        self._settled = False

    def end(self) -> None:
        """Nobody talks any more."""
        gc.enable()
        if self._switch_s is not None:
            sys.setswitchinterval(self._switch_s)

    def close(self) -> None:
        """As it was."""
        self.end()
        gc.unfreeze()
