"""The timing log's records, schema 1, as frozen structs: what a session says about itself, a line each.

Field names and nesting are the log's own; `engine/timing.schema.json` states them again for readers in other languages.
Every `_ns` is nanoseconds since the session's start (the arrival of its first chunk), so that unit n's deadline reads
(n+1) cadences and no line tells the machine's uptime. Knows nothing of stages, devices or files. Records are immutable
and hold no arrays: the engine thread makes them and any thread may keep them.
"""

from typing import Annotated, Any

import msgspec

from engine.timing.parts import (
    AudioRecord,
    AudioSetup,
    Count,
    GpuRecord,
    MemoryRecord,
    Milliseconds,
    Nanoseconds,
    PlanSummary,
    Scalar,
    SignedMilliseconds,
    StageRecord,
)

SCHEMA = 1

EventName = Annotated[str, msgspec.Meta(pattern="^(LISTEN|SPEAK|FLUSH)$")]
Digest = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
LifetimeName = Annotated[str, msgspec.Meta(pattern="^(session|turn|limit)$")]


class Record(msgspec.Struct, frozen=True, kw_only=True, tag_field="type"):
    """A line of the log; its `type` is the struct's tag."""

    def as_json(self) -> dict[str, Any]:
        """The line's object: plain dicts, lists, numbers and strings."""
        plain: dict[str, Any] = msgspec.to_builtins(self)
        return plain


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
        voice_sha256: Of the audio that it handed out (float32, little-endian, mono), so that two sessions can be
            compared to the bit; left out where it handed out none, and in live talk, which nobody is to guess at.
        stages: In the order they began.
        memory: Bytes as it finished.
        gpu: Left out where there is none.
        audio: Sound's counts.
    """

    index: Count
    event: EventName
    arrival_ns: Nanoseconds
    start_ns: Nanoseconds
    finish_ns: Nanoseconds
    deadline_ns: Nanoseconds
    response_delay_ms: SignedMilliseconds | None = None
    voice_sha256: Digest | None = None
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
    at_ns: Nanoseconds
    stage: str | None
    message: str


class Device(Record, frozen=True, kw_only=True, tag="device"):
    """A device came, went or changed.

    Args:
        at_ns: When.
        name: The device, as its system calls it.
        message: One line in words.
    """

    at_ns: Nanoseconds
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
    at_ns: Nanoseconds
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
    least_slack_ms: SignedMilliseconds | None
    faults: Count
    resets: Count
    overflows: Count
    underflows: Count
    gap_ms: Milliseconds
    dropped_ms: Milliseconds


AnyRecord = SessionHeader | UnitRecord | Fault | Device | Reset | Transcript | End
