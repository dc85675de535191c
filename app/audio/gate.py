"""When the microphone is open: changes are kept with their time, so that what was said before one is heard.

The engine may come a second after a key was pressed; what counts is when it was pressed. `set` is entered by any
thread, `apply` by [engine].
"""

from collections import deque

from engine.clock import NS
from engine.ring import Samples

REMEMBERED = 256  # changes that the engine has not come to yet: more than a finger makes in ten seconds


class Gate:
    """Open or closed, over time."""

    def __init__(self, is_open: bool = True) -> None:
        self._changes: deque[tuple[int, bool]] = deque(maxlen=REMEMBERED)
        self._open = is_open  # [engine] as far as it has come
        self.is_open = is_open  # as it stands

    def set(self, is_open: bool, now_ns: int) -> None:
        """Open or close it from `now_ns` on."""
        if is_open != self.is_open:
            self.is_open = is_open
            self._changes.append((now_ns, is_open))

    def apply(self, samples: Samples, start_ns: int, rate_hz: int) -> int:
        """Silence what came while it was closed, in place; returns how many samples that was."""
        at, closed = 0, 0
        while at < len(samples):
            end = len(samples)
            if self._changes:
                due = (self._changes[0][0] - start_ns) * rate_hz // NS
                if due <= at:
                    self._open = self._changes.popleft()[1]
                    continue
                end = min(end, due)
            if not self._open:
                samples[at:end] = 0.0
                closed += end - at
            at = end
        return closed
