import csv
from pathlib import Path

import msgspec
import pytest

from engine.errors import BadLog
from engine.export import write_csv
from engine.timing import GpuRecord, UnitRecord, read_log
from tests.made_up_sessions import conversation, unit, write


def table(tmp_path: Path, records: list) -> list[dict[str, str]]:
    write_csv(read_log(write(tmp_path / "log.jsonl", records)), tmp_path / "log.csv")
    with (tmp_path / "log.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_a_row_a_unit_and_a_column_a_stage(tmp_path: Path) -> None:
    records = conversation(60, overruns=True)
    rows = table(tmp_path, records)
    units = [record for record in records if isinstance(record, UnitRecord)]
    assert len(rows) == len(units)
    for row, one in zip(rows, units, strict=True):
        assert (int(row["index"]), row["event"], row["overrun"]) == (one.index, one.event, str(int(one.overrun)))
        assert float(row["slack_ms"]) == pytest.approx(one.slack_ms)
        for name in ("voice_activity", "hearing", "words", "voice"):
            ran = [stage.wall_ms for stage in one.stages if stage.name == name]
            assert (row[f"stage_{name}_ms"] == "") == (not ran)
            assert float(row[f"stage_{name}_ms"] or 0) == pytest.approx(sum(ran))
        assert int(row["memory_rss_bytes"]) == one.memory.rss
        assert row["memory_torch_allocated_bytes"] == ""
    assert "stage_words_device_ms" not in rows[0]
    assert "gpu_clock_mhz" not in rows[0]


def test_a_device_with_a_clock_of_its_own_has_columns_of_its_own(tmp_path: Path) -> None:
    first, second = unit(0), unit(1)
    (stage,) = first.stages
    stage = msgspec.structs.replace(stage, device_start_ns=5, device_ms=3.5)
    gpu = GpuRecord(clock_mhz=1980, temperature_c=61)
    rows = table(tmp_path, [msgspec.structs.replace(first, stages=(stage, stage), gpu=gpu), second])
    assert [row["stage_voice_activity_device_ms"] for row in rows] == ["7.0", ""]
    assert [row["gpu_clock_mhz"] for row in rows] == ["1980", ""]


def test_a_session_without_units_is_a_head_without_rows(tmp_path: Path) -> None:
    assert table(tmp_path, []) == []
    assert (tmp_path / "log.csv").read_text().startswith("index,event,")


def test_a_log_with_a_wrong_line_makes_no_file(tmp_path: Path) -> None:
    path = write(tmp_path / "log.jsonl", conversation(10))
    path.write_bytes(path.read_bytes() + b"{}\n")
    with pytest.raises(BadLog):
        write_csv(read_log(path), tmp_path / "log.csv")
    assert not (tmp_path / "log.csv").exists()
