"""The benchmark whole, at its tiny size: every part runs, its file holds to the schema, and what fails is said."""

import json
from pathlib import Path

import jsonschema
import pytest

from app.__main__ import main
from engine.bench import bench, measures
from engine.bench.record import SCHEMA
from engine.bench.rig import Asked
from engine.bench.tails import find_tail
from engine.errors import MissingWeights

TINY = ("bench", "--tiny", "--device", "cpu", "--prompt-s", "2")
pytestmark = pytest.mark.usefixtures("one_thread")


def checked(path: Path) -> dict:
    record = json.loads(path.read_text())
    jsonschema.validate(record, json.loads(SCHEMA.read_text()), jsonschema.Draft202012Validator)
    return record


@pytest.mark.slow
@pytest.mark.usefixtures("released")
def test_every_part_runs_and_the_file_holds_what_came_of_it(tmp_path, capsys):
    path = tmp_path / "bench.json"
    asked = (*TINY, "--model", "minicpm-o-4.5", "--units", "2", "--endurance-units", "22", "--json", str(path))

    assert main(list(asked)) == 0

    record = checked(path)
    assert record["complete"]
    assert str(tmp_path) not in path.read_text()
    (case,) = record["cases"]
    runtimes = case["runtimes"]
    assert set(runtimes) == {"stock_released", "stock_pinned", "cadence"}
    assert set(record["missing"]) == {"stock_graphs"}
    for figures in runtimes.values():
        assert figures["units"] == 2
        assert "median_ms" not in figures, "a CPU's times mean nothing elsewhere"
        assert figures["peak_bytes"] > 0
    assert runtimes["cadence"]["within_plan"]
    assert runtimes["cadence"]["state_bytes"] < runtimes["stock_pinned"]["state_bytes"] / 2
    for found in (case["equal"], case["endurance"]["after"]):
        assert found["equal"] == found["units"] > 10
        assert found["first_difference"] is None
    assert case["equal"]["addresses_still"]
    assert case["endurance"]["addresses_still"]
    assert case["endurance"]["grown_bytes"]["arena_committed"] == 0
    assert case["beside"]["callbacks"] > 0
    assert case["beside"]["paintings"] > 0
    assert case["floor"]["bytes"] > record["cases"][0]["runtimes"]["cadence"]["weight_bytes"]
    out, err = capsys.readouterr()
    assert "units equal" in out.splitlines()[-2]
    assert "beside" in err


@pytest.mark.slow
def test_without_the_released_package_ours_stands_in_for_it_and_says_so(tmp_path, monkeypatch, capsys):
    def nowhere() -> Path:
        raise MissingWeights("the wheel cannot be had", "a network")

    monkeypatch.setattr("engine.bench.rig.fetched_wheel", nowhere)
    path = tmp_path / "bench.json"
    asked = (*TINY, "--model", "mini", "--units", "2", "--parts", "timing,equality", "--json", str(path))

    assert main([*asked, "--profile"]) == 0

    record = checked(path)
    assert set(record["missing"]) == {"stock_released", "stock_pinned", "stock_graphs"}
    runtimes = record["cases"][0]["runtimes"]
    assert set(runtimes) == {"transcription", "cadence"}
    assert {"product", "convolution", "attention"} <= {one["kind"] for one in runtimes["cadence"]["kernels"]}
    assert "as the transcription" in capsys.readouterr().out


def test_what_fails_is_named_and_the_rest_goes_on(tmp_path, monkeypatch, capsys):
    def fails(*_: object) -> None:
        raise RuntimeError("CUDA error: out of it\nand much more")

    monkeypatch.setitem(measures.MEASURES, "timing", fails)
    path = tmp_path / "bench.json"

    assert main([*TINY, "--model", "mini", "--parts", "floor,timing", "--json", str(path)]) == 1

    record = checked(path)
    assert record["cases"][0]["failed"] == {"timing": "RuntimeError: CUDA error: out of it"}
    assert record["cases"][0]["floor"]["bytes"] > 0
    assert "timing failed: RuntimeError: CUDA error: out of it" in capsys.readouterr().out


def test_what_was_measured_survives_a_crash(tmp_path, monkeypatch):
    def crashes(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setitem(measures.MEASURES, "timing", crashes)
    path = tmp_path / "bench.json"
    asked = Asked(
        find_tail("mini"), device="cpu", tiny=True, prompts_s=(2.0,), command="duplexcadence bench x", path=path
    )

    with pytest.raises(KeyboardInterrupt):
        bench.run_bench(asked, lambda _: None)

    record = checked(path)
    assert not record["complete"]
    assert record["cases"][0]["floor"]["bytes"] > 0


def test_one_unequal_unit_is_a_failure():
    same, other = {"units": 3, "equal": 3}, {"units": 3, "equal": 2}
    assert bench.succeeded({"cases": [{"equal": same}]})
    assert not bench.succeeded({"cases": [{"equal": same}, {"equal_low_memory": other}]})
    assert not bench.succeeded({"cases": [{"equal": same, "endurance": {"after": other}}]})


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        (("--model", "nobody"), "no model named 'nobody'"),
        (("--model", ""), "no model named ''"),
        (("--model", "mini", "--units", "0"), "0 units to measure"),
        (("--model", "mini", "--endurance-units", "1"), "an endurance of 1 units"),
        (("--model", "mini", "--runtime", "fast"), "--runtime fast"),
        (("--model", "mini", "--parts", "timing,"), "--parts timing,"),
        (("--model", "mini", "--prompt-s", "0"), "--prompt-s 0"),
        (("--model", "mini", "--prompt-s", "nan"), "--prompt-s nan"),
        (("--model", "mini", "--prompt-s", "3,x"), "--prompt-s 3,x"),
        (("--model", "mini", "--json", "no/such/folder/b.json"), "a file in a folder that exists"),
        (("--model", "mini", "--json", "b.txt"), "a name that ends in .json"),
    ],
)
def test_what_is_asked_wrongly_is_refused_in_one_line(capsys, asked, says):
    assert main([*TINY, *asked]) == 2
    line = capsys.readouterr().err.strip()
    assert line.startswith("duplexcadence: ")
    assert says in line
    assert "\n" not in line


def test_without_a_gpu_it_says_how_to_go_on(capsys, monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert main(["bench", "--model", "mini", "--tiny"]) == 2
    assert "--device cpu" in capsys.readouterr().err
