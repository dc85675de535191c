"""A sound library made of nothing, for what a virtual card cannot do: devices that refuse, vanish, drift, lie or hang.

Time is a ManualClock's. Every stream has a quartz of its own; `World.run` moves the clock and lets callbacks come as
a driver would: a microphone's block once it is whole, a speaker's as much ahead as its latency says.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from threading import Event, Thread, current_thread

import numpy as np
from numpy.typing import NDArray

from app.audio.backend import BlockCallback, Stream, StreamRequest
from app.audio.devices import AudioDevice, Devices, Direction
from engine.clock import NS
from engine.errors import CadenceError
from tests.fakes import ManualClock

Wave = Callable[[NDArray[np.float64]], NDArray[np.float64]]
"""What is in the air: seconds of the true clock [n] to levels [n], or [n, channels]."""

MIC = AudioDevice("Desk microphone", "ALSA", 1, 0, 48_000, low_input_latency_s=0.01)
SPEAKER = AudioDevice("Desk speaker", "ALSA", 0, 2, 48_000, low_output_latency_s=0.01)


def silence(seconds: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.full(len(seconds), 1e-6)  # no real microphone is all zeros


@dataclass
class Behaviour:
    """How a device behaves.

    Args:
        wave: What a microphone hears.
        drift: How much faster its quartz runs than the true clock, as a fraction.
        refuses_rates: That it does not open at.
        refuses_channels: Likewise.
        tells_times: Whether the driver says how far away a block is.
        burst: Blocks that come together.
        flags: Whether every block is flagged.
        hangs: Closing does, until this is set.
        starts: Whether its streams start.
        loses: Frames that the driver drops without a word before the block at this second: (second, frames).
        falls_to_hz: The rate that it falls to when a microphone opens.
        tells_more_ms: What it adds, at a second of the true clock, to how far away it tells a block to be.
    """

    wave: Wave = silence
    drift: float = 0.0
    refuses_rates: frozenset[int] = frozenset()
    refuses_channels: frozenset[int] = frozenset()
    tells_times: bool = True
    burst: int = 1
    flags: bool = False
    hangs: Event | None = None
    starts: bool = True
    loses: list[tuple[float, int]] = field(default_factory=list)
    falls_to_hz: int | None = None
    tells_more_ms: Callable[[float], float] = lambda seconds: 0.0


class FakeBackend:
    """Devices that do as they are told.

    Args:
        clock: Moved by hand.
        devices: That are there; the first of each direction is the default.
    """

    def __init__(self, clock: ManualClock, *devices: AudioDevice) -> None:
        self.clock = clock
        self.present = list(devices or (MIC, SPEAKER))
        self.listed = list(self.present)  # as of the last start-over
        self.behaviour: dict[str, Behaviour] = {}
        self.streams: list[FakeStream] = []  # all that were ever opened
        self.starts_over = 0

    def of(self, device: AudioDevice) -> Behaviour:
        return self.behaviour.setdefault(device.name, Behaviour())

    @property
    def open_streams(self) -> "list[FakeStream]":
        return [stream for stream in self.streams if not stream.closed]

    def devices(self) -> Devices:
        def first(direction: Direction) -> Sequence[tuple[str, Direction, AudioDevice]]:
            return [("", direction, device) for device in self._now() if device.channels(direction)][:1]

        apis = tuple(dict.fromkeys(device.api for device in self.listed))
        defaults = (*first(Direction.INPUT), *first(Direction.OUTPUT))
        return Devices(apis, tuple(self._now()), defaults, platform="linux")

    def open(self, request: StreamRequest, callback: BlockCallback) -> Stream:
        behaviour, device = self.of(request.device), request.device
        fallen_hz = next((there.rate_hz for there in self._now() if there.choice == device.choice), None)
        if device.choice not in {there.choice for there in self.present}:
            raise CadenceError(f"'{device.name}' is not there")
        falls = behaviour.falls_to_hz is not None and request.rate_hz != fallen_hz
        if request.rate_hz in behaviour.refuses_rates or falls:
            raise CadenceError(f"'{device.name}' does not open at {request.rate_hz} Hz")
        if request.channels in behaviour.refuses_channels or request.channels > device.channels(request.direction):
            raise CadenceError(f"'{device.name}' does not open with {request.channels} channels")
        stream = FakeStream(request, callback, self.clock, behaviour, self)
        self.streams.append(stream)
        return stream

    def start_over(self) -> None:
        assert all(stream.closed_by for stream in self.open_streams), "the library starts over with streams open"
        if self.open_streams:
            raise CadenceError("the driver hangs")
        self.starts_over += 1
        self.listed = list(self.present)

    def unplug(self, device: AudioDevice) -> None:
        """Pull it: its streams' callbacks stop, and nothing says so."""
        self.present.remove(device)
        for stream in self.streams:
            if stream.request.device.choice == device.choice:
                stream.unplugged = True

    def _now(self) -> list[AudioDevice]:
        hears = any(stream.request.direction is Direction.INPUT for stream in self.open_streams)
        return [
            replace(device, rate_hz=fallen, outputs=1)
            if hears and (fallen := self.of(device).falls_to_hz) and device.outputs
            else device
            for device in self.listed
        ]


