"""The sound of a live conversation: one object that hears for the session and sounds for it.

Who may call what: [control] is the one thread that does device operations, [engine] the one that owns the session;
both may be the same in a program without a window. [any] may be called by any, always, and returns at once.
Knows no model and no session.
"""

from typing import TypeVar

from app.audio.backend import Backend
from app.audio.capture import Microphone
from app.audio.closing import within
from app.audio.devices import AudioDevice, Devices, Direction
from app.audio.hearing import Hearing, Tap
from app.audio.live_stream import LiveStream
from app.audio.oversight import Oversight
from app.audio.speaker import Speaker
from app.audio.state import (
    NO_STREAM,
    EchoMode,
    Happening,
    Side,
    SoundCounts,
    SoundEvent,
    SoundSettings,
    StreamState,
)
from app.audio.tidings import Tidings
from app.audio.voice import Voice
from engine.chunk import Chunk
from engine.clock import Clock
from engine.errors import CadenceError

CLOSE_S = 2.0

AnyStream = TypeVar("AnyStream", bound=LiveStream)


class Sound:
    """A microphone and a speaker at their own rates, kept to the session's clock and the model's rates.

    Args:
        backend: The sound library.
        clock: The session's.
        input_rate_hz: That the model hears; 0 where nothing is to be heard, and no microphone opened.
        output_rate_hz: That it speaks.
        close_s: How long closing may take.
    """

    def __init__(
        self, backend: Backend, clock: Clock, *, input_rate_hz: int, output_rate_hz: int, close_s: float = CLOSE_S
    ) -> None:
        self._backend, self._clock, self._close_s = backend, clock, close_s
        self.input_rate_hz = input_rate_hz
        self.voice = Voice(output_rate_hz, clock)
        self._hearing = Hearing(input_rate_hz, clock, self.voice)
        self._tidings = Tidings()
        self._volume = 1.0
        self._warned: dict[Side | str | None, str] = {}  # by what it is about; replaced whole
        # [control] writes, all read
        self._microphone: Microphone | None = None
        self._speaker: Speaker | None = None
        self._oversight = Oversight(self._tidings)

    # --- [control] ---

    def open(self, settings: SoundSettings) -> None:
        """Open both devices, the microphone first; or, when open, exchange what the settings have changed.

        A session goes on: the time in between is heard as silence.

        Raises:
            CadenceError: A device is not there or refuses, or there is no library; what was open is closed.
        """
        self.set_volume(settings.volume)
        if self.input_rate_hz:
            self.set_echo(settings.echo)
        try:
            self._open(settings)
        except BaseException:
            self.close()
            raise

    def rescan(self, settings: SoundSettings) -> Devices:
        """Close both, let the library look again, and open what the settings name by now.

        Raises:
            CadenceError: As `open`; look again later.
        """
        returns = not self._stands(Side.MICROPHONE, self._microphone) or not self._stands(Side.SPEAKER, self._speaker)
        self.close()
        self._backend.start_over()
        self.open(settings)
        if returns:
            self._tidings.tell(Happening.RETURNED, None, self._what_is_open(), self._clock.now_ns())
        return self._backend.devices()

    def close(self) -> str:
        """Close both devices, within two seconds.

        Returns:
            Empty; or one line, where the driver hangs and was left behind.
        """
        streams = [self._speaker, self._microphone]  # what sounds first: the other may hang
        self._microphone = self._speaker = None
        return self._give_back(*streams)

    def _open(self, settings: SoundSettings) -> None:
        before = self._backend.devices()
        heard = before.find(settings.microphone, Direction.INPUT) if self.input_rate_hz else None
        sounded = before.find(settings.speaker, Direction.OUTPUT)
        microphone, speaker = self._microphone, self._speaker
        if heard is not None and not self._stands(Side.MICROPHONE, microphone, heard):
            self._microphone = None
            self._give_back(microphone)
            self._microphone = self._started(Microphone(self._backend, heard, self._clock))
        latency_s = settings.output_latency_s
        if not self._stands(Side.SPEAKER, speaker, sounded) or (speaker and speaker.asked_latency_s != latency_s):
            self._speaker = None
            self._give_back(speaker)
            # A headset may have changed its mind about the speaker when its microphone opened: it is asked again.
            sounds_now = self._backend.devices().find(settings.speaker, Direction.OUTPUT)
            opened = Speaker(self._backend, sounds_now, self._clock, latency_s=latency_s, volume=self._volume)
            self._speaker = self._started(opened)
            self._warn_of_lower_rate(sounded, opened)

    def _stands(self, side: Side, stream: LiveStream | None, device: AudioDevice | None = None) -> bool:
        """Whether a stream is open, not lost, and of `device` where one is given."""
        there = stream is not None and not self._oversight.is_lost(side, stream)
        return there and (device is None or stream is None or stream.device.choice == device.choice)

    def _warn_of_lower_rate(self, before: AudioDevice, speaker: Speaker) -> None:
        line = (
            f"'{before.name}' sounds at {speaker.rate_hz} Hz in place of its own {before.rate_hz} Hz, as a "
            "wireless headset does while its microphone is open; another microphone gives its full sound back"
        )
        self._warn(Side.SPEAKER, line if speaker.rate_hz < before.rate_hz else "")

    def _started(self, stream: AnyStream) -> AnyStream:
        try:
            stream.start()
        except BaseException:
            self._give_back(stream)
            raise
        return stream

    def _give_back(self, *streams: LiveStream | None) -> str:
        if within(self._close_s, [stream.close for stream in streams if stream is not None]):
            return ""
        line = f"the sound driver did not let go within {self._close_s:g} s and was left behind"
        self._warn(None, line)
        return line

    def _warn(self, of: Side | str | None, line: str) -> None:
        """Something is not as it should be, or is again where the line is empty."""
        if line and line != self._warned.get(of):
            side = of if isinstance(of, Side) else None
            self._tidings.tell(Happening.WARNING, side, line, self._clock.now_ns())
        self._warned = {**self._warned, of: line}

    def _what_is_open(self) -> str:
        names = [stream.device.name for stream in (self._microphone, self._speaker) if stream is not None]
        return f"sound is back: {' and '.join(names)}"

    # --- [engine] ---

    def begin(self, chunk_samples: int, first_chunk_samples: int | None = None, max_queued: int = 8) -> None:
        """A session begins: the first sample heard from now on is sample 0 of chunk 0, and the counts are zero.

        Where the microphone has just been opened, it takes half a second until its clock is known well enough.
        """
        self.pump()
        self._hearing.begin(chunk_samples, first_chunk_samples, max_queued)

    def pump(self) -> None:
        """Take what was heard since the last time through cleaning, echo mode and resampling into chunks.

        Every 10 to 20 ms while nothing else is to be done; between units, however long they took (ten seconds at
        most, past that the oldest is let go and counted). Also looks whether the devices are still there.
        """
        now_ns = self._clock.now_ns()
        microphone, speaker = self._microphone, self._speaker
        self.voice.adopt(speaker)
        self._oversight.look(Side.MICROPHONE, microphone, now_ns)
        self._oversight.look(Side.SPEAKER, speaker, now_ns)
        lost = self._oversight.is_lost(Side.MICROPHONE, microphone)
        missing_ns = self._hearing.pump(microphone, speaker, lost=lost)
        if missing_ns:
            self._tidings.fault(Side.MICROPHONE, "samples are missing, by the clock; silence stands for them", now_ns)
        self.voice.pump(now_ns)
        self._tidings.settle(now_ns)

    def take(self) -> Chunk | None:
        """The oldest whole chunk, or None. It may be there a little before its `arrival_ns`."""
        return self._hearing.take()

    def arrival_ns(self, chunk: Chunk) -> int:
        """When a chunk can be taken, by the session's clock: exactly its samples' length after the one before it."""
        return self._hearing.arrival_ns(chunk)

    def skip(self) -> int:
        """After a pause: let go of what waits, so that the next chunk is a fresh one; returns how many samples."""
        skipped = 0
        while (chunk := self.take()) is not None:
            skipped += len(chunk.samples)
        return skipped

    # --- [any] ---

    def hear(self, hearing: bool) -> None:
        """Open or close the microphone from this moment on: mute, and the talk key. What is closed is silence."""
        self._hearing.gate.set(hearing, self._clock.now_ns())

    def set_echo(self, mode: EchoMode) -> None:
        """Change what keeps the agent from hearing itself.

        Where there is no canceller, the microphone is silent while the agent sounds, and `warnings` says so.
        """
        line = ""
        try:
            self._hearing.set_echo(mode)
        except CadenceError as error:
            self._hearing.set_echo(EchoMode.HALF_DUPLEX)
            line = f"{error}; until then the microphone is closed while the agent speaks"
        self._warn("echo", line)

    def set_volume(self, volume: float) -> None:
        """0 to 1."""
        self._volume = max(0.0, min(volume, 1.0))
        if (speaker := self._speaker) is not None:
            speaker.volume = self._volume

    @property
    def echo(self) -> EchoMode:
        """What keeps the agent from hearing itself now."""
        return self._hearing.echo

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the user should know of what is open, a line each, for as long as it holds."""
        return tuple(line for line in (*self._warned.values(), self._oversight.zeros(self._microphone)) if line)

    @property
    def tap(self) -> Tap | None:
        """Told of both sides, as they are heard and sound, for a recording [engine]."""
        return self._hearing.tap

    @tap.setter
    def tap(self, tap: Tap | None) -> None:
        self._hearing.tap = tap

    @property
    def hearing(self) -> bool:
        """Whether what the microphone hears reaches the model right now."""
        half = self.echo is EchoMode.HALF_DUPLEX and self.sounding
        microphone = self._microphone
        there = microphone is not None and not self._oversight.is_lost(Side.MICROPHONE, microphone)
        return there and self._hearing.gate.is_open and not half

    @property
    def sounding(self) -> bool:
        """Whether the agent can be heard right now."""
        now_ns = self._clock.now_ns()
        return self.voice.sounding(now_ns, now_ns + 1)

    @property
    def microphone(self) -> StreamState:
        """How the capture stream stands."""
        return self._state(Side.MICROPHONE, self._microphone)

    @property
    def speaker(self) -> StreamState:
        """How the playout stream stands."""
        return self._state(Side.SPEAKER, self._speaker)

    @property
    def counts(self) -> SoundCounts:
        """Where every sample since `begin` went; of the speaker, since it was opened."""
        speaker = self._speaker
        sounded = SoundCounts(underflows=speaker.flags, played_frames=speaker.tape.written_frames) if speaker else None
        return self._hearing.counts + (sounded or SoundCounts())

    def events(self) -> list[SoundEvent]:
        """What happened since the last time this was asked; each is told once, to one asker."""
        return self._tidings.take()

    def _state(self, side: Side, stream: LiveStream | None) -> StreamState:
        if stream is None:
            return NO_STREAM
        level = stream.levels.level(self._clock.now_ns())
        return StreamState(
            device=stream.device.name,
            api=stream.device.api,
            rate_hz=stream.rate_hz,
            latency_ms=1e3 * stream.stream.latency_s,
            peak=level.peak,
            rms=level.rms,
            clipped=level.clipped,
            drift_ppm=1e6 * stream.tape.line.drift,
            faults=stream.flags,
            lost=self._oversight.is_lost(side, stream),
        )
