"""The composition root: everything a session is made of, put together in one place, in the order of lifetimes."""

import os
import platform
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import psutil

from app import __version__
from app.audio.portaudio import PortAudio
from app.audio.sound import Sound
from app.audio_file import ReplyFile
from app.headless import FileSpeaker
from app.live.calm import Calm
from app.live.conversation import LiveConversation
from app.live.engine_room import Makes
from app.live.loading import Loader
from app.live.recording import StereoRecording
from app.live.sessions import LOG, RECORDING, sessions_path
from app.live.settings import Settings, SettingsFile
from app.live.talking import Opened
from app.live.worker import ThreadWorker
from engine.clock import Clock, WallClock
from engine.models.registry import Built
from engine.playout import Playout
from engine.runtime import EagerRuntime, Runtime
from engine.session import Session
from engine.stage import Lifetime
from engine.timing import AudioSetup, LogWriter, MemoryRecord, PlanSummary, SessionHeader, StageShape

VERSIONED = ("torch", "transformers", "numpy", "onnxruntime")


@dataclass(frozen=True)
class Headless:
    """A session without a sound card.

    Args:
        session: To be fed.
        speaker: Plays into the reply's file, as far as the clock has come.
        log: Takes the session's lines; None where no log was asked for.
    """

    session: Session
    speaker: FileSpeaker
    log: LogWriter | None


@contextmanager
def headless(
    built: Built,
    clock: Clock,
    *,
    reply: ReplyFile | None,
    log: Path | None,
    source: str,
    realtime: bool,
    transcript: bool,
    tell: Callable[[str], None],
) -> Iterator[Headless]:
    """Put a headless session together, and close its log when it ends, however it ends.

    Args:
        built: The model, prepared, and its arena.
        clock: The session's time.
        reply: Takes what is heard of the agent.
        log: The timing log to write.
        source: What is heard, as the log names it; no path.
        realtime: Whether the clock waits.
        transcript: Whether the log holds what was said.
        tell: Takes a line for whoever watches.
    """
    playout = Playout(built.model.output_rate_hz)
    speaker = FileSpeaker(playout, reply)
    audio = AudioSetup(
        input_rate_hz=built.model.input_rate_hz,
        output_rate_hz=built.model.output_rate_hz,
        source=source,
        realtime=realtime,
    )
    first = header(built, audio)
    writer = LogWriter(log, first, transcript=transcript, on_lost=lambda lost: tell(str(lost))) if log else None
    session = Session(
        built.model,
        EagerRuntime(built.runtime, clock),
        built.arena,
        playout,
        clock,
        log=writer,
        speaker=speaker,
        memory=lambda: memory_of(built),
        fingerprints=True,
    )
    with writer or nullcontext():
        yield Headless(session, speaker, writer)


def live(settings: SettingsFile, **options: Any) -> LiveConversation:
    """A live conversation on this machine's sound cards; nothing is loaded or opened yet.

    Args:
        settings: What the user chose.
        options: Of the model's own, as its builder takes them.
    """
    clock, backend, calm = WallClock(), PortAudio(), Calm()
    makes = Makes(
        clock=clock,
        sound=lambda heard_hz, spoken_hz: Sound(backend, clock, input_rate_hz=heard_hz, output_rate_hz=spoken_hz),
        loader=Loader(time.monotonic, calm.thaw, **options),
        session=partial(live_session, clock=clock),
        sessions=sessions_path(),
        calm=calm,
    )
    engine, control = ThreadWorker("engine"), ThreadWorker("control")
    return LiveConversation(settings, makes, backend=backend, engine=engine, control=control, later=later)


@contextmanager
def live_session(
    built: Built,
    sound: Sound,
    settings: Settings,
    folder: Path,
    *,
    clock: Clock,
    watch: Callable[[Runtime], Runtime],
    lose: Callable[..., None],
) -> Iterator[Opened]:
    """Put a live session together, and close its log and recording when it ends, however it ends.

    Args:
        built: The model, prepared; it may have talked before.
        sound: Open.
        settings: What the user chose.
        folder: Takes the session's files.
        clock: The session's time, and the sound's.
        watch: Wraps the runtime.
        lose: Takes a line that says what the session goes on without, and the snapshot's fields that change by it.
    """
    model = built.model
    sound.pump()  # the voice takes up its speaker, whose lead the header states
    audio = AudioSetup(
        input_rate_hz=model.input_rate_hz, output_rate_hz=model.output_rate_hz, source="microphone", realtime=True
    )
    more: dict[str, str | float] = {
        "echo": str(sound.echo),
        "listening": str(settings.listening),
        "speaker_lead_ms": round(sound.voice.lead_ns / 1e6, 1),
    }
    first = header(built, audio, more)

    built.arena.reset(Lifetime.TURN)  # of the session before
    writer = LogWriter(folder / LOG, first, transcript=settings.log_transcript, on_lost=lambda why: lose(str(why)))
    with writer:
        recording = None
        if settings.record:
            recording = StereoRecording(
                folder / RECORDING, model.input_rate_hz, lambda why: lose(str(why), recording=None)
            )
        session = Session(
            model,
            watch(EagerRuntime(built.runtime, clock)),
            built.arena,
            sound.voice,
            clock,
            log=writer,
            memory=lambda: memory_of(built),
        )
        try:
            sound.tap = recording.write if recording else None
            yield Opened(session, writer, first, recording.path if recording else None)
        finally:
            sound.tap = None
            if recording:
                recording.close()


def later(after_s: float, do: Callable[[], None]) -> Callable[[], None]:
    """Call something after a while, unless what this returns is called first."""
    timer = threading.Timer(after_s, do)
    timer.daemon = True
    timer.start()
    return timer.cancel


def memory_of(built: Built) -> MemoryRecord:
    """Bytes as they stand: the arena's own, and the process's resident memory."""
    return MemoryRecord(
        arena_reserved=built.arena.reserved_bytes,
        arena_committed=built.arena.committed_bytes,
        rss=psutil.Process().memory_info().rss,
    )


def header(
    built: Built, audio: AudioSetup, settings: Mapping[str, bool | int | float | str | None] | None = None
) -> SessionHeader:
    """The log's first line; `settings` are those that are not the model's own."""
    plan = built.model.plan
    return SessionHeader(
        model=built.model.name,
        runtime=built.runtime,
        device=f"cpu {platform.machine()}, {os.cpu_count()} cores",
        wall_clock=datetime.now().astimezone().isoformat(timespec="seconds"),
        versions={
            "duplexcadence": __version__,
            "python": platform.python_version(),
            **{name: _version(name) for name in VERSIONED},
        },
        audio=audio,
        plan=PlanSummary(
            shapes=tuple(StageShape(stage=graph.stage, shape=graph.shape) for graph in plan.shapes),
            cycle=plan.cycle,
            bytes=plan.max_bytes,
        ),
        settings={**built.settings, **(settings or {})},
    )


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
