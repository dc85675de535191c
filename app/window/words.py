"""What the window says about a snapshot, in words: one place for every phrase that tells a state.

Pure functions of frozen values; knows no Qt. Any thread.
"""

from datetime import datetime

from app.audio.devices import DeviceChoice, Devices, Direction
from app.audio.state import EchoMode, StreamState
from app.live.snapshot import Listening, Phase, Progress, Snapshot
from engine.errors import CadenceError
from engine.phrases import counted, printable, spoken

PHASES = {
    Phase.IDLE: "Ready",
    Phase.FETCHING: "Fetching weights",
    Phase.LOADING: "Loading the model",
    Phase.TALKING: "Talking",
    Phase.PAUSED: "Paused",
    Phase.STOPPING: "Stopping",
    Phase.FAILED: "Failed",
}

ECHO_MODES = {
    EchoMode.HEADPHONES: "Headphones",
    EchoMode.CANCELLER: "Echo canceller",
    EchoMode.HALF_DUPLEX: "Take turns",
}

ECHO_EXPLANATIONS = {
    EchoMode.HEADPHONES: "The microphone does not hear the speaker. You can talk over the agent. Best of the three.",
    EchoMode.CANCELLER: "For speakers. What was played is taken out of what is heard. You can talk over the agent.",
    EchoMode.HALF_DUPLEX: "For speakers. The microphone is silent while the agent speaks. You cannot talk over it.",
}

LISTENING = {
    Listening.OPEN: "Always listening",
    Listening.HOLD: "Hold to talk",
    Listening.TOGGLE: "Press to talk, press again to stop",
}

SPEAKERS = {"heard": "You", "said": "Agent", "unsaid": "Agent, not said"}

# Decibels below full scale; a quiet room is under -50, speech from -30 to -10.
QUIET_DB = -42.0
LOUD_DB = -3.0
FLOOR_DB = -60.0
ECHO_DB = 6.0  # louder than that while the test sounds, and the microphone hears the speaker


def state(snapshot: Snapshot) -> str:
    """Where the conversation stands, in some words: "Talking. The agent speaks."."""
    words = PHASES[snapshot.phase]
    if snapshot.phase is not Phase.TALKING:
        return words
    if snapshot.sounding:
        return f"{words}: the agent speaks" + (", microphone muted" if snapshot.muted else "")
    if snapshot.muted:
        return f"{words}: microphone muted"
    if snapshot.hearing:
        return f"{words}: listening"
    return f"{words}: not listening" if snapshot.listening is not Listening.OPEN else words


def sentence(line: str) -> str:
    """A line as a sentence begins."""
    return line[:1].upper() + line[1:]


def progress(told: Progress) -> str:
    """How far long work is: "Fetching the words, 42%, 3.1 MB/s"."""
    parts = [told.what, "" if told.done is None else f"{percent(told)}%", told.detail]
    return sentence(", ".join(part for part in parts if part))


def percent(told: Progress) -> int:
    """Whole percent done; 0 where no one knows."""
    return round(100 * min(max(told.done or 0.0, 0.0), 1.0))


def faults(snapshot: Snapshot) -> str:
    """The newest fault in one line, with how many there were; empty where there was none."""
    if not snapshot.faults:
        return ""
    total = max(len(snapshot.faults), snapshot.figures.faults if snapshot.figures else 0)
    message = sentence(printable(snapshot.faults[-1].message))
    return message if total == 1 else f"{message} ({counted(total, 'fault')} so far)"


def waiting(snapshot: Snapshot) -> str:
    """How long the user has waited for an answer right now; empty where nobody waits."""
    return f"waiting for an answer: {spoken(snapshot.dead_air_ms)}" if snapshot.dead_air_ms >= 500 else ""


def device(choice: DeviceChoice) -> str:
    """A device as people know it: "Headset (ALSA)"."""
    return f"{choice.name} ({choice.api})" if choice.api else choice.name


def default_device(devices: Devices, direction: Direction) -> str:
    """What "follow the default" comes to now."""
    found = devices.default(direction)
    return f"Follow the system's default (now {found.name})" if found else "Follow the system's default"


def missing(devices: Devices, choice: DeviceChoice, direction: Direction) -> bool:
    """Whether a device that was chosen is not there now."""
    if choice.follows_default:
        return False
    try:
        devices.find(choice, direction)
    except CadenceError:
        return True
    return False


def stream(stream: StreamState) -> str:
    """An open stream's facts: "48000 Hz, 21 ms latency, drift +12 ppm"."""
    if stream.lost:
        return f"{stream.device} is gone"
    if not stream.device:
        return "Not open"
    parts = [stream.device, f"{stream.rate_hz} Hz", f"{spoken(stream.latency_ms)} latency"]
    if round(stream.drift_ppm):
        parts.append(f"drift {stream.drift_ppm:+.0f} ppm")
    if stream.faults:
        parts.append(counted(stream.faults, "dropout"))
    return ", ".join(parts)


def began(moment: datetime) -> str:
    """When a session began, in this computer's zone, the way that sorts; two may begin in one minute."""
    return f"{moment.astimezone():%Y-%m-%d %H:%M:%S}"


def length(seconds: float) -> str:
    """A session's length, or how far into it: "0:07", "12:30", "1:02:03"."""
    whole = int(seconds)
    hours, minutes = whole // 3600, whole // 60 % 60
    return f"{hours}:{minutes:02}:{whole % 60:02}" if hours else f"{minutes}:{whole % 60:02}"
