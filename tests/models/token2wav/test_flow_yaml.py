"""`flow.yaml` is read for sizes, and nothing in it is run."""

import pytest

from engine.errors import BadWeights
from engine.models.token2wav.flow_yaml import read_flow_yaml
from engine.models.token2wav.made_up import TINY
from engine.models.token2wav.sizes import FlowSizes
from tests.golden.flow_yaml import RELEASED, TINY_YAML, with_values


@pytest.fixture
def read(tmp_path):
    def read(text: str) -> FlowSizes:
        (tmp_path / "flow.yaml").write_text(text)
        return read_flow_yaml(tmp_path / "flow.yaml")

    return read


def test_the_released_file_gives_the_released_sizes(read):
    assert read(RELEASED) == FlowSizes()


def test_other_sizes_are_taken_from_the_file(read):
    assert read(TINY_YAML) == TINY.flow


def test_what_the_released_code_takes_for_granted_may_be_left_out(read):
    fixed = ("output_type", "input_layer", "pos_enc", "selfattention", "key_bias", "dropout", "normalize")
    lines = [line for line in RELEASED.splitlines() if not any(word in line for word in fixed)]

    assert read("\n".join(lines)) == FlowSizes()


@pytest.mark.parametrize(
    "tag",
    [
        "!apply:os.mkdir",
        "!new:os.mkdir",
        "!name:os.mkdir",
        "!module:os",
        "!include:other.yaml",
        "!!python/object/apply:os.mkdir",
        "!copy",
    ],
)
def test_a_tag_that_would_run_is_refused_and_does_not_run(read, tmp_path, tag):
    with pytest.raises(BadWeights, match=r"flow\.yaml") as raised:
        read(RELEASED + f"ran: {tag} ['{tmp_path}/ran']\n")

    assert not (tmp_path / "ran").exists()
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            RELEASED.replace("decoder_dit.DiT", "decoder_dit.Other"),
            r"makes cosyvoice2.flow.decoder_dit.Other as its estimator",
        ),
        (with_values(activation=1).replace("key_bias: true", "activation_type: relu"), "activation_type = 'relu'"),
        (RELEASED.replace("key_bias: true", "causal: true"), "gives encoder causal, which is unknown"),
        (RELEASED.replace("      depth: 16\n", ""), "gives estimator no depth"),
        (with_values(num_blocks="many"), "encoder.num_blocks = 'many', which is no size"),
        (with_values(num_blocks=0), "encoder.num_blocks = 0, which is no size"),
        (with_values(num_blocks=2.5), "encoder.num_blocks = 2.5, which is no size"),
        (with_values(num_blocks="true"), "encoder.num_blocks = True, which is no size"),
        (with_values(depth="!ref <flow[x]>"), "holds !ref"),
        (with_values(in_channels=300), "estimator.in_channels = 300, where the rest of it needs 320"),
        (with_values(up_scale_factor=3), "encoder.up_scale_factor = 3"),
        (with_values(attention_heads=7), "encoder.attention_heads = 7"),
        (RELEASED + "seed: 1\n", "has the keys flow, seed"),
        ("flow: 1\n", "makes nothing as its flow"),
        ("- flow\n", "holds "),
        ("", "is empty"),
        ("flow: [", "cannot be read"),
        ("flow: &a {x: *a}\n", r"nests too deep, or into itself"),
        (RELEASED.replace("depth: 16", "depth: 16\n      depth: 4"), "gives depth twice"),
    ],
)
def test_what_cannot_be_honoured_is_named_in_a_line(read, text, said):
    with pytest.raises(BadWeights) as raised:
        read(text)

    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_file_that_is_not_there_is_said(tmp_path):
    with pytest.raises(BadWeights, match="cannot be read"):
        read_flow_yaml(tmp_path / "flow.yaml")
