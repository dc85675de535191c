"""A timing log as CSV: a row a unit, a column a stage, for a spreadsheet or pandas. Any thread."""

import csv
from pathlib import Path
from typing import TextIO

import msgspec

from engine.cadence.statistics import stage_times_ms
from engine.export.atomic import whole_file
from engine.timing import AudioRecord, GpuRecord, Log, MemoryRecord, UnitRecord

Cell = str | int | float | None

FIXED = (
    "index", "event", "arrival_ms", "start_ms", "finish_ms", "deadline_ms", "work_ms", "slack_ms", "overrun",
    "response_delay_ms",
)  # fmt: skip
MEMORY = MemoryRecord.__struct_fields__
AUDIO = AudioRecord.__struct_fields__
GPU = GpuRecord.__struct_fields__


def write_csv(log: Log, path: Path) -> None:
    """Write the log's units to `path`; a cell is empty where nothing was measured or a stage did not run.

    Columns: time in milliseconds since the session's start; `stage_NAME_ms` host time, `stage_NAME_device_ms` device
    time where the device has a clock of its own; `memory_..._bytes`; `audio_...` and `gpu_...` as in the log.

    Raises:
        BadLog: A line is not schema 1; nothing is written.
        NoRoom: The file cannot be written.
    """
    stages: dict[str, None] = {}
    on_device, has_gpu = False, False
    for unit in log.units():
        stages.update(dict.fromkeys(stage.name for stage in unit.stages))
        on_device = on_device or any(stage.device_ms is not None for stage in unit.stages)
        has_gpu = has_gpu or unit.gpu is not None
    with whole_file(path) as part, part.open("w", newline="", encoding="utf-8") as file:
        _write(log, file, list(stages), on_device, has_gpu)


def _write(log: Log, file: TextIO, stages: list[str], on_device: bool, has_gpu: bool) -> None:
    writer = csv.writer(file)
    head = [*FIXED, *(f"stage_{name}_ms" for name in stages)]
    head += [f"stage_{name}_device_ms" for name in stages] if on_device else []
    head += [f"memory_{name}_bytes" for name in MEMORY] + [f"audio_{name}" for name in AUDIO]
    head += [f"gpu_{name}" for name in GPU] if has_gpu else []
    writer.writerow(head)
    for unit in log.units():
        host, device = stage_times_ms(unit), _device_times_ms(unit)
        row: list[Cell] = [*fixed_cells(unit), *(host.get(name) for name in stages)]
        row += [device.get(name) for name in stages] if on_device else []
        row += [*msgspec.structs.astuple(unit.memory), *msgspec.structs.astuple(unit.audio)]
        if has_gpu:
            row += msgspec.structs.astuple(unit.gpu) if unit.gpu else [None] * len(GPU)
        writer.writerow(row)


def fixed_cells(unit: UnitRecord) -> list[Cell]:
    """One unit's cells under `FIXED`."""
    instants = (unit.arrival_ns, unit.start_ns, unit.finish_ns, unit.deadline_ns)
    return [
        unit.index,
        str(unit.event),
        *(instant / 1e6 for instant in instants),
        unit.wall_ms,
        unit.slack_ms,
        int(unit.overrun),
        unit.response_delay_ms,
    ]


def _device_times_ms(unit: UnitRecord) -> dict[str, float]:
    times: dict[str, float] = {}
    for stage in unit.stages:
        if stage.device_ms is not None:
            times[stage.name] = times.get(stage.name, 0.0) + stage.device_ms
    return times
