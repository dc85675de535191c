"""What whoever watches a live conversation sees: one frozen snapshot, made by the engine's threads, read by any.

Nothing here waits, locks or computes. A watcher polls `Conversation.snapshot` 10 to 20 times a second and posts
commands; every command returns at once and shows its effect in a later snapshot.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from app.audio.devices import Devices
from app.audio.state import NO_STREAM
from app.audio.state import EchoMode as EchoMode
from app.audio.state import StreamState as StreamState
from engine.cadence import Statistics
from engine.ring import Samples
from engine.timing import Fault, SessionHeader, UnitRecord

SHOWN_UNITS = 60  # that a snapshot holds, the newest last
SHOWN_LINES = 500  # of the transcript, the newest last


class Phase(StrEnum):
    """Where a conversation stands."""

    IDLE = "idle"  # nothing runs; `start` begins
    FETCHING = "fetching"  # weights are on their way
    LOADING = "loading"  # the model loads and warms up
    TALKING = "talking"
    PAUSED = "paused"  # a device was lost; the session waits for one
    STOPPING = "stopping"
    FAILED = "failed"  # `message` says why and what to do; `start` tries again

    @property
    def at_rest(self) -> bool:
        """Whether nothing runs, and `start` begins."""
        return self in (Phase.IDLE, Phase.FAILED)

    @property
    def live(self) -> bool:
        """Whether a session is held."""
        return self in (Phase.TALKING, Phase.PAUSED)

    @property
    def busy(self) -> bool:
        """Whether it is on its way to somewhere else."""
        return self in (Phase.FETCHING, Phase.LOADING, Phase.STOPPING)


class Listening(StrEnum):
    """When the microphone is heard."""

    OPEN = "open"  # always, unless muted
    HOLD = "hold"  # while the talk key is held
    TOGGLE = "toggle"  # the talk key opens and closes it


@dataclass(frozen=True)
class Progress:
    """How far long work is.

    Args:
        what: In words, for people ("fetching the words' weights").
        done: 0 to 1; None where no one knows.
        detail: Rate, time left, or empty.
    """

    what: str
    done: float | None = None
    detail: str = ""


@dataclass(frozen=True)
class Line:
    """A line of the transcript.

    Args:
        number: Counts lines from the session's start and never changes.
        unit: The unit that brought it.
        who: "user" or "agent".
        kind: "heard", "said" or "unsaid".
        text: The words.
    """

    number: int
    unit: int
    who: str
    kind: str
    text: str


@dataclass(frozen=True)
class Running:
    """The unit under way; times in nanoseconds since the session's start, as in the log.

    Args:
        index: Its number.
        arrival_ns: When its chunk was whole.
        deadline_ns: When it is due.
        start_ns: When work on it began; None while it waits for its chunk.
        stages: Of what is done, name to milliseconds, in the order they began.
        stage: The one under way; empty where none is.
        stage_start_ns: When that began.
    """

    index: int
    arrival_ns: int
    deadline_ns: int
    start_ns: int | None = None
    stages: Mapping[str, float] = field(default_factory=dict)
    stage: str = ""
    stage_start_ns: int = 0


@dataclass(frozen=True)
class Trial:
    """What came of trying the devices without a model.

    Args:
        playing: Whether the test sounds right now.
        heard_db: How much louder the microphone heard it be while the last test sounded than before, whatever the echo
            mode; None where no test has told.
        room_db: How loud it was before that test, below full scale.
        untold: Why the last test tells nothing; empty where it does, and before one.
    """

    playing: bool = False
    heard_db: float | None = None
    room_db: float = -math.inf
    untold: str = ""


@dataclass(frozen=True)
class Track:
    """A recording to be listened to.

    Args:
        name: Which one, as whoever asks calls it.
        rate_hz: Of its samples.
        begins_ns: When its first sample sounds, on its session's time axis.
        from_ns: Where to begin, on the same.
        blocks: All of it, anew at each call: float32 [samples], some seconds each; may raise `BadAudio`.
    """

    name: str
    rate_hz: int
    begins_ns: int
    from_ns: int
    blocks: Callable[[], Iterable[Samples]]


@dataclass(frozen=True)
class Listened:
    """A recording that is listened to.

    Args:
        name: The track's.
        at_ns: Where in it, on its session's time axis; None before it sounds.
    """

    name: str
    at_ns: int | None = None


@dataclass(frozen=True)
class Snapshot:
    """A live conversation at one moment.

    Args:
        phase: Where it stands.
        now_ns: When the snapshot was made, since the session's start.
        progress: Of what keeps it from talking.
        message: One line for the user: what failed and what to do, or what to know; empty where all is well.
        header: The log's first line; None before a session.
        units: The newest units done, at most `SHOWN_UNITS`.
        figures: Of the whole session; None before its first unit.
        running: The unit under way.
        lines: The transcript's newest.
        faults: The newest faults, at most twenty.
        paths: How many stage runs there were of each path ("graph", "eager", ...).
        dead_air_ms: How long the user has been waiting for an answer right now; zero where nobody waits.
        sounding: Whether the agent can be heard right now.
        muted: Whether the user has closed the microphone.
        hearing: Whether what the microphone hears reaches the model right now.
        listening: When the microphone is heard.
        echo: What keeps the agent from hearing itself.
        microphone: The capture stream.
        speaker: The playout stream.
        log: The log's file; None before a session.
        recording: The file that both sides are recorded to; None where they are not, or no longer.
        trial: How trying the devices stands; None where they are not being tried.
        listened: The recording that is listened to; None where none is.
    """

    phase: Phase = Phase.IDLE
    now_ns: int = 0
    progress: Progress | None = None
    message: str = ""
    header: SessionHeader | None = None
    units: tuple[UnitRecord, ...] = ()
    figures: Statistics | None = None
    running: Running | None = None
    lines: tuple[Line, ...] = ()
    faults: tuple[Fault, ...] = ()
    paths: Mapping[str, int] = field(default_factory=dict)
    dead_air_ms: float = 0.0
    sounding: bool = False
    muted: bool = False
    hearing: bool = False
    listening: Listening = Listening.OPEN
    echo: EchoMode = EchoMode.HEADPHONES
    microphone: StreamState = NO_STREAM
    speaker: StreamState = NO_STREAM
    log: Path | None = None
    recording: Path | None = None
    trial: Trial | None = None
    listened: Listened | None = None


class Conversation(Protocol):
    """A live conversation as its watchers know it [any thread]; no command waits."""

    def snapshot(self) -> Snapshot:
        """How it stands; cheap, and never blocks."""
        ...

    def start(self) -> None:
        """Fetch and load what is missing, open the devices that the settings name, and talk."""
        ...

    def stop(self) -> None:
        """End the session, its log closed, within two seconds; or give up fetching or loading."""
        ...

    def restart(self) -> None:
        """Forget the conversation and begin anew, the model still loaded."""
        ...

    def mute(self, muted: bool) -> None:
        """Close the microphone, or open it."""
        ...

    def hold(self, held: bool) -> None:
        """The talk key went down or up; what that means is `Settings.listening`'s."""
        ...

    def stop_speaking(self) -> None:
        """Let the agent fall silent within a block, and take its turn as barged into."""
        ...

    def apply(self) -> None:
        """The settings have changed: reopen devices, echo mode and listening to suit, without ending the session."""
        ...

    def rescan(self) -> None:
        """Look for devices again, and go on with a session that has lost one."""
        ...

    def close(self) -> None:
        """Stop, and end all threads; waits at most two seconds. Nothing may be called afterwards."""
        ...


class DeviceTrials(Protocol):
    """What can be done about devices beside a conversation [any thread]; nothing waits."""

    def devices(self) -> Devices:
        """What there is, as of the last look; the first is taken as the program starts, later ones by `rescan`."""
        ...

    def try_sound(self, trying: bool) -> None:
        """Open the devices that the settings name, or close them; a conversation that starts ends the trial."""
        ...

    def play_test(self) -> None:
        """Let the speaker sound for a second, and hear how much of it reaches the microphone."""
        ...

    def listen(self, track: Track | None) -> None:
        """Let a recording sound through the speaker that the settings name, or none.

        Nothing while a conversation is held; one that starts ends it, and so does another recording.
        """
        ...
