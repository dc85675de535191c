"""The benchmark of tails that are windows: every part on a CPU, graphs on a place that pretends to be a GPU."""

import json
from pathlib import Path

import jsonschema
import pytest
import torch

from app.__main__ import main
from engine.bench import kernels
from engine.bench.kernels import Kernels
from engine.bench.record import SCHEMA
from engine.bench.report import readme_block
from engine.bench.windowed import run
from engine.bench.windowed.run import WindowedAsked, run_windowed
from engine.bench.windowed.tails import TAILS, windowed_tail
from engine.errors import AskedWrongly
from engine.models.registry import find
from engine.plan import Script
from tests.bench.pretended import PretendedGpu

MODELS = [tail.model for tail in TAILS]
CPU = torch.device("cpu")
pytestmark = pytest.mark.usefixtures("one_thread")


def checked(record: dict) -> dict:
    jsonschema.validate(record, json.loads(SCHEMA.read_text()), jsonschema.Draft202012Validator)
    (case,) = record["cases"]
    return case


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
def test_every_part_runs_and_the_file_holds_what_came_of_it(tmp_path: Path, model, capsys):
    path = tmp_path / "bench.json"

    asked = ["bench", "--model", model, "--tiny", "--device", "cpu", "--units", "2", "--runtime", "pinned,cadence"]
    assert main([*asked, "--json", str(path)]) == 0

    record = json.loads(path.read_text())
    case = checked(record)
    assert record["complete"]
    assert case["equal"]["equal"] == case["equal"]["units"] == 16
    assert case["equal"]["addresses_still"]
    assert all(figures["peak_bytes"] > 0 for figures in case["runtimes"].values())
    assert case["runtimes"]["cadence"]["within_plan"]
    if "stream" in case["runtimes"]:
        whole = case["runtimes"]["stream"]["against_whole"]
        assert whole["samples"] == whole["whole_samples"]
        assert 0 < whole["largest_difference"] < 0.01 < whole["loudness"]
    told = capsys.readouterr()
    assert "16 of 16 units equal" in told.out
    assert "not measured of a tail of windows: endurance, beside, floor" in told.err


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
def test_graphs_are_captured_replayed_and_equal_with_little_memory_too(monkeypatch, model):
    place = PretendedGpu()
    monkeypatch.setattr(run, "find_place", lambda _: place)
    monkeypatch.setattr(kernels, "seen", lambda *_: [Kernels("product", 2.0, 1.5)])

    record = run_windowed(
        WindowedAsked(model, units=2, tiny=True, parts=("timing", "equality"), command="duplexcadence bench --tiny"),
        lambda _: None,
    )

    case = checked(record)
    assert place.left == [2 << 30] == [case["equal_low_memory"]["free_bytes"]]
    for found in (case["equal"], case["equal_low_memory"]):
        assert found["equal"] == found["units"] == 16
        assert found["graphs"] > 0
        # What a short first unit and a flush are made of is met eagerly once, then captured, then replayed.
        assert found["graphs_in_slack"] == found["eager_fallbacks"] > 0
        assert found["refused"] == []
    assert case["runtimes"]["cadence"]["eager_fallbacks"] == 0
    assert model in readme_block([record])


def test_one_changed_number_is_seen(monkeypatch):
    asked = WindowedAsked(MODELS[0], tiny=True, device="cpu", parts=("equality",), command="duplexcadence bench x")
    changed = iter([False] * 5 + [True] + [False] * 50)

    def say(self, second, say=run.Released.say):
        sounds = say(self, second)
        if sounds and next(changed):
            sounds[0][0, 7] += 1e-6
        return sounds

    monkeypatch.setattr(run.Released, "say", say)

    found = checked(run_windowed(asked, lambda _: None))["equal"]

    assert found["equal"] == found["units"] - 1
    assert "sound of window 0" in found["first_difference"]


@pytest.mark.parametrize("model", MODELS)
def test_what_is_said_is_what_the_plan_foresees(model):
    tail = windowed_tail(model)(True)
    script = tail.turn(3)
    units = Script.parse(script).cycle
    planned = tail.plan(tail.ways[0], script)

    for second in tail.seconds(units, CPU):
        unit = planned.unit(second.index)
        stage = next(name for name in unit.stages if name != "speech")
        assert [one.codes.shape[-1] for one in second.windows] == [one.fed for one in unit.stages[stage].launches]
        assert second.ends == (unit.event == "F")


def test_models_are_named_as_commands_name_them():
    assert all(find(model).name == model for model in MODELS)
    with pytest.raises(AskedWrongly, match="no one model named 'qwen'"):
        windowed_tail("qwen")
