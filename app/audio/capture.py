"""An open microphone: its callback copies, counts and returns; the engine finds the samples on its tape.

Several channels are mixed down by their mean, which cannot clip. Knows no session and no model. `_block` is entered by
[audio], the constructor by [control], all else by [engine].
"""

import numpy as np

from app.audio.backend import Backend, Frames
from app.audio.devices import AudioDevice, Direction
from app.audio.live_stream import LiveStream
from engine.clock import NS, Clock

LATENCY_S = 0.1  # what is asked for: at 0.04 a driver keeps two blocks, and a busy interpreter loses the third
LAGS_KEPT = 50  # callbacks whose told time is believed, in the mean: PulseAudio's wanders by 25 ms
MOST_LAG_NS = NS


class Microphone(LiveStream):
    """A microphone that hears once it is started.

    Args:
        backend: Opens it.
        device: Which one.
        clock: The session's.

    Raises:
        CadenceError: It does not open.
    """

    def __init__(self, backend: Backend, device: AudioDevice, clock: Clock) -> None:
        self._lag_sum_ns = self._lags = 0  # [audio]
        super().__init__(backend, device, Direction.INPUT, LATENCY_S, clock, self._block)

    @property
    def lag_ns(self) -> int:
        """From when a sample was in the air until it is in hand."""
        lag_ns = self._lag_sum_ns // self._lags if self._lags else round(self.stream.latency_s * NS)
        return max(0, min(lag_ns, MOST_LAG_NS))

    def _block(self, data: Frames, away_ns: int | None, flagged: bool) -> None:
        """A block was heard [audio]."""
        self.callbacks += 1
        self.flags += flagged
        try:
            now_ns = self._clock.now_ns()
            mono = data[:, 0] if data.shape[1] == 1 else np.mean(data, axis=1, out=self._mono[: len(data)])
            self.tape.write(mono, now_ns, flagged)
            self.levels.note(mono, now_ns)
            if away_ns is not None and self._lags < LAGS_KEPT:
                self._lag_sum_ns += away_ns - len(data) * NS // self.stream.rate_hz
                self._lags += 1
        except Exception as error:  # noqa: BLE001  what is raised in a callback ends the stream, unheard
            self.error = self.error or error
