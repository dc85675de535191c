"""Sessions that never ran, for tests of what is read from a log: realistic ones from a seed, and any at all.

Times follow POCKET.md's budget: voice activity in every unit, hearing and words where a question ends, voice where an
answer is spoken.
"""

import hashlib
import random
from collections.abc import Iterable
from pathlib import Path

import msgspec
from hypothesis import strategies as st

from engine.timing import (
    AudioRecord,
    AudioSetup,
    Device,
    Fault,
    GpuRecord,
    LogWriter,
    MemoryRecord,
    PlanSummary,
    Record,
    Reset,
    SessionHeader,
    StageRecord,
    StageShape,
    StepRecord,
    Transcript,
    UnitRecord,
)

SECOND = 1_000_000_000
MS = 1_000_000


def header(model: str = "pocket", runtime: str = "cadence", device: str = "cpu, 2 threads") -> SessionHeader:
    return SessionHeader(
        model=model,
        runtime=runtime,
        device=device,
        wall_clock="2026-12-01T10:00:00+00:00",
        versions={"duplexcadence": "0.1.0", "torch": "2.13.0"},
        audio=AudioSetup(input_rate_hz=16000, output_rate_hz=24000, source="file", realtime=True),
        plan=PlanSummary(shapes=(StageShape(stage="hearing", shape=(1, 80, 500)),), cycle=1, bytes=48 << 20),
        settings={"threads": 2, "seed": 7, "sdpa": "math"},
    )


def stage(name: str, start_ns: int, wall_ms: float, ticks: int = 1, path: str = "eager") -> StageRecord:
    return StageRecord(
        name=name,
        start_ns=start_ns,
        wall_ms=wall_ms,
        device_start_ns=None,
        device_ms=None,
        ticks=ticks,
        shape=(1, ticks),
        path=path,
    )


def unit(
    index: int,
    event: str = "LISTEN",
    work: Iterable[tuple[str, float]] = (("voice_activity", 40.0),),
    *,
    late_ms: float = 0.0,
    cadence_ns: int = SECOND,
    response_delay_ms: float | None = None,
    rss: int = 900 << 20,
    committed: int = 8 << 20,
    audio: AudioRecord | None = None,
    voice: bytes | None = None,
) -> UnitRecord:
    """A unit that begins `late_ms` after its chunk came and does `work`, stage after stage, 0.2 ms between them."""
    arrival = index * cadence_ns
    now = start = arrival + int(late_ms * MS) + 300_000
    stages = []
    for name, wall_ms in work:
        stages.append(stage(name, now, wall_ms))
        now += int(wall_ms * MS) + 200_000
    return UnitRecord(
        index=index,
        event=event,
        arrival_ns=arrival,
        start_ns=start,
        finish_ns=now + 400_000,
        deadline_ns=arrival + cadence_ns,
        response_delay_ms=response_delay_ms,
        voice_sha256=None if voice is None else hashlib.sha256(voice).hexdigest(),
        stages=tuple(stages),
        memory=MemoryRecord(arena_reserved=64 << 20, arena_committed=committed, rss=rss),
        audio=audio or AudioRecord(),
    )


