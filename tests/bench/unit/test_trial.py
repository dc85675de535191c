"""A trial says that all is equal where it is, names the stage whose weight is another, and tells the times in words."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from app.__main__ import main
from engine.bench.columns import CADENCE, PINNED
from engine.bench.place import CpuPlace
from engine.bench.unit import trial as trials
from engine.bench.unit.trial import FolderRig, beside_bytes, first_difference, minutes_that_fit
from engine.bench.unit.verdict import LONGEST_MINUTES, Difference, Timed, Trial
from engine.errors import NoRoom
from engine.models.minicpm_o.loading import Loaded, load
from engine.models.minicpm_o.made_up import WholeSizes
from engine.models.minicpm_o.surveying import state_bytes
from engine.models.weights.progress import Quiet
from tests.bench.pretended import PretendedGpu
from tests.golden.released_folder import write_tiny

pytestmark = pytest.mark.usefixtures("one_thread", "released")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny(tmp_path_factory.mktemp("released") / "MiniCPM-o-4_5")


@pytest.fixture(scope="module")
def loaded(folder: Path) -> Loaded:
    return load(folder, torch.device("cpu"))


@pytest.fixture(scope="module")
def question() -> torch.Tensor:
    return 0.1 * torch.randn(24_000, generator=torch.Generator().manual_seed(5))


class Spoiled(FolderRig):
    """One weight is another for the released code."""

    def __init__(self, loaded: Loaded, name: str) -> None:
        super().__init__(loaded, PretendedGpu() if name.startswith("llm.") else CpuPlace())
        self._name = name

    def stock(self, name, outside):
        weights, made = self.weights, self.made
        tensors = {**weights, **made.flow, **made.vocoder}
        spoiled = {self._name: tensors[self._name] * 1.02 + 0.02}
        if self._name in weights:
            self.weights = weights | spoiled
        else:
            half = "flow" if self._name in made.flow else "vocoder"
            self.made = replace(made, **{half: {**getattr(made, half), **spoiled}})
        try:
            return super().stock(name, outside)
        finally:
            self.weights, self.made = weights, made


@pytest.mark.slow
@pytest.mark.parametrize(
    ("weight", "stage", "second"),
    [
        ("apm.conv1.weight", "audio encoder", 1),
        ("audio_projection_layer.linear2.bias", "audio encoder", 1),
        ("llm.model.layers.1.mlp.down_proj.weight", "language model", 1),
        ("llm.lm_head.weight", "language model", 1),
        ("tts.projector_semantic.linear2.weight", "speech decoder", 4),
        ("encoder_proj.bias", "flow encoder", 4),
        ("decoder.estimator.final_layer.linear.bias", "flow", 4),
        ("conv_post.bias", "vocoder", 4),
    ],
)
@torch.inference_mode()
def test_a_weight_of_one_stage_that_is_another_names_that_stage(loaded, question, weight, stage, second):
    assert first_difference(Spoiled(loaded, weight), question) == Difference(stage, second)


@pytest.mark.slow
@torch.inference_mode()
def test_from_graphs_as_a_gpu_runs_it_all_is_equal_too(loaded, question):
    assert first_difference(FolderRig(loaded, PretendedGpu()), question) is None


@pytest.mark.slow
def test_on_a_folder_as_released_all_is_equal_and_a_report_is_written(folder, tmp_path, capsys):
    report = tmp_path / "sent.json"
    assert main(["models", "check", str(folder), "--device", "cpu", "--trial", "--report", str(report)]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("this machine: every bit is the released code's; SPEAK ")
    assert last.endswith(f"; report: {report}")
    text = report.read_text()
    told = json.loads(text)
    assert (told["model"], told["trial"], told["equal"], told["first_difference"]) == ("minicpm-o-4.5", 1, True, None)
    assert told["events"] == [*["LISTEN"] * 3, *["SPEAK"] * 4, "FLUSH", *["LISTEN"] * 2]
    assert {name: len(times) for name, times in told["seconds_ms"].items()} == {CADENCE: 10, PINNED: 10}
    assert str(tmp_path) not in text
    assert str(folder.parent) not in text


def test_what_the_released_code_takes_beside_the_weights_must_fit_too(folder):
    with pytest.raises(NoRoom, match=r"this machine has 20\.0 MiB to spare; needed: .* for a trial, with what the"):
        trials.try_folder(
            folder,
            torch.device("cpu"),
            np.zeros(16_000, np.float32),
            available_bytes=lambda: (20 << 20) + 1,
            progress=Quiet(),
        )
    assert 2.5e9 < beside_bytes(WholeSizes()) < 3e9


def told(*walls_ms: float, difference: Difference | None = None, minutes: int | None = 40) -> Trial:
    seconds = tuple(Timed("LISTEN" if wall_ms < 100 else "SPEAK", wall_ms) for wall_ms in walls_ms)
    return Trial("NVIDIA X", difference, {CADENCE: seconds, PINNED: seconds}, minutes, "this card")


@pytest.mark.parametrize(
    ("trial", "passed", "verdict"),
    [
        (
            told(40, 600, 610),
            True,
            "this card: every bit is the released code's; SPEAK 0.60 s, LISTEN 40 ms, no overrun; there is memory to "
            "talk for 40 minutes",
        ),
        (told(40, 600, minutes=600), True, "talk for more than 10 hours"),
        (told(40, 600, minutes=None), True, "no overrun"),
        (
            told(40, 1400, 1500),
            False,
            "but 2 of 3 seconds took longer than a second: too slow to talk with (SPEAK 1.45",
        ),
        (
            told(40, 600, difference=Difference("flow", 4)),
            False,
            "this card: NOT the released code's bits: the first to differ is the flow, in second 4; send the report",
        ),
    ],
)
def test_the_verdict_is_in_words(trial, passed, verdict):
    assert trial.passed is passed
    assert verdict in trial.verdict()
    assert trial.report()["verdict"] == trial.verdict()
    assert trial.lines()[0].startswith("ours: L0.04 S")


@pytest.mark.slow
def test_the_minutes_that_fit_fit_and_one_more_does_not():
    sizes = WholeSizes()
    needed = sum(state_bytes(sizes, 60 * 25).values())
    assert minutes_that_fit(sizes, needed) == 25
    assert minutes_that_fit(sizes, needed - (1 << 20)) == 24
    assert minutes_that_fit(sizes, sum(state_bytes(sizes, 60).values())) <= 1
    assert minutes_that_fit(sizes, 0) == 0
    assert minutes_that_fit(sizes, 1 << 50) == LONGEST_MINUTES
