"""Both sides of a conversation as one stereo WAV, the user on the left, the agent as it really sounded on the right.

Written as it goes, its header kept true a second at a time, so that a crash costs a second. A disk that fills up costs
the recording, not the conversation; so does whoever removes or moves it meanwhile. Knows no session. Entered by
[engine].
"""

import wave
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np

from engine.errors import NoRoom
from engine.plain_file import in_place
from engine.ring import Samples

MOST_BYTES = (1 << 32) - (1 << 20)  # a WAV's header can count so far: 18 hours at 16 kHz
FULL_SCALE = 32767


class StereoRecording:
    """A WAV under way: 16 bits, two channels.

    Args:
        path: The file; it must not exist.
        rate_hz: Samples a second, of each side.
        on_lost: Told once, where it cannot go on.

    Raises:
        NoRoom: It cannot be begun.
    """

    def __init__(self, path: Path, rate_hz: int, on_lost: Callable[[NoRoom], None]) -> None:
        self.path, self._rate_hz, self._on_lost = path, rate_hz, on_lost
        self._waiting: list[tuple[Samples, Samples]] = []
        self._waiting_samples = self._bytes = 0
        try:
            self._file = path.open("xb")
            self._wave: wave.Wave_write | None = wave.open(self._file, "wb")  # noqa: SIM115  `close` closes it
            self._wave.setnchannels(2)
            self._wave.setsampwidth(2)
            self._wave.setframerate(rate_hz)
            self._put(np.zeros((0, 2), np.float32))
        except OSError as error:
            raise NoRoom(
                f"the recording {path} cannot be begun ({error.strerror})", "a folder with room and leave to write"
            ) from None

    def write(self, user: Samples, agent: Samples) -> None:
        """Take in a stretch of both sides, float32 [samples] each, of one length."""
        if self._wave is None:
            return
        self._waiting.append((user.copy(), agent.copy()))
        self._waiting_samples += len(user)
        if self._waiting_samples >= self._rate_hz:
            self._let_go()

    def close(self) -> None:
        """Write what waits, and close the file."""
        self._let_go()
        if self._wave is not None:
            self._end()

    def _let_go(self) -> None:
        if self._wave is None or not self._waiting:
            return
        sides = [np.concatenate(side) for side in zip(*self._waiting, strict=True)]
        self._waiting, self._waiting_samples = [], 0
        try:
            self._put(np.stack(sides, axis=1))
        except OSError as error:
            self._lose(f"the recording takes no more ({error.strerror})", "room on its disk")
            return
        if not in_place(self.path, self._file.fileno()):
            self._lose("the recording is not in its place any more: it was removed or moved", "its folder left alone")
        elif self._bytes >= MOST_BYTES:
            self._lose("the recording is as long as a WAV can be", "")

    def _put(self, frames: Samples) -> None:
        """Append float32 [samples, 2]; the header counts them, and the system has them."""
        assert self._wave is not None
        data = (frames.clip(-1, 1) * FULL_SCALE).round().astype("<i2").tobytes()
        self._wave.writeframes(data)
        self._file.flush()
        self._bytes += len(data)

    def _lose(self, came: str, needed: str) -> None:
        self._end()
        self._on_lost(NoRoom(came, needed, "the conversation goes on without it"))

    def _end(self) -> None:
        assert self._wave is not None
        with suppress(OSError):  # the header counts what was written before
            self._wave.close()
        with suppress(OSError):  # what could not be flushed is lost, and was said
            self._file.close()
        self._wave = None
