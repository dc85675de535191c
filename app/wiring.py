"""The composition root: everything a session is made of, put together in one place, in the order of lifetimes."""

import platform
from collections.abc import Mapping
from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import psutil

from app.headless import FileSpeaker
from engine.arena import Arena
from engine.clock import Clock
from engine.models import registry
from engine.playout import Playout
from engine.runtime import EagerRuntime
from engine.session import Session
from engine.step import Model
from engine.timing import AudioSetup, LogWriter, MemoryRecord, PlanSummary, SessionHeader, StageShape

VERSIONED = ("duplexcadence", "torch", "transformers", "numpy", "onnxruntime")


def memory_of(arena: Arena) -> MemoryRecord:
    """Bytes as they stand: the arena's own, and the process's resident memory."""
    return MemoryRecord(
        arena_reserved=arena.reserved_bytes,
        arena_committed=arena.committed_bytes,
        rss=psutil.Process().memory_info().rss,
    )


def header(model: Model, runtime: str, audio: AudioSetup) -> SessionHeader:
    """The log's first line."""
    import torch

    plan = model.plan
    settings: Mapping[str, bool | int | float | str | None] = {"torch_threads": torch.get_num_threads(), **model.settings}
    return SessionHeader(
        model=model.name,
        runtime=runtime,
        device=f"cpu, {torch.get_num_threads()} threads",
        wall_clock=datetime.now().astimezone().isoformat(timespec="seconds"),
        versions={"python": platform.python_version(), **{name: _version(name) for name in VERSIONED}},
        audio=audio,
        plan=PlanSummary(
            shapes=tuple(StageShape(stage=stage, shape=shape) for stage, shape in plan.shapes),
            cycle=plan.cycle,
            bytes=plan.max_bytes,
        ),
        settings=dict(settings),
    )


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
