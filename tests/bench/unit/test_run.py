"""The whole unit's benchmark at its tiny size: every part runs, its file holds to the schema, failures are said."""

import json
from pathlib import Path

import jsonschema
import pytest

from app.__main__ import main
from engine.bench.record import SCHEMA
from engine.bench.unit import run
from engine.bench.unit.report import table
from engine.bench.unit.rig import TINY_WINDOW, UnitAsked
from engine.bench.unit.run import ratios, run_unit_bench, succeeded
from tests.bench.pretended import PretendedGpu

pytestmark = pytest.mark.usefixtures("one_thread", "released")


def checked(path: Path) -> dict:
    record = json.loads(path.read_text())
    schema = json.loads(SCHEMA.with_name("unit.schema.json").read_text())
    jsonschema.validate(record, schema, jsonschema.Draft202012Validator)
    return record


@pytest.mark.slow
def test_every_part_runs_and_the_file_holds_what_came_of_it(tmp_path, monkeypatch):
    monkeypatch.setattr(run, "find_place", lambda _: PretendedGpu())
    asked = UnitAsked(
        script="L(S F)", units=4, equal_units=6, prompt_s=2.0, tiny=True, system_tokens=20, window=TINY_WINDOW,
        command="duplexcadence bench x", path=tmp_path / "unit.json", profile=True,
    )  # fmt: skip
    told: list[str] = []

    record = run_unit_bench(asked, told.append)

    assert checked(tmp_path / "unit.json") == record
    assert record["complete"]
    assert succeeded(record)
    assert str(tmp_path) not in (tmp_path / "unit.json").read_text()
    assert "nothing sensible is decided" in record["note"]
    (case,) = record["cases"]
    runtimes = case["runtimes"]
    assert set(runtimes) == {"stock_released", "stock_pinned", "cadence"}
    for figures in runtimes.values():
        assert figures["usual"]["SPEAK"]["units"] + figures["usual"]["FLUSH"]["units"] == 4
        assert figures["worst"]["SPEAK"]["mean_ms"] > 0
        assert figures["language"]["200"]["median"] > 0
        assert figures["speech"]["50"]["host"] > 0
        assert figures["memory"]["state_bytes"] > 0
    ours = runtimes["cadence"]
    assert [ours["language"][past]["equal"] for past in ("50", "200")] == [32] * 2
    assert [ours["speech"][past]["equal"] for past in ("50", "200")] == [25] * 2
    assert ours["usual"]["eager_fallbacks"] == ours["worst"]["eager_fallbacks"] == 0
    assert ours["usual"]["paths"]["llm_decode clocked"] == 4 * 11 + 2
    assert ours["memory"]["within_plan"]
    assert ours["memory"]["addresses_still"]
    assert case["equal"]["equal"] == 6
    assert set(case["kernels"]) == {"language token", "ten ticks of language", "speech token"}
    assert case["ratio"]["usual SPEAK"] > 0
    assert "language 200" in case["ratio"]
    shown = "\n".join(table(record))
    assert record["note"] in shown
    assert "6 of 6 units equal to pinned to the bit" in shown


def test_what_fails_is_said_and_the_rest_goes_on(tmp_path, monkeypatch, capsys):
    def broken(*_):
        raise RuntimeError("the device fell\nover")

    monkeypatch.setitem(run._MEASURES, "tokens", broken)
    path = tmp_path / "unit.json"
    asked = ("bench", "--model", "mini", "--stage", "unit", "--tiny", "--device", "cpu", "--units", "2")

    assert (
        main([*asked, "--script", "(S0)", "--runtime", "cadence", "--parts", "tokens,memory", "--json", str(path)]) == 1
    )

    record = checked(path)
    (case,) = record["cases"]
    assert case["failed"] == {"tokens": "RuntimeError: the device fell"}
    assert case["runtimes"]["cadence"]["memory"]["units"] == 2
    assert "(S0)" in record["command"]
    assert "tokens failed" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--model", "step-audio-2-mini", "whose whole unit is built"),
        ("--parts", "peaks", "tokens, equality, timing, memory"),
        ("--runtime", "graphs", "released, pinned, cadence"),
        ("--prompt-s", "2,3", "one length"),
        ("--script", "LX", "units like LLSSSF"),
        ("--units", "0", "at least one"),
    ],
)
def test_what_is_asked_wrongly_is_refused(option, value, said, capsys):
    asked = {"--model": "minicpm-o-4.5", "--stage": "unit", "--device": "cpu", option: value}

    assert main(["bench", "--tiny", *(word for pair in asked.items() for word in pair)]) == 2

    assert said in capsys.readouterr().err


def test_ratios_are_against_the_faster_stock():
    runtimes = {
        "stock_released": {"language": {"200": {"median": 90.0}}, "usual": {"SPEAK": {"mean_ms": 3000.0}}},
        "stock_pinned": {"language": {"200": {"median": 45.0}}, "usual": {"SPEAK": {"mean_ms": 2000.0}}},
        "cadence": {
            "language": {"200": {"median": 9.0}, "1000": {"median": 9.0}, "refused": []},
            "usual": {"SPEAK": {"mean_ms": 400.0}, "paths": {}},
        },
    }
    assert ratios(runtimes) == {"language 200": 5.0, "usual SPEAK": 5.0}


def test_a_difference_is_no_success():
    assert succeeded({"cases": [{"equal": {"units": 3, "equal": 3}}]})
    assert not succeeded({"cases": [{"equal": {"units": 3, "equal": 2}}]})
    assert not succeeded({"cases": [{"failed": {"tokens": "x"}}]})
