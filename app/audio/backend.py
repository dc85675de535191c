"""What the app asks of a sound library: list devices, open a stream, start over.

`portaudio` answers; tests have another. Knows no clock, no session and no resampling. Callbacks are entered by
[audio]; all else by one control thread at a time, never by a callback. A close that hangs is left behind on a thread
of its own: other devices can be opened beside it, but the library cannot start over beneath it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from app.audio.devices import AudioDevice, Devices, Direction

Frames = NDArray[np.float32]  # [frames, channels]

BlockCallback = Callable[[Frames, int | None, bool], None]
"""Takes a block that was heard, or fills one that will sound.

Its second argument is how long ago the block's first frame was heard, or how long from now it will sound, in
nanoseconds; None where the driver does not tell. The third says whether the driver has lost frames (an overflow) or
lacked some (an underflow) since the last block.
"""


@dataclass(frozen=True)
class StreamRequest:
    """A stream to be opened.

    Args:
        device: Whose.
        direction: Whether to hear or to sound.
        rate_hz: Frames a second.
        channels: Of a frame.
        block_frames: Frames a callback.
        latency_s: What is asked for.
    """

    device: AudioDevice
    direction: Direction
    rate_hz: int
    channels: int
    block_frames: int
    latency_s: float


class Stream(Protocol):
    """An open stream; silent until it is started."""

    rate_hz: int
    channels: int
    latency_s: float

    @property
    def active(self) -> bool:
        """Whether callbacks come; false once the device is gone, where the driver tells."""
        ...

    def start(self) -> None:
        """Let callbacks come.

        Raises:
            CadenceError: It cannot.
        """
        ...

    def close(self) -> None:
        """Drop what has not sounded, and give the device back; may hang in a broken driver. Raises nothing."""
        ...


class Backend(Protocol):
    """A sound library."""

    def devices(self) -> Devices:
        """What there is, as of the last start-over.

        Raises:
            CadenceError: The library is not here, or does not work.
        """
        ...

    def open(self, request: StreamRequest, callback: BlockCallback) -> Stream:
        """Open a stream.

        Raises:
            CadenceError: The device refuses, or is not there.
        """
        ...

    def start_over(self) -> None:
        """Let the library look for devices again; every stream must be closed.

        Raises:
            CadenceError: The library does not work any more, or a stream's close hangs.
        """
        ...
