"""What an open microphone and an open speaker have in common: counts, levels, a tape, a start and an end.

Knows no session and no model. `start` and `close` are entered by [control].
"""

import numpy as np

from app.audio.backend import Backend, BlockCallback
from app.audio.devices import AudioDevice, Direction
from app.audio.levels import LevelMeter
from app.audio.opening import BLOCK_S, open_stream
from app.audio.tape import Tape
from engine.clock import NS, Clock


class LiveStream:
    """A device that is open.

    Args:
        backend: Opens it.
        device: Which one.
        direction: Which way.
        latency_s: What is asked for.
        clock: The session's.
        block: Takes every block [audio].

    Attributes:
        callbacks: How many there have been.
        flags: How many of them the driver flagged.
        error: The first that a callback met.

    Raises:
        CadenceError: It does not open.
    """

    def __init__(
        self,
        backend: Backend,
        device: AudioDevice,
        direction: Direction,
        latency_s: float,
        clock: Clock,
        block: BlockCallback,
    ) -> None:
        self.device, self._clock = device, clock
        self.callbacks = self.flags = 0  # [audio]
        self.error: Exception | None = None  # [audio]
        self.levels = LevelMeter()
        self.stream = open_stream(backend, device, direction, latency_s, block)
        self.tape = Tape(self.stream.rate_hz)
        self._mono = np.empty(self.stream.rate_hz, np.float32)
        self.started_ns = clock.now_ns()

    @property
    def rate_hz(self) -> int:
        """The device's own rate."""
        return self.stream.rate_hz

    @property
    def block_ns(self) -> int:
        """How far apart callbacks are: drivers do what half their latency holds in one burst."""
        return round(max(BLOCK_S, self.stream.latency_s / 2) * NS)

    def start(self) -> None:
        """Let callbacks come.

        Raises:
            CadenceError: It cannot; it is still to be closed.
        """
        self.started_ns = self._clock.now_ns()
        self.stream.start()

    def close(self) -> None:
        """Give the device back; may hang in a broken driver."""
        self.stream.close()
