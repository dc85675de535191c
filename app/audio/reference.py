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
        self._pieces: deque[tuple[int, Samples]] = deque()  # each with the session sample that it begins with
        self._reached = 0  # session sample after the last of them

    def feed(self, speaker: Speaker | None, lag_ns: int) -> None:
        """Take in what has been sounded.

        Args:
            speaker: That sounds now.
            lag_ns: By how much later than in the air the microphone's samples are placed on the grid.
        """
        if speaker is not self._speaker:
            self._finish()
            self._speaker = speaker
        if speaker is None:
            return
        line = speaker.tape.line
        for block in speaker.tape.blocks():
            if not line.settled:
                continue
            at = self._grid.position(line.time_ns(block.position) + lag_ns)
            steady = self._steady
            if steady is None or at > steady.position + self._grid.rate_hz:  # an hour's hole is not one piece
                self._finish()
                steady = Steady(speaker.rate_hz, self._grid.rate_hz, position=max(self._reached, int(at)))
                self._steady = steady
            self._keep(steady.place(block.samples, at, line.drift, afresh=block.step_ns != 0), steady)

    def take(self, position: int, count: int) -> Samples:
        """What sounded in session samples `position` to `position + count`; silence where nothing is known."""
        out: Samples = np.zeros(count, np.float32)
        while self._pieces:
            start, piece = self._pieces[0]
            at = start - position
            if at >= count:
                break
            first, end = max(0, -at), min(len(piece), count - at)
            if first < end:
                out[at + first : at + end] = piece[first:end]
            if end < len(piece):
                break
            self._pieces.popleft()
        return out

    def _finish(self) -> None:
        """What sounds next does not join what sounded before."""
        if self._steady is not None:
            self._keep(self._steady.finish(), self._steady)
        self._steady = None

    def _keep(self, piece: Samples, steady: Steady) -> None:
        self._pieces.append((steady.position - len(piece), piece))
        self._reached = steady.position
