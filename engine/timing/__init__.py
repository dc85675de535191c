"""The timing log: its records, the writer that a session holds, and the reader.

Never imports torch. `records` and `parts` say what is in a line; `engine/timing.schema.json` says it as JSON Schema.
"""

from engine.timing.parts import (
    AudioRecord,
    AudioSetup,
    GpuRecord,
    MemoryRecord,
    PlanSummary,
    StageRecord,
    StageShape,
    StepRecord,
)
from engine.timing.reader import Log, read_log
from engine.timing.records import (
    SCHEMA,
    AnyRecord,
    Device,
    End,
    Fault,
    Record,
    Reset,
    SessionHeader,
    Transcript,
    UnitRecord,
)
from engine.timing.writer import LogWriter

__all__ = [
    "SCHEMA",
    "AnyRecord",
    "AudioRecord",
    "AudioSetup",
    "Device",
    "End",
    "Fault",
    "GpuRecord",
    "Log",
    "LogWriter",
    "MemoryRecord",
    "PlanSummary",
    "Record",
    "Reset",
    "SessionHeader",
    "StageRecord",
    "StageShape",
    "StepRecord",
    "Transcript",
    "UnitRecord",
    "read_log",
]
