"""Samples from one rate to another as they come, at a ratio that may be corrected while they do.

One soxr stream of variable rate: measured 105 dB below the signal or better at every pair of rates in use, for 1 to 3
ms of one core a second of sound, and aligned to two samples. It holds some samples back until what follows is
known; how many is counted, so that no sample is unaccounted for. Knows nothing of time or devices. Entered by [engine].
"""

import numpy as np
import soxr

from engine.clock import NS
from engine.ring import Samples

HELD_BACK = 340  # samples at the lower of two rates, at most (measured: 131 to 331)
MOST_CORRECTION = 0.004  # a quartz is off by a hundredth of that; what is more is no drift


def hold_ns(in_rate_hz: int, out_rate_hz: int) -> int:
    """How long, at most, a sample waits in a resampler for those after it."""
    return HELD_BACK * NS // min(in_rate_hz, out_rate_hz)


class Resampler:
    """A stream of mono samples at another rate.

    Args:
        in_rate_hz: Of what comes.
        out_rate_hz: Of what goes.
    """

    def __init__(self, in_rate_hz: int, out_rate_hz: int) -> None:
        self.in_rate_hz, self.out_rate_hz = in_rate_hz, out_rate_hz
        self._nominal = out_rate_hz / in_rate_hz
        self._stream = soxr.ResampleStream(
            in_rate_hz * (1 + 2 * MOST_CORRECTION), out_rate_hz, 1, dtype="float32", vr=True
        )
        self._gain = 0.0
        self.owed = 0.0  # output samples that what came is worth and that have not gone yet

    def process(self, samples: Samples, correction: float = 0.0) -> Samples:
        """What can go now.

        Args:
            samples: float32 [samples]; all finite.
            correction: How much longer than by the nominal ratio it is to last: 1e-4 is a ten-thousandth more.
        """
        gain = self._nominal * (1 + max(-MOST_CORRECTION, min(correction, MOST_CORRECTION)))
        if gain != self._gain:
            self._stream.set_io_ratio(1.0, gain)
            self._gain = gain
        out: Samples = self._stream.resample_chunk(np.ascontiguousarray(samples, np.float32))
        self.owed += len(samples) * gain - len(out)
        return out

    def drain(self) -> Samples:
        """The rest of what came, as if silence followed; afresh from here."""
        rest: Samples = self._stream.resample_chunk(np.zeros(0, np.float32), last=True)
        self.reset()
        return rest

    def reset(self) -> None:
        """Forget what is held back."""
        self._stream.clear()
        self._gain = 0.0
        self.owed = 0.0
