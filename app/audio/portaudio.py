"""PortAudio, by way of sounddevice: the one file that knows either.

Streams hand blocks to the app's callback with how long ago they were heard, or how soon they will sound. The library is
imported where it is first asked for, since a Linux wheel carries none and the import says so. `devices`, `open` and
`start_over` are entered by one control thread at a time, a stream's callback by [audio].
"""

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from app.audio.backend import BlockCallback, Stream, StreamRequest
from app.audio.devices import AudioDevice, Devices, Direction
from engine.clock import NS
from engine.errors import CadenceError

MOST_AWAY_S = 5.0  # a block that is told to lie further off than this comes from a driver that does not know


class PortAudio:
    """The sound cards of this machine."""

    def __init__(self) -> None:
        self._open: set[Stream] = set()  # a close that hangs leaves its stream here

    def devices(self) -> Devices:
        library = _library()
        try:
            apis, found = library.query_hostapis(), library.query_devices()
            chosen = library.default.device
        except Exception as error:  # noqa: BLE001  its own error has no name before it is imported
            raise _unusable(error) from None
        listed = _named(apis, found)
        defaults = [
            (str(api["name"]), direction, listed[api[key]])
            for api in apis
            for direction, key in (
                (Direction.INPUT, "default_input_device"),
                (Direction.OUTPUT, "default_output_device"),
            )
            if 0 <= api.get(key, -1) < len(listed)
        ]
        own = [
            ("", direction, listed[number])
            for direction, number in zip((Direction.INPUT, Direction.OUTPUT), chosen, strict=True)
            if 0 <= number < len(listed)
        ]
        return Devices(
            apis=tuple(str(api["name"]) for api in apis),
            all=tuple(listed),
            defaults=(*own, *defaults),
        )

    def open(self, request: StreamRequest, callback: BlockCallback) -> Stream:
        device = request.device
        numbers = [number for number, there in enumerate(self.devices().all) if there.choice == device.choice]
        if not numbers:
            raise CadenceError(
                f"the {request.direction} '{device.name}' is not there any more", "", "look for devices again"
            )
        try:
            stream = _PortAudioStream(_library(), numbers[0], request, callback, self._open.discard)
        except Exception as error:  # noqa: BLE001  as above
            raise CadenceError(
                f"the {request.direction} '{device.name}' ({device.api}) does not open at {request.rate_hz} Hz with "
                f"{request.channels} channels ({_reason(error)})",
                "a device that opens",
                "close what else uses it, or choose another",
            ) from None
        self._open.add(stream)
        return stream

    def start_over(self) -> None:
        if self._open:
            raise CadenceError(
                "the sound driver hangs and cannot be started again", "", "end the program and start it anew"
            )
        library = _library()
        try:
            with suppress(library.PortAudioError):  # it was not running: all the better
                library._terminate()
            library._initialize()
        except Exception as error:  # noqa: BLE001  as above
            raise _unusable(error) from None


class _PortAudioStream:
    """One open stream of sounddevice's."""

    def __init__(
        self,
        library: Any,
        number: int,
        request: StreamRequest,
        callback: BlockCallback,
        on_closed: Callable[[Stream], None],
    ) -> None:
        hears = request.direction is Direction.INPUT
        self._callback: BlockCallback | None = callback
        self._on_closed = on_closed

        def block(data: Any, _: int, time: Any, status: Any) -> None:
            """As the driver calls it [audio]."""
            away_s = (
                time.currentTime - time.inputBufferAdcTime if hears else time.outputBufferDacTime - time.currentTime
            )
            flagged = status.input_overflow if hears else status.output_underflow
            # Where it lies exactly now or in the past of what has not sounded yet, the driver fills in zeros.
            away_ns = round(away_s * NS) if 0 < away_s < MOST_AWAY_S else None
            if (take := self._callback) is not None:
                take(data, away_ns, bool(flagged))

        open_stream = library.InputStream if hears else library.OutputStream
        self._stream = open_stream(
            samplerate=request.rate_hz,
            blocksize=request.block_frames,
            device=number,
            channels=request.channels,
            dtype="float32",
            latency=request.latency_s,
            callback=block,
        )
        self.rate_hz, self.channels = request.rate_hz, request.channels
        self.latency_s = float(self._stream.latency)

    @property
    def active(self) -> bool:
        try:
            return bool(self._stream.active)
        except Exception:  # noqa: BLE001  a driver that cannot say whether it runs does not
            return False

    def start(self) -> None:
        try:
            self._stream.start()
        except Exception as error:  # noqa: BLE001  its own error has no name before it is imported
            raise CadenceError(
                f"the sound stream does not start ({_reason(error)})", "", "look for devices again"
            ) from None

    def close(self) -> None:
        for end in (self._stream.abort, self._stream.close):
            with suppress(Exception):  # a device that is gone cannot be closed in good order
                end()
        self._callback = None  # sounddevice's stream is a circle that waits for the collector, and this holds megabytes
        self._on_closed(self)


def _named(apis: Iterable[Mapping[str, Any]], found: Sequence[Mapping[str, Any]]) -> list[AudioDevice]:
    """All devices in the library's order, those alike told apart by a number."""
    names = [str(api["name"]) for api in apis]
    alike: Counter[tuple[str, int]] = Counter()
    listed = []
    for device in found:
        key = (str(device["name"]), int(device["hostapi"]))
        alike[key] += 1
        listed.append(
            AudioDevice(
                name=key[0] if alike[key] == 1 else f"{key[0]} #{alike[key]}",
                api=names[key[1]],
                inputs=int(device["max_input_channels"]),
                outputs=int(device["max_output_channels"]),
                rate_hz=round(device["default_samplerate"]),
                low_input_latency_s=max(0.0, float(device["default_low_input_latency"])),
                low_output_latency_s=max(0.0, float(device["default_low_output_latency"])),
            )
        )
    return listed


def _library() -> Any:
    try:
        import sounddevice
    except Exception as error:  # noqa: BLE001  a library that is missing or broken may raise anything
        raise _unusable(error) from None
    return sounddevice


def _unusable(error: Exception) -> CadenceError:
    remedy = {
        "linux": "install it: apt-get install libportaudio2 (Debian, Ubuntu), or its like elsewhere",
        "darwin": "install it: brew install portaudio",
    }.get(sys.platform, "install sounddevice again: pip install --force-reinstall sounddevice")
    return CadenceError(f"PortAudio cannot be used ({_reason(error)})", "the system's PortAudio library", remedy)


def _reason(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
