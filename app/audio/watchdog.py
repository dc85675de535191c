"""Whether a stream's callbacks still come.

A driver rarely says that its device is gone: the callbacks just stop. Three blocks without one mean that it is, said
once; and so does a stream that calls itself ended. A busy machine is not taken for a lost device: what counts is
looks with no callback between them, each a block after the one before, so that an interpreter that stood still has had
its turn, and a quarter of a second at least. Knows no library. Entered by
[engine].
"""

from enum import Enum, auto

BLOCKS = 3
LEAST_NS = 250_000_000  # a sound server beside a busy model has been seen to come 60 ms late


class Turn(Enum):
    """What a look finds."""

    NOTHING = auto()
    LOST = auto()
    RETURNED = auto()


class Watchdog:
    """Looks at a stream's count of callbacks.

    Args:
        block_ns: How far apart callbacks are at most; bursts included.
        now_ns: When the stream was started.
    """

    def __init__(self, block_ns: int, now_ns: int) -> None:
        self._block_ns = block_ns
        self._callbacks = 0
        self._since_ns = now_ns
        self._looked_ns = now_ns
        self._looks = 0
        self.lost = False

    def look(self, callbacks: int, active: bool, now_ns: int) -> Turn:
        """Once a block or so.

        Args:
            callbacks: How many have come since the start.
            active: What the stream says of itself.
            now_ns: The time.
        """
        if callbacks != self._callbacks:
            self._callbacks, self._since_ns, self._looked_ns, self._looks = callbacks, now_ns, now_ns, 0
            if active and self.lost:
                self.lost = False
                return Turn.RETURNED
        elif now_ns - self._looked_ns >= self._block_ns:
            self._looks, self._looked_ns = self._looks + 1, now_ns
        silent_ns = now_ns - self._since_ns
        gone = not active or (self._looks >= BLOCKS and silent_ns >= max(BLOCKS * self._block_ns, LEAST_NS))
        if gone and not self.lost:
            self.lost = True
            return Turn.LOST
        return Turn.NOTHING
