"""The released files: tensors by name and shape and nothing else, read without running any of it."""

import os
import pickle
import re

import pytest
import torch

from engine.errors import BadWeights, MissingWeights
from engine.models.layers.hift import HiftSizes
from engine.models.token2wav.checkpoint import Checkpoint, load_checkpoint
from engine.models.token2wav.made_up import TINY
from engine.models.token2wav.shapes import flow_shapes, vocoder_shapes
from engine.models.token2wav.sizes import FlowSizes
from tests.golden.flow_yaml import RELEASED, TINY_YAML

pytestmark = pytest.mark.usefixtures("one_thread")
CPU = torch.device("cpu")


def tensors(shapes) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    return {name: torch.randn(shape, generator=generator) for name, shape in shapes.items()}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "flow.yaml").write_text(TINY_YAML)
    torch.save(tensors(flow_shapes(TINY.flow)), tmp_path / "flow.pt")
    torch.save(tensors(vocoder_shapes(TINY.vocoder)), tmp_path / "hift.pt")
    return tmp_path


def resave(path, change) -> None:
    stored = torch.load(path, weights_only=True)
    change(stored)
    torch.save(stored, path)


def test_names_and_shapes_are_those_of_the_released_modules(tiny):
    flow, vocoder = tiny

    assert {name: tuple(each.shape) for name, each in flow.state_dict().items()} == flow_shapes(TINY.flow)
    assert {name: tuple(each.shape) for name, each in vocoder.state_dict().items()} == vocoder_shapes(TINY.vocoder)


def test_released_sizes_have_the_released_names_and_shapes(released):
    with torch.device("meta"):
        flow = released.flow.CausalMaskedDiffWithXvec(
            vocab_size=6561,
            encoder=released.conformer.UpsampleConformerEncoderV2(512, 512, num_blocks=6, attention_heads=8),
            decoder=released.flow_matching.CausalConditionalCFM(released.dit.DiT(320, 80, depth=16, hidden_size=512)),
        )
        vocoder = released.hift.HiFTGenerator()

    assert {name: tuple(each.shape) for name, each in flow.state_dict().items()} == flow_shapes(FlowSizes())
    assert {name: tuple(each.shape) for name, each in vocoder.state_dict().items()} == vocoder_shapes(HiftSizes())


def test_a_released_folder_is_read(folder):
    read = load_checkpoint(folder, CPU, TINY.vocoder)

    assert read.sizes == TINY
    assert torch.equal(read.flow["encoder_proj.weight"], tensors(flow_shapes(TINY.flow))["encoder_proj.weight"])


def test_the_vocoders_other_spellings_are_known(folder):
    plain = load_checkpoint(folder, CPU, TINY.vocoder).vocoder

    def spell(stored):
        for name in list(stored):
            old = name.replace("parametrizations.weight.original0", "weight_g")
            old = old.replace("parametrizations.weight.original1", "weight_v")
            stored[f"generator.{old}"] = stored.pop(name)

    resave(folder / "hift.pt", spell)

    spelt = load_checkpoint(folder, CPU, TINY.vocoder).vocoder
    assert spelt.tensors.keys() == plain.tensors.keys()
    assert all(torch.equal(spelt.tensors[name], plain.tensors[name]) for name in plain.tensors)


def test_halves_are_widened(folder):
    resave(folder / "flow.pt", lambda stored: stored.update({name: each.half() for name, each in stored.items()}))

    read = load_checkpoint(folder, CPU, TINY.vocoder)

    assert {each.dtype for each in read.flow.tensors.values()} == {torch.float32}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda stored: stored.pop("encoder_proj.bias"), "flow.pt holds no encoder_proj.bias; needed"),
        (lambda stored: stored.update(extra=torch.zeros(1)), "flow.pt holds extra, which is unknown; needed"),
        (
            lambda stored: stored.update({"encoder_proj.bias": torch.zeros(3)}),
            "flow.pt holds encoder_proj.bias of shape [3] for [16]; needed",
        ),
        (lambda stored: stored.clear(), f"and {len(flow_shapes(TINY.flow)) - 3} more"),
        (lambda stored: stored.update(extra="text"), "flow.pt holds something else beside tensors by name"),
        (
            lambda stored: stored.update(extra=torch.zeros(1).int()),
            "flow.pt holds something else beside tensors by name",
        ),
    ],
)
def test_what_is_wrong_is_named_in_a_line(folder, change, said):
    resave(folder / "flow.pt", change)

    with pytest.raises(BadWeights, match=re.escape(said)) as raised:
        load_checkpoint(folder, CPU, TINY.vocoder)

    assert "\n" not in str(raised.value)


class Runs:
    """A pickle that would make a folder when it is opened as pickles are."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self):
        return os.mkdir, (self.path,)


@pytest.mark.parametrize("save", [torch.save, lambda thing, path: path.write_bytes(pickle.dumps(thing, protocol=2))])
def test_a_pickle_that_would_run_is_refused_and_does_not_run(folder, tmp_path, save):
    save({"weight": Runs(str(tmp_path / "ran"))}, folder / "hift.pt")

    with pytest.raises(BadWeights, match=r"hift\.pt cannot be read") as raised:
        load_checkpoint(folder, CPU, TINY.vocoder)

    assert not (tmp_path / "ran").exists()
    assert "\n" not in str(raised.value)


def test_a_file_cut_short_is_refused(folder):
    whole = (folder / "flow.pt").read_bytes()
    (folder / "flow.pt").write_bytes(whole[: len(whole) // 2])

    with pytest.raises(BadWeights, match=r"flow\.pt cannot be read"):
        load_checkpoint(folder, CPU, TINY.vocoder)


@pytest.mark.parametrize("name", ["flow.yaml", "flow.pt", "hift.pt"])
def test_a_file_that_is_not_there_is_named(folder, name):
    (folder / name).unlink()

    with pytest.raises(MissingWeights, match=name):
        load_checkpoint(folder, CPU, TINY.vocoder)


def test_weights_of_another_size_are_refused(folder):
    (folder / "flow.yaml").write_text(RELEASED)

    with pytest.raises(BadWeights, match=r"flow\.pt holds no encoder\.encoders\.2\."):
        load_checkpoint(folder, CPU, TINY.vocoder)


def test_a_checkpoint_can_be_made_of_tensors_at_hand(tiny):
    flow, vocoder = tiny

    made = Checkpoint.of(TINY, flow.state_dict(), vocoder.state_dict())

    assert made.vocoder.normed("conv_pre").shape == (16, 16, 7)
