"""The sound of a live conversation: one object that hears for the session and sounds for it.

Who may call what: [control] is the one thread that does device operations, [engine] the one that owns the session;
both may be the same in a program without a window. [any] may be called by any, always, and returns at once.
Knows no model and no session.
"""

from collections.abc import Callable

from app.audio.backend import Backend
from app.audio.devices import Devices
from app.audio.state import EchoMode, SoundCounts, SoundEvent, SoundSettings, StreamState
from engine.chunk import Chunk
from engine.clock import Clock
from engine.playout import PlayoutCounts
from engine.ring import Samples

Tap = Callable[[Samples, Samples], None]  # the user's side and the agent's, of one length, at the model's input rate


class Voice:
    """The agent's voice, in the model's samples: what `Session` takes for its playout [engine].

    It resamples what is pushed to the speaker's own rate, corrected for drift, and goes on when the speaker is
    exchanged: what one speaker left unplayed counts as flushed.
    """

    rate_hz: int  # the model's output rate

    @property
    def lead_ns(self) -> int:
        """How long before it sounds a sample must be pushed: the speaker's latency, and what its callbacks need."""
        raise NotImplementedError

    @property
    def unplayed_samples(self) -> int:
        """Samples of the model's that wait to sound."""
        raise NotImplementedError

    @property
    def counts(self) -> PlayoutCounts:
        """What became of the voice, in the model's samples."""
        raise NotImplementedError

    def push(self, samples: Samples, due_ns: int) -> None:
        """Let samples sound from `due_ns` by the session's clock, at the ear, or as soon after as can be.

        A unit that is pushed by its deadline sounds without a gap where `due_ns` is the deadline and `lead_ns`.
        """
        raise NotImplementedError

    def flush(self, now_ns: int) -> int:
        """Fall silent within a block, with a fade; returns how many of the model's samples were left unplayed."""
        raise NotImplementedError

    def sounding(self, start_ns: int, end_ns: int) -> bool:
        """Whether anything sounded between two times."""
        raise NotImplementedError


class Sound:
    """A microphone and a speaker at their own rates, kept to the session's clock and the model's rates.

    Args:
        backend: The sound library.
        clock: The session's.
        input_rate_hz: That the model hears.
        output_rate_hz: That it speaks.
    """

    voice: Voice
    tap: Tap | None  # [engine] told of both sides, as they are heard and sound, for a recording

    def __init__(self, backend: Backend, clock: Clock, *, input_rate_hz: int, output_rate_hz: int) -> None:
        raise NotImplementedError

    # --- [control] ---

    def open(self, settings: SoundSettings) -> None:
        """Open both devices, the microphone first; or, when open, exchange what the settings have changed.

        A session goes on: the time in between is heard as silence.

        Raises:
            CadenceError: A device is not there or refuses, or there is no library; what was open is closed.
        """
        raise NotImplementedError

    def rescan(self) -> Devices:
        """Close both, let the library look again, and open what the settings name.

        Raises:
            CadenceError: As `open`; look again later.
        """
        raise NotImplementedError

    def close(self) -> None:
        """Close both devices, within two seconds; a driver that hangs is left behind and said."""
        raise NotImplementedError

    # --- [engine] ---

    def begin(self, chunk_samples: int, first_chunk_samples: int | None = None, max_queued: int = 8) -> None:
        """A session begins: the first sample heard from now on is sample 0 of chunk 0, and the counts are zero."""
        raise NotImplementedError

    def pump(self) -> None:
        """Take what was heard since the last time through cleaning, echo mode and resampling into chunks.

        Every 10 to 20 ms while nothing else is to be done; between units, however long they took (ten seconds at
        most, past that the oldest is let go and counted). Also looks whether the devices are still there.
        """
        raise NotImplementedError

    def take(self) -> Chunk | None:
        """The oldest whole chunk, or None. It may be there a little before its `arrival_ns`, never after."""
        raise NotImplementedError

    def arrival_ns(self, chunk: Chunk) -> int:
        """When a chunk is whole, by the session's clock: exactly its samples' length after the one before it."""
        raise NotImplementedError

    def skip(self) -> int:
        """After a pause: let go of what waits, so that the next chunk is a fresh one; returns how many samples."""
        raise NotImplementedError

    # --- [any] ---

    def hear(self, hearing: bool) -> None:
        """Open or close the microphone from this moment on: mute, and the talk key. What is closed is silence."""
        raise NotImplementedError

    def set_echo(self, mode: EchoMode) -> str:
        """Change what keeps the agent from hearing itself; returns one line where that cannot be had, else empty."""
        raise NotImplementedError

    def set_volume(self, volume: float) -> None:
        """0 to 1."""
        raise NotImplementedError

    @property
    def hearing(self) -> bool:
        """Whether what the microphone hears reaches the model right now."""
        raise NotImplementedError

    @property
    def sounding(self) -> bool:
        """Whether the agent can be heard right now."""
        raise NotImplementedError

    @property
    def microphone(self) -> StreamState:
        """How the capture stream stands."""
        raise NotImplementedError

    @property
    def speaker(self) -> StreamState:
        """How the playout stream stands."""
        raise NotImplementedError

    @property
    def counts(self) -> SoundCounts:
        """Where every sample since `begin` went."""
        raise NotImplementedError

    def events(self) -> list[SoundEvent]:
        """What happened since the last time this was asked; each is told once, to one asker."""
        raise NotImplementedError
