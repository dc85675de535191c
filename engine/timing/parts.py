"""What the timing log's lines are made of: stages, steps, memory, sound, and what the header nests.

Knows nothing of lines or files. Immutable; any thread may keep them.
"""

from typing import Annotated

import msgspec

# Bounds that no session meets, and past which a reader's own arithmetic, or a window's, would fail.
MOST = 1 << 60  # nanoseconds: 36 years; bytes: an exbibyte
MOST_MS = 1e13
Count = Annotated[int, msgspec.Meta(ge=0, le=MOST)]
Whole = Annotated[int, msgspec.Meta(ge=-MOST, le=MOST)]
Nanoseconds = Whole
Milliseconds = Annotated[float, msgspec.Meta(ge=0, le=MOST_MS)]
SignedMilliseconds = Annotated[float, msgspec.Meta(ge=-MOST_MS, le=MOST_MS)]
PathName = Annotated[str, msgspec.Meta(pattern="^(graph|clocked|seam|eager|stock)$")]
Scalar = bool | int | float | str | None


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """A piece of a line, without a type of its own."""


class StageShape(Part, frozen=True, kw_only=True):
    """One exact shape that the plan foresees for a stage."""

    stage: str
    shape: tuple[Whole, ...]


class PlanSummary(Part, frozen=True, kw_only=True):
    """What was known before the session began.

    Args:
        shapes: The exact shapes, most met first.
        cycle: Units until the shapes repeat.
        bytes: The most state that the plan will ever hold.
    """

    shapes: tuple[StageShape, ...]
    cycle: Count
    bytes: Count


class AudioSetup(Part, frozen=True, kw_only=True):
    """Where sound comes from and how fast it was fed.

    Args:
        input_rate_hz: The model's input rate.
        output_rate_hz: The model's output rate.
        source: "file" or "microphone", or a device's name; never a path.
        realtime: Whether chunks arrived second by second, or as fast as the machine took them.
    """

    input_rate_hz: Count
    output_rate_hz: Count
    source: str
    realtime: bool


class StepRecord(Part, frozen=True, kw_only=True):
    """One step inside a stage, where the stage has a finer deadline than the unit's (Moshi's 80 ms frames)."""

    start_ns: Nanoseconds
    deadline_ns: Nanoseconds
    wall_ms: Milliseconds


class StageRecord(Part, frozen=True, kw_only=True, omit_defaults=True):
    """One stage's work in one unit; a stage that ran twice has two.

    Args:
        name: The timeline's name.
        start_ns: When the host began it.
        wall_ms: How long the host took, waiting included.
        device_start_ns: When the device began it; None on a CPU, where the host is the device.
        device_ms: How long the device was busy; None on a CPU.
        ticks: Ticks of the stage's output clock.
        shape: The exact shape it ran at.
        path: How it ran: "graph", "clocked", "seam", "eager" or "stock".
        steps: Finer steps; left out of the line where there are none.
    """

    name: str
    start_ns: Nanoseconds
    wall_ms: Milliseconds
    device_start_ns: Nanoseconds | None
    device_ms: Milliseconds | None
    ticks: Count
    shape: tuple[Whole, ...]
    path: PathName
    steps: tuple[StepRecord, ...] = ()


class MemoryRecord(Part, frozen=True, kw_only=True):
    """Bytes as the unit finished; None for what this device has no count of."""

    arena_reserved: Count
    arena_committed: Count
    torch_allocated: Count | None = None
    torch_reserved: Count | None = None
    graphs: Count | None = None
    device_used: Count | None = None
    rss: Count | None = None


class GpuRecord(Part, frozen=True, kw_only=True):
    """The GPU's state as the unit finished.

    Args:
        clock_mhz: The SM clock.
        temperature_c: The core's temperature.
        throttle: Why it ran slower than it can, in words; empty where it did not.
    """

    clock_mhz: Count
    temperature_c: Whole
    throttle: str = ""


class AudioRecord(Part, frozen=True, kw_only=True):
    """What happened to sound during this unit; counts of this unit, not sums.

    Args:
        overflows: Times the capture ring was full.
        underflows: Times the playout ran dry in the middle of speech.
        gap_ms: Silence heard where speech was due.
        dropped_ms: Microphone audio lost.
        playout_ms: Speech queued for playing as the unit finished.
    """

    overflows: Count = 0
    underflows: Count = 0
    gap_ms: Milliseconds = 0.0
    dropped_ms: Milliseconds = 0.0
    playout_ms: Milliseconds = 0.0
