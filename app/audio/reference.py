"""What the speaker sounded, on the session's clock: for every sample that the microphone heard, the one beside it.

Knows neither canceller nor session. Entered by [engine].
"""

from collections import deque

import numpy as np

from app.audio.grid import Grid
from app.audio.speaker import Speaker
from app.audio.steady import Steady
from engine.ring import Samples


class Reference:
    """The agent's side, sample by sample beside the user's.

    Args:
        grid: Where session samples lie in time.
    """

    def __init__(self, grid: Grid) -> None:
        self._grid = grid
        self._speaker: Speaker | None = None
        self._steady: Steady | None = None
        self._pieces: deque[Samples] = deque()
        self._start = 0  # session sample of the first in `_pieces`

    def feed(self, speaker: Speaker | None, lag_ns: int) -> None:
        """Take in what has been sounded.

        Args:
            speaker: That sounds now.
            lag_ns: By how much later than in the air the microphone's samples are placed on the grid.
        """
        if speaker is not self._speaker:
            self._speaker = speaker
            self._steady = self._resume(speaker)
        if speaker is None or self._steady is None:
            return
        for block in speaker.tape.blocks():
            if speaker.tape.line.settled:
                at = self._grid.position(speaker.tape.line.time_ns(block.position) + lag_ns)
                afresh = block.step_ns != 0
                self._pieces.append(self._steady.place(block.samples, at, speaker.tape.line.drift, afresh=afresh))

    def take(self, position: int, count: int) -> Samples:
        """What sounded in session samples `position` to `position + count`; silence where nothing is known."""
        out: Samples = np.zeros(count, np.float32)
        while self._pieces:
            piece, at = self._pieces[0], self._start - position
            if at >= count:
                break
            first, end = max(0, -at), min(len(piece), count - at)
            if first < end:
                out[at + first : at + end] = piece[first:end]
            if end < len(piece):
                break
            self._pieces.popleft()
            self._start += len(piece)
        return out

    def _resume(self, speaker: Speaker | None) -> Steady | None:
        if speaker is None:
            return None
        reached = self._start + sum(map(len, self._pieces))
        return Steady(speaker.rate_hz, self._grid.rate_hz, position=reached)