def conversation(seconds: int = 120, seed: int = 1, overruns: bool = False, speed: float = 1.0) -> list[Record]:
    """Turns of a few seconds: a question, an answer of one to five seconds, a pause; now and then a barge-in."""
    random_ = random.Random(seed)
    records: list[Record] = []
    late_ms, rss, committed, index, voice_end_ns = 0.0, 905 << 20, 6 << 20, 0, 0

    def add(event: str, work: list[tuple[str, float]], delay: float | None = None, voice_ms: float = 0.0) -> None:
        nonlocal late_ms, index, voice_end_ns
        work = [(name, ms * speed * random_.uniform(0.85, 1.2)) for name, ms in work]
        if overruns and event == "SPEAK" and random_.random() < 0.06:
            work.append(("words", 780.0 * random_.uniform(0.6, 1.3)))
        gap = 60.0 if late_ms > 0 and event == "SPEAK" else 0.0
        done = unit(
            index,
            event,
            work,
            late_ms=late_ms,
            response_delay_ms=delay,
            rss=rss + random_.randrange(3 << 20),
            committed=committed,
        )
        queued_ms = max(0, voice_end_ns - done.finish_ns) / MS + voice_ms
        if voice_ms:
            voice_end_ns = max(done.deadline_ns, done.finish_ns, voice_end_ns) + int(voice_ms * MS)
        audio = AudioRecord(playout_ms=queued_ms, gap_ms=gap, underflows=int(gap > 0))
        done = msgspec.structs.replace(done, audio=audio)
        records.append(done)
        late_ms = max(0.0, -done.slack_ms)
        index += 1

    while index < seconds:
        for _ in range(random_.randrange(1, 4)):
            add("LISTEN", [("voice_activity", 42)])
        add("LISTEN", [("voice_activity", 42), ("hearing", 290)])
        for turn_unit in range(random_.randrange(1, 6)):
            first = turn_unit == 0
            heard = [("hearing", 280.0), ("words", 240.0)] if first else [("words", 190.0)]
            committed = min(committed + (1 << 20), 30 << 20)
            delay = random_.uniform(1350, 2600) if first else None
            add("SPEAK", [("voice_activity", 42), *heard, ("voice", 130)], delay, voice_ms=1000.0)
        add("FLUSH", [("voice_activity", 42), ("voice", 30)], voice_ms=random_.uniform(100, 700))
        records.append(
            Reset(index=index - 1, at_ns=index * SECOND - MS, lifetime="turn", freed_bytes=committed - (6 << 20))
        )
        committed = 6 << 20
    return records


def write(path: Path, records: Iterable[Record], head: SessionHeader | None = None, transcript: bool = False) -> Path:
    """Write them as a session would; a disk that fails is a test that fails."""

    def lost(error: Exception) -> None:
        raise error

    with LogWriter(path, head or header(), transcript=transcript, on_lost=lost) as log:
        for record in records:
            log.write(record)
    return path


numbers = st.floats(0, 1e7, allow_nan=False, allow_infinity=False)
counts = st.integers(0, 2**50)
instants = st.integers(-(2**50), 2**50)
texts = st.text(st.characters(exclude_categories=()), max_size=20)
shapes = st.lists(st.integers(0, 2**31), max_size=4).map(tuple)
steps = st.builds(StepRecord, start_ns=instants, deadline_ns=instants, wall_ms=numbers)
stages = st.builds(
    StageRecord,
    name=texts,
    start_ns=instants,
    wall_ms=numbers,
    device_start_ns=st.none() | instants,
    device_ms=st.none() | numbers,
    ticks=counts,
    shape=shapes,
    path=st.sampled_from(["graph", "clocked", "seam", "eager", "stock"]),
    steps=st.lists(steps, max_size=3).map(tuple),
)
memories = st.builds(
    MemoryRecord,
    arena_reserved=counts,
    arena_committed=counts,
    torch_allocated=st.none() | counts,
    torch_reserved=st.none() | counts,
    graphs=st.none() | counts,
    device_used=st.none() | counts,
    rss=st.none() | counts,
)
audios = st.builds(
    AudioRecord, overflows=counts, underflows=counts, gap_ms=numbers, dropped_ms=numbers, playout_ms=numbers
)
events = st.sampled_from(["LISTEN", "SPEAK", "FLUSH"])
units = st.builds(
    UnitRecord,
    index=counts,
    event=events,
    arrival_ns=instants,
    start_ns=instants,
    finish_ns=instants,
    deadline_ns=instants,
    response_delay_ms=st.none() | numbers,
    voice_sha256=st.none() | st.binary(min_size=32, max_size=32).map(bytes.hex),
    stages=st.lists(stages, max_size=4).map(tuple),
    memory=memories,
    gpu=st.none() | st.builds(GpuRecord, clock_mhz=counts, temperature_c=st.integers(-50, 150), throttle=texts),
    audio=audios,
)
records = st.one_of(
    units,
    st.builds(Fault, index=st.none() | counts, at_ns=instants, stage=st.none() | texts, message=texts),
    st.builds(Device, at_ns=instants, name=texts, message=texts),
    st.builds(
        Reset,
        index=st.none() | counts,
        at_ns=instants,
        lifetime=st.sampled_from(["session", "turn", "limit"]),
        freed_bytes=counts,
    ),
    st.builds(
        Transcript,
        index=counts,
        who=st.sampled_from(["user", "agent"]),
        text=texts,
        kind=st.sampled_from(["heard", "said", "unsaid"]),
        source=st.sampled_from(["", "intent", "model"]),
    ),
)
