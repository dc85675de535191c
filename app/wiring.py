"""The composition root: everything a session is made of, put together in one place, in the order of lifetimes."""

import os
import platform
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import psutil

from app import __version__
from app.audio_file import ReplyFile
from app.headless import FileSpeaker
from engine.clock import Clock
from engine.models.registry import Built
from engine.playout import Playout
from engine.runtime import EagerRuntime
from engine.session import Session
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
    )
    with writer or nullcontext():
        yield Headless(session, speaker, writer)


def memory_of(built: Built) -> MemoryRecord:
    """Bytes as they stand: the arena's own, and the process's resident memory."""
    return MemoryRecord(
        arena_reserved=built.arena.reserved_bytes,
        arena_committed=built.arena.committed_bytes,
        rss=psutil.Process().memory_info().rss,
    )


def header(built: Built, audio: AudioSetup) -> SessionHeader:
    """The log's first line."""
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
        settings=dict(built.settings),
    )


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
