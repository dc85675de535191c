import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from gguf import GGMLQuantizationType, GGUFWriter, dequantize, quantize
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file
from tokenizers import Tokenizer
from transformers import AutoModelForCausalLM

from engine.errors import BadWeights
from engine.models.pocket.convert_smollm2 import BLOCK_NAMES, OUTER_NAMES, convert
from tests.models.pocket import made_up_language

NORMAL, CONTROL = 1, 3
HEADS = {"attn_q": 4, "attn_k": 2}


def as_llama_cpp_has_it(weight: np.ndarray, heads: int) -> np.ndarray:
    """A head's rows with the two of a rotated pair side by side."""
    dim = len(weight) // heads
    order = [
        head * dim + half * dim // 2 + pair for head in range(heads) for pair in range(dim // 2) for half in (0, 1)
    ]
    return weight[order]


def write_gguf(
    folder: Path, *, tied: bool, architecture: str = "llama", pre: str = "smollm", model: str = "gpt2"
) -> tuple[Path, Any]:
    """A GGUF file of a random model, and that model with the weights that the file's blocks stand for."""
    reference = made_up_language.save_model(folder, "llama", tie_word_embeddings=tied)
    vocabulary = made_up_language.tokenizer()
    file, sizes = folder / "model.gguf", made_up_language.SIZES
    writer = GGUFWriter(file, architecture)
    writer.add_block_count(sizes["num_hidden_layers"])
    writer.add_context_length(sizes["max_position_embeddings"])
    writer.add_embedding_length(sizes["hidden_size"])
    writer.add_feed_forward_length(sizes["intermediate_size"])
    writer.add_head_count(sizes["num_attention_heads"])
    writer.add_head_count_kv(sizes["num_key_value_heads"])
    writer.add_layer_norm_rms_eps(reference.config.rms_norm_eps)
    writer.add_rope_freq_base(reference.config.rope_parameters["rope_theta"])
    writer.add_rope_dimension_count(sizes["head_dim"])
    tokens = [vocabulary.id_to_token(index) for index in range(vocabulary.get_vocab_size())]
    writer.add_tokenizer_model(model)
    writer.add_tokenizer_pre(pre)
    writer.add_token_list(tokens)
    writer.add_token_types([CONTROL if token in made_up_language.CONTROL else NORMAL for token in tokens])
    writer.add_token_merges([" ".join(merge) for merge in json.loads(vocabulary.to_str())["model"]["merges"]])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_pad_token_id(2)
    writer.add_chat_template(made_up_language.CHAT_TEMPLATE)
    weights = dict(reference.state_dict())
    names = {
        f"blk.{block}.{ours}": f"model.layers.{block}.{theirs}"
        for block in (0, 1)
        for ours, theirs in BLOCK_NAMES.items()
    }
    for ours, theirs in {**OUTER_NAMES, **names}.items():
        if ours == "output" and tied:
            continue
        values = weights[f"{theirs}.weight"].numpy()
        if values.ndim == 1:
            writer.add_tensor(f"{ours}.weight", values)
            continue
        if heads := HEADS.get(ours.rpartition(".")[2]):
            values = as_llama_cpp_has_it(values, heads)
        kind = GGMLQuantizationType.Q8_0 if ours in OUTER_NAMES else GGMLQuantizationType.Q4_1
        blocks = quantize(values, kind)
        writer.add_tensor(f"{ours}.weight", blocks, raw_dtype=kind)
        meant = dequantize(blocks, kind)
        if heads:
            order = np.argsort(as_llama_cpp_has_it(np.arange(len(meant)), heads))
            meant = meant[order]
        with torch.no_grad():
            weights[f"{theirs}.weight"].copy_(torch.from_numpy(meant.copy()))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return file, reference


@pytest.fixture(scope="module")
def converted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file, _ = write_gguf(tmp_path_factory.mktemp("gguf"), tied=True)
    folder = tmp_path_factory.mktemp("converted")
    convert(file, folder)
    return folder


@pytest.mark.parametrize("tied", [True, False])
@torch.inference_mode()
def test_transformers_reads_the_model_that_was_written(tmp_path: Path, tied: bool) -> None:
    file, reference = write_gguf(tmp_path, tied=tied)
    folder = tmp_path / "converted"
    folder.mkdir()
    convert(file, folder)
    read = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    tokens = torch.arange(40)[None]
    torch.testing.assert_close(read(tokens).logits, reference(tokens).logits, rtol=5e-3, atol=5e-3)
    assert ("lm_head.weight" in load_file(folder / "model.safetensors")) != tied


def test_matrices_are_float16_and_norms_float32(converted: Path) -> None:
    for name, tensor in load_file(converted / "model.safetensors").items():
        assert tensor.dtype == (torch.float32 if "norm" in name else torch.float16), name


def test_settings_say_what_the_file_said(converted: Path) -> None:
    config = json.loads((converted / "config.json").read_text())
    assert config.items() >= {**made_up_language.SIZES, "vocab_size": 320, "rms_norm_eps": 1e-6}.items()
    settings = json.loads((converted / "tokenizer_config.json").read_text())
    assert settings["chat_template"] == made_up_language.CHAT_TEMPLATE


@settings(deadline=None, max_examples=100)
@given(st.text(max_size=80))
def test_any_text_goes_round(converted: Path, text: str) -> None:
    tokenizer = Tokenizer.from_file(str(converted / "tokenizer.json"))
    tokens = tokenizer.encode(text).ids
    assert tokens == made_up_language.tokenizer().encode(text).ids
    if not any(token in text for token in made_up_language.CONTROL):
        assert tokenizer.decode(tokens) == text


def test_control_tokens_are_one_token_each(converted: Path) -> None:
    tokenizer = Tokenizer.from_file(str(converted / "tokenizer.json"))
    assert tokenizer.encode("<|im_start|><|im_end|>").ids == [1, 2]
    assert tokenizer.decode([1, 2]) == ""


@pytest.mark.parametrize(
    ("options", "came"),
    [
        ({"architecture": "gpt2"}, "holds gpt2"),
        ({"model": "llama"}, "with llama tokens"),
        ({"pre": "qwen2"}, "the way of qwen2"),
    ],
)
def test_another_kind_of_model_is_refused(tmp_path: Path, options: dict[str, str], came: str) -> None:
    file, _ = write_gguf(tmp_path, tied=True, **options)
    with pytest.raises(BadWeights, match=came):
        convert(file, tmp_path)


@pytest.mark.parametrize("keep", [0, 3, 2000, 0.9])
def test_a_file_that_is_not_whole_is_refused(tmp_path: Path, keep: float) -> None:
    file, _ = write_gguf(tmp_path, tied=True)
    whole = file.read_bytes()
    file.write_bytes(whole[: int(keep * len(whole)) if isinstance(keep, float) else keep])
    with pytest.raises(BadWeights) as told:
        convert(file, tmp_path)
    assert "\n" not in str(told.value)


def test_noise_is_refused(tmp_path: Path) -> None:
    (tmp_path / "noise.gguf").write_bytes(bytes(range(256)) * 40)
    with pytest.raises(BadWeights):
        convert(tmp_path / "noise.gguf", tmp_path)
