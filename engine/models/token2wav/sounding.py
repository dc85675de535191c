"""The stage `vocoder`: mel frames to sound, a launch at a time, seamless over the joints.

As the released driver does (`stepaudio2-minicpmo` 0.1.1, `token2wav.py`): each launch is handed the last frames again,
with the source that they had, and fades from what it made of them before to what it makes of them now; the last frames
are held back until it is known that nothing follows. Entered by the engine thread.
"""

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from engine.models.layers.hift import Hift, HiftSizes
from engine.models.layers.lanes import Lanes
from engine.models.layers.named import Named

STAGE = "vocoder"


class Vocoder:
    """The stage.

    Args:
        weights: Named as released.
        sizes: Of the same vocoder.
        views: The arena's views by "stage.state": `[frames, 1, mels]`, `[samples, 1, 1]`, `[samples, 1]`.
        lanes: For what can be done at once.
    """

    def __init__(self, weights: Named, sizes: HiftSizes, views: Mapping[str, Tensor], lanes: Lanes) -> None:
        self._hift, self._frame = Hift(weights, sizes, lanes), sizes.frame
        self._mel, self._source, self._speech = (views[f"{STAGE}.{name}"] for name in ("mel", "source", "speech"))
        self._overlap = len(self._speech)
        # As released in float64, in which the fade is then worked out.
        rise, fall = torch.from_numpy(np.hamming(2 * self._overlap)).to(self._speech.device).chunk(2)
        self._rise, self._fall = rise, fall
        self.held = 0  # mel frames

    def foresee(self, frames: int) -> None:
        """Make the constants that so many frames need, those handed over again among them, and keep them."""
        self._hift.foresee(frames)

    def advance(self) -> None:
        """A launch that others follow has filled what is carried."""
        self.held = len(self._mel)

    def __call__(self, mel: Tensor, noise: Tensor, held: int, *, last: bool = False) -> Tensor:
        """Sound; what is held is counted by `advance`.

        Args:
            mel: The new frames, `[1, mels, n]`.
            noise: For the source of those and the frames held, as `layers.harmonics.draw_noise` gives it.
            held: Mel frames that are handed over again: none in a turn's first launch.
            last: Nothing follows, so nothing is held back.

        Returns:
            float32 `[1, samples]`.

        Raises:
            AssertionError: Fewer frames than are held back, though more follows: no planned launch is so short.
        """
        again = held * self._frame
        mel = torch.cat((self._mel[:held].permute(1, 2, 0), mel), 2)
        source = self._hift.source(mel, noise)
        if held:
            source[:, :, :again] = self._source.permute(1, 2, 0)
        speech = self._hift(mel, source)
        if held:
            speech[:, :again] = speech[:, :again] * self._rise + self._speech.T * self._fall
        if last:
            return speech
        carried = len(self._mel)
        assert mel.shape[2] >= carried, "a launch that others follow fills what is carried"
        self._mel.copy_(mel[:, :, -carried:].permute(2, 0, 1))
        self._source.copy_(source[:, :, -self._overlap :].permute(2, 0, 1))
        self._speech.copy_(speech[:, -self._overlap :].T)
        return speech[:, : -self._overlap]
