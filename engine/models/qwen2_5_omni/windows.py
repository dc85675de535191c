"""Cuts a turn's codes into the windows that the timeline declares, each with the noise that its frames always have.

Noise belongs to a frame, not to a window: a frame that is worked out again starts from the same. Ours and the released
code are given the same windows. Entered by the engine thread.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from engine.models.qwen2_5_omni.timelines import FRAMES_A_CODE
from engine.plan.advance import launches
from engine.stage import Timeline


@dataclass(frozen=True)
class Window:
    """One launch of the tail.

    Args:
        codes: int64 `[1, n]`: those before, those taken for good, and those ahead.
        noise: float32 `[1, 2n, mels]`.
        before: Codes taken already.
        takes: Codes taken for good.
        last: The turn ends with it.
    """

    codes: Tensor
    noise: Tensor
    before: int
    takes: int
    last: bool

    @property
    def frames(self) -> slice:
        """Which of the window's mel frames are new."""
        start = FRAMES_A_CODE * self.before
        return slice(start, start + FRAMES_A_CODE * self.takes)


class Windows:
    """One turn's.

    Args:
        line: Of the stage "flow".
        draw: Noise of so many further frames, float32 `[1, frames, mels]`, on the device.
    """

    def __init__(self, line: Timeline, draw: Callable[[int], Tensor]) -> None:
        self._line, self._draw = line, draw
        self._codes: Tensor | None = None
        self._noise: Tensor | None = None
        self._before = 0  # codes of those held that are taken already

    def add(self, codes: Tensor, *, last: bool = False) -> list[Window]:
        """Windows that further codes make room for; all that is left where the turn ends.

        Args:
            codes: int64 `[1, n]`, on the device; there may be none.
            last: Nothing follows.
        """
        noise = self._draw(FRAMES_A_CODE * codes.shape[1])
        held = codes if self._codes is None else torch.cat((self._codes, codes), 1)
        drawn = noise if self._noise is None else torch.cat((self._noise, noise), 1)
        made = []
        for fed, takes, ends in launches(self._line, held.shape[1] - self._before, last):
            n = self._before + fed
            made.append(Window(held[:, :n], drawn[:, : FRAMES_A_CODE * n], self._before, takes, ends))
            before = min(self._line.context[0], self._before + takes)
            dropped = self._before + takes - before
            held, drawn, self._before = held[:, dropped:], drawn[:, FRAMES_A_CODE * dropped :], before
        self._codes, self._noise = held, drawn
        return made
