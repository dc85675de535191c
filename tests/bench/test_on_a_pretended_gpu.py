"""What the benchmark does on a GPU alone, on a place that pretends to be one: graphs, times, parts of memory."""

import json
import types

import jsonschema
import pytest

from engine.bench import bench, kernels, peaks
from engine.bench.columns import CADENCE, GRAPHS, PINNED
from engine.bench.kernels import Kernels
from engine.bench.record import SCHEMA
from engine.bench.report import readme_block, table
from engine.bench.rig import Asked, Rig
from engine.bench.tails import find_tail
from tests.bench.pretended import HELD, PEAK, PretendedGpu

pytestmark = pytest.mark.usefixtures("one_thread", "released")
ASKED = Asked(
    find_tail("minicpm-o-4.5"),
    tiny=True,
    prompts_s=(2.0,),
    units=2,
    runtimes=(PINNED, CADENCE),
    parts=("floor", "timing", "equality", "beside", "endurance"),
    endurance_units=6,
    command="duplexcadence bench --tiny",
)


@pytest.mark.slow
def test_graphs_are_captured_replayed_and_equal_with_little_memory_too(monkeypatch):
    place = PretendedGpu()
    monkeypatch.setattr(bench, "find_place", lambda _: place)
    monkeypatch.setattr(kernels, "seen", lambda *_: [Kernels("product", 2.0, 1.5), Kernels("copy", 1.0, 0.25)])

    record = bench.run_bench(ASKED, lambda _: None)

    jsonschema.validate(record, json.loads(SCHEMA.read_text()), jsonschema.Draft202012Validator)
    assert bench.succeeded(record)
    (case,) = record["cases"]
    assert place.left == [2 << 30] == [case["equal_low_memory"]["free_bytes"]]
    for found in (case["equal"], case["equal_low_memory"]):
        assert found["equal"] == found["units"]
        assert found["graphs"] == 3 + 3 + 2, (
            "of encoder and flow at three lengths, of the vocoder without and with overlap"
        )
        # What a short first unit and a flush are made of is met eagerly once, then captured, then replayed.
        assert found["graphs_in_slack"] == found["eager_fallbacks"] > 0
        assert found["refused"] == []
    ours = case["runtimes"][CADENCE]
    assert ours["eager_fallbacks"] == 0
    assert ours["device_busy_ms"] == 1.75
    assert ours["median_ms"] <= ours["p95_ms"] <= ours["p99_ms"]
    assert case["beside"]["p99_beside_ms"] > 0
    assert case["endurance"]["grown_bytes"]["device_used"] == 0
    assert any("with 2 GiB of memory left" in line for line in table(record))
    assert "- |" in readme_block([record]), "what was not measured is left open"


def test_memory_is_split_into_what_it_is_taken_for(monkeypatch):
    monkeypatch.setattr(peaks, "find_place", lambda _: PretendedGpu())

    ours, theirs = (peaks.measure(ASKED, name, 2.0) for name in (CADENCE, PINNED))

    for found in (ours, theirs):
        parts = ("weight_bytes", "state_bytes", "activation_bytes", "graph_bytes", "other_bytes")
        assert sum(found[part] for part in parts) == found["peak_bytes"]
        assert found["activation_bytes"] == PEAK - HELD
    assert ours["graph_bytes"] > 0
    assert ours["within_plan"]


def test_the_packages_graphs_are_counted_as_they_are_replayed(rig):
    column, prompt = rig.stock_graphs(), rig.prompt(2.0)
    column.prepare(prompt)
    flow, replayed = column.driver.own.flow, []

    def turn_on(_: bool) -> None:
        print("it says so on standard output")  # noqa: T201
        estimator = flow.decoder.estimator
        estimator.max_size_chunk[48] = 500
        estimator.graph_chunk |= {
            frames: types.SimpleNamespace(replay=lambda frames=frames: replayed.append(frames)) for frames in (30, 48)
        }

    flow.scatter_cuda_graph = turn_on
    column.capture()
    for frames in (48, 48, 30):
        flow.decoder.estimator.graph_chunk[frames].replay()

    assert replayed == [48, 48, 30]
    assert column.reach == 500
    assert column.figures()["replays"] == 3
    assert column.figures()["graphs"] == 2
    assert column.name == GRAPHS


def test_on_a_gpu_at_released_sizes_no_column_is_missing(monkeypatch):
    monkeypatch.setattr("engine.bench.rig.make_up", lambda *_: types.SimpleNamespace(to=lambda _: None))
    rig = Rig(Asked(find_tail("mini")), PretendedGpu())
    assert rig.missing == {}
    assert rig.runtimes == ("stock_released", "stock_pinned", "stock_graphs", "cadence")
