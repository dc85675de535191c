"""Where a conversation stands, and which of its work is still wanted.

Each start, stop and restart draws a ticket. Work that holds an older one finds that out when it asks, and what it still
tells is let go. Any thread enters; the lock is held for a few assignments.
"""

import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

from app.live.snapshot import Listened, Phase, Progress, Snapshot, Trial


class Halted(BaseException):
    """It is no longer wanted. No error, and nothing that a stage's own handling of errors may catch."""


class Standing:
    """The ticket, and the snapshot's fields that phases change.

    Args:
        message: What the user is to know from the start.
    """

    def __init__(self, message: str = "") -> None:
        self._lock = threading.Lock()
        self._ticket, self._closed = 0, False
        self._said = ""  # beside what phases have to tell
        self.state = Snapshot(message=message)  # frozen, replaced whole

    def draw(
        self, phase: Phase, *wanted: Phase, trial: Trial | None = None, listened: Listened | None = None
    ) -> int | None:
        """Change the phase, where it is one of those; what was under way is no longer wanted.

        What was said of it goes with it, except while it comes to its end.

        Returns:
            A ticket for what comes now; None where the phase was another.
        """
        with self._lock:
            if self._closed or self.state.phase not in wanted:
                return None
            self._ticket += 1
            self.state = replace(
                self.state,
                phase=phase,
                progress=Progress("getting ready") if phase is Phase.LOADING else None,
                message=self.state.message if phase is Phase.STOPPING else "",
                trial=trial,
                listened=listened,
            )
            return self._ticket

    def close(self) -> int:
        """Nothing is wanted any more, and nothing will be; returns the last ticket."""
        with self._lock:
            self._closed = True
            self._ticket += 1
            self.state = replace(self.state, phase=Phase.STOPPING, progress=None, trial=None, listened=None)
            return self._ticket

    def check(self, ticket: int) -> None:
        """Go no further with a ticket that is not the last one drawn.

        Raises:
            Halted: It is not.
        """
        if ticket != self._ticket:
            raise Halted

    def publish(self, ticket: int, **changes: Any) -> None:
        """Change fields, as whoever holds this ticket."""
        with self._lock:
            if ticket == self._ticket:
                self.state = replace(self.state, **changes)

    def let_go(self, log: Path) -> None:
        """A session's files are gone again, whoever's turn it is by now."""
        with self._lock:
            if self.state.log == log:
                self.state = replace(self.state, log=None, recording=None)

    def say(self, message: str) -> None:
        """One line for the user, whatever is under way; an empty one takes back the last, where it still stands."""
        with self._lock:
            if message or self.state.message == self._said:
                self.state = replace(self.state, message=message)
            self._said = message
