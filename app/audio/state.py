"""What is told about the sound: its settings, how its two streams stand, and what happened to them. Frozen, any thread.

Knows no stream and no library.
"""

from dataclasses import dataclass, fields
from enum import StrEnum

from app.audio.devices import FOLLOW_DEFAULT, DeviceChoice

OUTPUT_LATENCY_S = 0.2  # at a device's lowest, 68 underflows in 4 s beside a busy interpreter; at this, none


class EchoMode(StrEnum):
    """What keeps the agent from hearing itself."""

    HEADPHONES = "headphones"  # nothing: the microphone does not hear the speaker
    CANCELLER = "canceller"
    HALF_DUPLEX = "half-duplex"  # the microphone is silent while the agent sounds


@dataclass(frozen=True)
class SoundSettings:
    """What a user chose.

    Args:
        microphone: Which one.
        speaker: Which one.
        output_latency_s: What the speaker is asked for; `LATENCIES_S` says what is offered.
        echo: What keeps the agent from hearing itself.
        volume: 0 to 1, of the speaker.
    """

    microphone: DeviceChoice = FOLLOW_DEFAULT
    speaker: DeviceChoice = FOLLOW_DEFAULT
    output_latency_s: float = OUTPUT_LATENCY_S
    echo: EchoMode = EchoMode.HEADPHONES
    volume: float = 1.0


LATENCIES_S = (0.1, 0.15, 0.2, 0.3, 0.5)


@dataclass(frozen=True)
class StreamState:
    """One of the two sound streams.

    Args:
        device: Its name; empty where there is none.
        api: Its host API.
        rate_hz: The device's own rate.
        latency_ms: As the device tells.
        peak: 0 to 1, the highest sample of the last moments.
        rms: 0 to 1, of the newest block.
        clipped: Whether a sample touched full scale within the last second.
        drift_ppm: How much faster the device's clock runs than the session's; what is corrected for.
        faults: Under- or overflows that the device has told of.
        lost: Whether it has gone.
    """

    device: str = ""
    api: str = ""
    rate_hz: int = 0
    latency_ms: float = 0.0
    peak: float = 0.0
    rms: float = 0.0
    clipped: bool = False
    drift_ppm: float = 0.0
    faults: int = 0
    lost: bool = False


NO_STREAM = StreamState()


class Side(StrEnum):
    """Which of the two streams."""

    MICROPHONE = "microphone"
    SPEAKER = "speaker"


class Happening(StrEnum):
    """What kind of thing happened."""

    LOST = "lost"  # the device is gone: pause, and offer a rescan
    RETURNED = "returned"  # it is there again, or another in its place
    WARNING = "warning"  # for the log; the sound goes on, and `Sound.warnings` tells the user for as long as it holds
    FAULT = "fault"  # for the log; at most a line a second of its kind, with a count


@dataclass(frozen=True)
class SoundEvent:
    """Something that happened to the sound.

    Args:
        kind: What kind.
        side: To which stream; None where to both.
        message: One line.
        at_ns: When, by the session's clock.
    """

    kind: Happening
    side: Side | None
    message: str
    at_ns: int


@dataclass(frozen=True)
class SoundCounts:
    """Where every sample of a session went.

    Of the microphone's frames, all captured are placed, unplaced, unread, or still wait. Of the session's samples, all
    heard are what the placed frames came to, and those filled, less those skipped.

    Args:
        captured_frames: The microphone's, at its own rate, as its callback counted them.
        placed_frames: Of these, that found their place in the session.
        unplaced_frames: Of these, that came before the session's first sample, or while a new microphone's clock was
            not known yet.
        unread_frames: Of these, let go unread: the engine did not come in time.
        heard: Samples of the session so far, at the model's input rate, silence included.
        filled: Of them, silence in place of what the device did not deliver.
        skipped: Samples that were delivered beyond what time has room for, and left out.
        not_finite: Frames that were NaN or infinite, and silenced.
        closed: Samples silenced because the microphone was closed (muted, not held, or half-duplex).
        left_in_canceller: Samples that an echo canceller still held as it was taken away: so many were heard of the
            silence that it began with in their place.
        overflows: That the microphone's driver told of.
        underflows: That the speaker's driver told of.
        played_frames: The speaker's, at its own rate, silence included.
    """

    captured_frames: int = 0
    placed_frames: int = 0
    unplaced_frames: int = 0
    unread_frames: int = 0
    heard: int = 0
    filled: int = 0
    skipped: int = 0
    not_finite: int = 0
    closed: int = 0
    left_in_canceller: int = 0
    overflows: int = 0
    underflows: int = 0
    played_frames: int = 0

    def __add__(self, other: "SoundCounts") -> "SoundCounts":
        return SoundCounts(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    def __sub__(self, other: "SoundCounts") -> "SoundCounts":
        return SoundCounts(*(getattr(self, f.name) - getattr(other, f.name) for f in fields(self)))
