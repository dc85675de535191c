"""The timing log's records, schema 1, as frozen structs: what a session says about itself, a line each.

Field names and nesting are the log's own; `engine/timing.schema.json` states them again for readers in other languages.
Every `_ns` is nanoseconds since the session's start (the arrival of its first chunk), so that unit n's deadline reads
(n+1) cadences and no line tells the machine's uptime. Knows nothing of stages, devices or files. Records are immutable
and hold no arrays: the engine thread makes them and any thread may keep them.
"""

from typing import Annotated, Any

import msgspec

SCHEMA = 1

Count = Annotated[int, msgspec.Meta(ge=0)]
Milliseconds = Annotated[float, msgspec.Meta(ge=0)]
EventName = Annotated[str, msgspec.Meta(pattern="^(LISTEN|SPEAK|FLUSH)$")]
PathName = Annotated[str, msgspec.Meta(pattern="^(graph|clocked|seam|eager|stock)$")]
LifetimeName = Annotated[str, msgspec.Meta(pattern="^(session|turn|limit)$")]
Scalar = bool | int | float | str | None


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """A piece of a line, without a type of its own."""


class Record(msgspec.Struct, frozen=True, kw_only=True, tag_field="type"):
    """A line of the log; its `type` is the struct's tag."""

    def as_json(self) -> dict[str, Any]:
        """The line's object: plain dicts, lists, numbers and strings."""
        plain: dict[str, Any] = msgspec.to_builtins(self)
        return plain


class StageShape(Part, frozen=True, kw_only=True):
    """One exact shape that the plan foresees for a stage."""

    stage: str
    shape: tuple[int, ...]


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


class SessionHeader(Record, frozen=True, kw_only=True, tag="session"):
    """Line 1.

    Args:
        schema: The log's schema; a reader refuses a later one.
        model: The model's registry name.
        runtime: "cadence", "library" or "stock".
        device: The device in words ("cpu, 2 threads").
        wall_clock: When the session began, ISO 8601 with its zone.
        versions: Package name to version.
        audio: Source, rates and pace.
        plan: Shapes, cycle and bytes.
        settings: Whatever changes bits or time: tf32, sdpa, threads, seed ...
    """

    schema: Count = SCHEMA
    model: str
    runtime: str
    device: str
    wall_clock: str
    versions: dict[str, str]
    audio: AudioSetup
    plan: PlanSummary
    settings: dict[str, Scalar]


class StepRecord(Part, frozen=True, kw_only=True):
    """One step inside a stage, where the stage has a finer deadline than the unit's (Moshi's 80 ms frames)."""

    start_ns: int
    deadline_ns: int
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
    start_ns: int
    wall_ms: Milliseconds
    device_start_ns: int | None
    device_ms: Milliseconds | None
    ticks: Count
    shape: tuple[int, ...]
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
    temperature_c: int
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


class UnitRecord(Record, frozen=True, kw_only=True, tag="unit", omit_defaults=True):
    """One cadence of work.

    Args:
        index: The unit's number, from 0.
        event: LISTEN, SPEAK or FLUSH.
        arrival_ns: When its chunk was whole.
        start_ns: When work on it began.
        finish_ns: When its audio was in the playout and its work was done.
        deadline_ns: When the next chunk is due.
        response_delay_ms: End of the user's last voiced sample to the first audible sample of the answer that begins
            in this unit; left out where none begins.
        stages: In the order they began.
        memory: Bytes as it finished.
        gpu: Left out where there is none.
        audio: Sound's counts.
    """

    index: Count
    event: EventName
    arrival_ns: int
    start_ns: int
    finish_ns: int
    deadline_ns: int
    response_delay_ms: float | None = None
    stages: tuple[StageRecord, ...]
    memory: MemoryRecord
    gpu: GpuRecord | None = None
    audio: AudioRecord

    @property
    def slack_ms(self) -> float:
        """Deadline minus finish."""
        return (self.deadline_ns - self.finish_ns) / 1e6

    @property
    def overrun(self) -> bool:
        """Whether it finished after its deadline."""
        return self.finish_ns > self.deadline_ns

    @property
    def wall_ms(self) -> float:
        """From the start of its work to the end."""
        return (self.finish_ns - self.start_ns) / 1e6

    @property
    def cadence_ms(self) -> float:
        """From its chunk's arrival to its deadline."""
        return (self.deadline_ns - self.arrival_ns) / 1e6

    def as_json(self) -> dict[str, Any]:
        line: dict[str, Any] = {}
        for key, value in super().as_json().items():
            line[key] = value
            if key == "deadline_ns":
                line |= {"slack_ms": self.slack_ms, "overrun": self.overrun}
        return line


class Fault(Record, frozen=True, kw_only=True, tag="fault"):
    """Something went wrong and was survived, or ended the session.

    Args:
        index: The unit it fell into; None outside any.
        at_ns: When.
        stage: The stage that raised or whose audio was not finite; None where no stage is to blame.
        message: One line in words.
    """

    index: Count | None
    at_ns: int
    stage: str | None
    message: str


class Device(Record, frozen=True, kw_only=True, tag="device"):
    """A device came, went or changed.

    Args:
        at_ns: When.
        name: The device, as its system calls it.
        message: One line in words.
    """

    at_ns: int
    name: str
    message: str


class Reset(Record, frozen=True, kw_only=True, tag="reset"):
    """State was forgotten and its memory given back.

    Args:
        index: The unit after which it happened.
        at_ns: When.
        lifetime: Whose end it was: "session", "turn" or "limit".
        freed_bytes: Committed memory given back.
    """

    index: Count | None
    at_ns: int
    lifetime: LifetimeName
    freed_bytes: Count


class Transcript(Record, frozen=True, kw_only=True, tag="transcript"):
    """A line of the conversation; in the log only where its owner asked for it.

    Args:
        index: The unit that brought it.
        who: "user" or "agent".
        text: The words.
        kind: "heard", "said" or "unsaid".
        source: Of an answer: "intent" or "model"; else empty.
    """

    index: Count
    who: str
    text: str
    kind: str
    source: str = ""


class End(Record, frozen=True, kw_only=True, tag="end"):
    """The last line: why it ended, and totals.

    Args:
        reason: "finished", "stopped", or "failed: " and what failed.
        units: How many units ran; `listen`, `speak` and `flush` of them by event.
        listen: Units that listened.
        speak: Units that spoke.
        flush: Units that closed a turn.
        overruns: Units that finished after their deadline.
        least_slack_ms: The closest shave; None without a unit.
        faults: Fault lines written.
        resets: Reset lines written.
        overflows: Sum over the units, as are the following.
        underflows: Sum.
        gap_ms: Sum.
        dropped_ms: Sum.
    """

    reason: str
    units: Count
    listen: Count
    speak: Count
    flush: Count
    overruns: Count
    least_slack_ms: float | None
    faults: Count
    resets: Count
    overflows: Count
    underflows: Count
    gap_ms: Milliseconds
    dropped_ms: Milliseconds


AnyRecord = SessionHeader | UnitRecord | Fault | Device | Reset | Transcript | End
