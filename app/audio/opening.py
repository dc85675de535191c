"""Opens a device as it is: at its own rate and with the channels that it has, or the nearest that it takes. [control].

Knows no session; whoever opens resamples and mixes.
"""

from app.audio.backend import Backend, BlockCallback, Stream, StreamRequest
from app.audio.devices import AudioDevice, Direction
from engine.errors import CadenceError

BLOCK_S = 0.02
OTHER_RATES_HZ = (48_000, 44_100, 32_000, 24_000, 16_000, 8_000)
MOST_CHANNELS = 2  # of 32 offered, thirty are silent or another's, and a mean of all would drown the voice


def open_stream(
    backend: Backend, device: AudioDevice, direction: Direction, latency_s: float, callback: BlockCallback
) -> Stream:
    """Open a device at its own rate, or at the first other one that it takes.

    Raises:
        CadenceError: It takes none.
    """
    has = device.channels(direction)
    rates_hz = list(dict.fromkeys((device.rate_hz, *OTHER_RATES_HZ)))
    refused: CadenceError | None = None
    for rate_hz in rates_hz:
        for channels in dict.fromkeys((min(has, MOST_CHANNELS), 1, has)):
            request = StreamRequest(device, direction, rate_hz, channels, round(BLOCK_S * rate_hz), latency_s)
            try:
                return backend.open(request, callback)
            except CadenceError as error:
                refused = refused or error
    assert refused is not None, "at least one rate is tried"
    tried = ", ".join(str(rate_hz) for rate_hz in rates_hz[1:])
    raise CadenceError(
        f"{refused.came}, nor at {tried} Hz", "a device that opens", "close what else uses it, or choose another"
    )
