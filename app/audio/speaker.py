"""An open speaker: its callback asks the playout what sounds, copies it to every channel, counts and returns.

What really sounded, at the volume that it had, is kept on a tape: the canceller's reference and a recording's second
side. Knows no session and no model. `_block` is entered by [audio], the constructor by [control], all else by
[engine].
"""

from collections import deque

import numpy as np

from app.audio.backend import Backend, Frames
from app.audio.devices import AudioDevice, Direction
from app.audio.live_stream import LiveStream
from engine.clock import NS, Clock
from engine.playout import Playout
from engine.ring import Samples

MOST_MORE_NS = NS // 2  # than told is not believed
ASTRAY_NS = 60_000_000  # PulseAudio's times wander by 25 ms
LOOK_NS = NS // 2  # how far ahead blocks lie is kept for each of these
LOOKS = 60


class Speaker(LiveStream):
    """A speaker that sounds once it is started.

    Args:
        backend: Opens it.
        device: Which one.
        clock: The session's.
        latency_s: What is asked for.
        volume: 0 to 1.

    Raises:
        CadenceError: It does not open.
    """

    def __init__(
        self, backend: Backend, device: AudioDevice, clock: Clock, *, latency_s: float, volume: float = 1.0
    ) -> None:
        self.asked_latency_s, self.volume = latency_s, volume
        self._volume = volume  # [audio] of the last sample
        self._furthest_ns = self._look_ends_ns = 0  # [audio] how far ahead a block's end has been in this look
        self._furthest: deque[int] = deque(maxlen=LOOKS)  # [audio] and in those before it
        self._ends_ns = 0  # [audio] when the last block will have sounded
        self._astray = False  # [audio] whether that was told to be at another time
        super().__init__(backend, device, Direction.OUTPUT, latency_s, clock, self._block)
        self.playout = Playout(self.stream.rate_hz)

    @property
    def latency_ns(self) -> int:
        """From a callback until the end of its block sounds, at most: a sound server adds to what the driver tells.

        As it was in the last half minute, but for one block or so: what was never told again says nothing.
        """
        told_ns = round(self.stream.latency_s * NS)
        furthest_ns = sorted(tuple(self._furthest))[-2:]
        return max(told_ns, min(furthest_ns[0], told_ns + MOST_MORE_NS)) if len(furthest_ns) == 2 else told_ns

    def _block(self, out: Frames, away_ns: int | None, flagged: bool) -> None:
        """A block is to be filled [audio]."""
        self.callbacks += 1
        self.flags += flagged
        try:
            now_ns = self._clock.now_ns()
            mono = self._mono[: len(out)]
            start_ns = self._guess_ns(now_ns) if away_ns is None else self._believed_ns(now_ns + away_ns)
            self._ends_ns = start_ns + len(out) * NS // self.stream.rate_hz
            self._note_reach(self._ends_ns - now_ns, now_ns)
            self.playout.read_into(mono, start_ns)
            self._turn_down(mono)
            out[:] = mono[:, None]
            self.tape.write(mono, self._ends_ns)
            self.levels.note(mono, now_ns)
        except Exception as error:  # noqa: BLE001  what is raised in a callback ends the stream, unheard
            out.fill(0.0)
            self.error = self.error or error

    def _note_reach(self, ahead_ns: int, now_ns: int) -> None:
        if now_ns >= self._look_ends_ns:
            self._furthest.append(self._furthest_ns)
            self._furthest_ns, self._look_ends_ns = 0, now_ns + LOOK_NS
        self._furthest_ns = max(self._furthest_ns, ahead_ns)

    def _turn_down(self, mono: Samples) -> None:
        volume = self.volume
        if volume != self._volume:  # a ramp, so that it does not click
            mono *= np.linspace(self._volume, volume, len(mono), dtype=np.float32)
            self._volume = volume
        elif volume != 1.0:
            mono *= np.float32(volume)

    def _believed_ns(self, told_ns: int) -> int:
        """Blocks follow each other: one that is told to lie elsewhere is believed when the next one agrees."""
        astray = self._ends_ns > 0 and abs(told_ns - self._ends_ns) > ASTRAY_NS
        self._astray = astray and not self._astray
        return self._ends_ns if self._astray else told_ns

    def _guess_ns(self, now_ns: int) -> int:
        """Where the driver does not tell: right after the block before, as far as the latency can be true."""
        latency_ns = round(self.stream.latency_s * NS)
        return max(now_ns, min(max(self._ends_ns, now_ns + latency_ns // 2), now_ns + latency_ns))