class FakeStream:
    """A stream with a quartz of its own."""

    def __init__(
        self,
        request: StreamRequest,
        callback: BlockCallback,
        clock: ManualClock,
        behaviour: Behaviour,
        backend: FakeBackend,
    ) -> None:
        self.request, self.behaviour = request, behaviour
        self.rate_hz, self.channels, self.latency_s = request.rate_hz, request.channels, request.latency_s
        self._callback, self._clock, self._backend = callback, clock, backend
        self.started_ns: int | None = None
        self.frames = 0  # handed over
        self.lost_frames = 0
        self.unplugged = self.closed = self.ended = False
        self.closed_by: Thread | None = None
        self.sounded: list[NDArray[np.float32]] = []  # [frames, channels]

    @property
    def active(self) -> bool:
        return self.started_ns is not None and not self.closed and not self.ended

    @property
    def hears(self) -> bool:
        return self.request.direction is Direction.INPUT

    @property
    def heard(self) -> NDArray[np.float32]:
        """All that it has sounded: [frames, channels]."""
        return np.concatenate([np.zeros((0, self.channels), np.float32), *self.sounded])

    def start(self) -> None:
        if not self.behaviour.starts:
            raise CadenceError(f"'{self.request.device.name}' does not start")
        self.started_ns = self._clock.now_ns()

    def close(self) -> None:
        self.closed_by = current_thread()
        if self.behaviour.hangs is not None:
            self.behaviour.hangs.wait()
        self.closed = True

    def true_ns(self, frame: int) -> float:
        """When a frame is in the air."""
        assert self.started_ns is not None
        latency_ns = 0.0 if self.hears else self.latency_s * NS
        return self.started_ns + latency_ns + frame * NS / (self.rate_hz * (1 + self.behaviour.drift))

    @property
    def due_ns(self) -> float:
        """When the next callbacks come; never, where none do."""
        if not self.active or self.unplugged:
            return float("inf")
        if not self.hears:
            return self.true_ns(self.frames) - self.latency_s * NS
        self._lose()
        return self.true_ns(self.frames + self.lost_frames + self.request.block_frames * self.behaviour.burst)

    def call(self) -> None:
        """Let them come."""
        for _ in range(self.behaviour.burst):
            self._call(self.request.block_frames)

    def _lose(self) -> None:
        for at_s, frames in self.behaviour.loses[:1]:
            if self.frames + self.lost_frames >= at_s * self.rate_hz:
                self.lost_frames += frames
                self.behaviour.loses.pop(0)

    def _call(self, block: int) -> None:
        first = self.frames + self.lost_frames
        start_ns = self.true_ns(first)
        now_ns = self._clock.now_ns()
        away_ns = round(now_ns - start_ns if self.hears else start_ns - now_ns)
        away_ns += round(self.behaviour.tells_more_ms(now_ns / NS) * 1e6)
        data = np.zeros((block, self.channels), np.float32)
        if self.hears:
            seconds = (start_ns + np.arange(block) * NS / (self.rate_hz * (1 + self.behaviour.drift))) / NS
            wave = self.behaviour.wave(seconds)
            data[:] = wave if wave.ndim == 2 else wave[:, None]
        self.frames += block
        self._callback(data, away_ns if self.behaviour.tells_times else None, self.behaviour.flags)
        if not self.hears:
            self.sounded.append(data)


class World:
    """Lets time go by for all streams of a backend."""

    def __init__(self, backend: FakeBackend, step_s: float = 0.01) -> None:
        self.backend, self.clock, self.step_s = backend, backend.clock, step_s

    def run(self, seconds: float, each: Callable[[], object] = lambda: None) -> None:
        """Go on, step by step, and do `each` after every step."""
        for _ in range(round(seconds / self.step_s)):
            end_ns = self.clock.now_ns() + round(self.step_s * NS)
            while self.backend.streams:
                first = min(self.backend.streams, key=lambda stream: stream.due_ns)
                if first.due_ns > end_ns:
                    break
                self.clock.sleep_until_ns(round(first.due_ns))
                first.call()
            self.clock.sleep_until_ns(end_ns)
            each()
