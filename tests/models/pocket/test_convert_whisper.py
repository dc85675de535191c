"""A random Whisper written as CTranslate2 writes it, converted, and read by the library: the same tensors."""

import json
import struct
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor
from transformers import WhisperConfig, WhisperForConditionalGeneration

from engine.errors import BadWeights
from engine.models.pocket.convert_whisper import convert

WIDTH, LAYERS, HEADS = 8, 2, 2
TYPES = {np.dtype(np.float16): 4, np.dtype(np.int16): 2}
Named = dict[str, np.ndarray]


def whisper(seed: int = 0) -> dict[str, Tensor]:
    torch.manual_seed(seed)
    config = WhisperConfig(
        vocab_size=51864,
        d_model=WIDTH,
        encoder_layers=LAYERS,
        decoder_layers=LAYERS,
        encoder_attention_heads=HEADS,
        decoder_attention_heads=HEADS,
        encoder_ffn_dim=12,
        decoder_ffn_dim=12,
        max_source_positions=20,
        max_target_positions=10,
    )
    named = WhisperForConditionalGeneration(config).state_dict()
    return {name: torch.randn_like(tensor).half() for name, tensor in named.items() if name != "proj_out.weight"}


def as_ctranslate2(named: dict[str, Tensor]) -> Named:
    """The same tensors as CTranslate2's specification names and fuses them."""
    out: Named = {}

    def put(name: str, tensor: Tensor) -> None:
        out[name] = tensor.numpy()

    def pair(to: str, source: str, names: tuple[str, str] = ("weight", "bias")) -> None:
        for name, part in zip(names, ("weight", "bias"), strict=True):
            put(f"{to}/{name}", named[f"{source}.{part}"])

    def fused(to: str, source: str, kinds: str) -> None:
        put(f"{to}/weight", torch.cat([named[f"{source}.{kind}_proj.weight"] for kind in kinds]))
        biases = [named.get(f"{source}.{kind}_proj.bias", torch.zeros(WIDTH).half()) for kind in kinds]
        put(f"{to}/bias", torch.cat(biases))

    for side in ("encoder", "decoder"):
        put(f"{side}/position_encodings/encodings", named[f"model.{side}.embed_positions.weight"])
        out[f"{side}/num_heads"] = np.array(HEADS, np.int16)
        pair(f"{side}/layer_norm", f"model.{side}.layer_norm", ("gamma", "beta"))
        for index in range(LAYERS):
            to, source = f"{side}/layer_{index}", f"model.{side}.layers.{index}"
            fused(f"{to}/self_attention/linear_0", f"{source}.self_attn", "qkv")
            pair(f"{to}/self_attention/linear_1", f"{source}.self_attn.out_proj")
            pair(f"{to}/self_attention/layer_norm", f"{source}.self_attn_layer_norm", ("gamma", "beta"))
            if side == "decoder":
                fused(f"{to}/attention/linear_0", f"{source}.encoder_attn", "q")
                fused(f"{to}/attention/linear_1", f"{source}.encoder_attn", "kv")
                pair(f"{to}/attention/linear_2", f"{source}.encoder_attn.out_proj")
                pair(f"{to}/attention/layer_norm", f"{source}.encoder_attn_layer_norm", ("gamma", "beta"))
            pair(f"{to}/ffn/linear_0", f"{source}.fc1")
            pair(f"{to}/ffn/linear_1", f"{source}.fc2")
            pair(f"{to}/ffn/layer_norm", f"{source}.final_layer_norm", ("gamma", "beta"))
    for conv in ("conv1", "conv2"):
        pair(f"encoder/{conv}", f"model.encoder.{conv}")
    put("decoder/embeddings/weight", named["model.decoder.embed_tokens.weight"])
    return out


def as_bytes(variables: Named, spec: str = "WhisperSpec") -> bytes:
    def string(text: str) -> bytes:
        return struct.pack("<H", len(text) + 1) + text.encode() + b"\0"

    parts = [struct.pack("<I", 6), string(spec), struct.pack("<II", 3, len(variables))]
    for name, array in variables.items():
        data = np.ascontiguousarray(array).tobytes()
        sizes = struct.pack(f"<B{array.ndim}I", array.ndim, *array.shape)
        parts += [string(name), sizes, struct.pack("<BI", TYPES[array.dtype], len(data)), data]
    aliases = {"decoder/projection/weight": "decoder/embeddings/weight"}
    parts.append(struct.pack("<I", len(aliases)))
    parts += [string(text) for pair in aliases.items() for text in pair]
    return b"".join(parts)


def write(folder: Path, model: bytes) -> Path:
    folder.mkdir()
    (folder / "model.bin").write_bytes(model)
    rules = {"suppress_ids": [1, 2, 50361], "suppress_ids_begin": [220, 50256]}
    (folder / "config.json").write_text(json.dumps(rules))
    (folder / "tokenizer.json").write_text("{}")
    return folder


@pytest.fixture
def destination(tmp_path: Path) -> Path:
    made = tmp_path / "converted"
    made.mkdir()
    return made


def test_every_tensor_arrives_under_the_librarys_name(tmp_path: Path, destination: Path) -> None:
    named = whisper()

    convert(write(tmp_path / "source", as_bytes(as_ctranslate2(named))), destination)

    converted = load_file(destination / "model.safetensors")
    assert converted.keys() == named.keys()
    assert all(torch.equal(converted[name], tensor) for name, tensor in named.items())


def test_the_library_reads_the_folder_with_nothing_missing(tmp_path: Path, destination: Path) -> None:
    convert(write(tmp_path / "source", as_bytes(as_ctranslate2(whisper()))), destination)

    model, told = WhisperForConditionalGeneration.from_pretrained(destination, output_loading_info=True)

    assert not any(told.values()), told
    assert model.generation_config.suppress_tokens == [1, 2, 50361]
    assert model.generation_config.begin_suppress_tokens == [220, 50256]
    assert model.generation_config.forced_decoder_ids == [[1, 50362]]
    assert (destination / "tokenizer.json").read_text() == "{}"


def test_a_file_that_is_cut_short_is_refused(tmp_path: Path, destination: Path) -> None:
    whole = as_bytes(as_ctranslate2(whisper()))
    for number, size in enumerate((3, len(whole) // 2, len(whole) - 1)):
        with pytest.raises(BadWeights, match="ends after"):
            convert(write(tmp_path / f"source{number}", whole[:size]), destination)
    assert not list(destination.iterdir())


def test_what_is_no_whisper_is_refused(tmp_path: Path, destination: Path) -> None:
    variables = as_ctranslate2(whisper())
    with pytest.raises(BadWeights, match="TransformerSpec"):
        convert(write(tmp_path / "other", as_bytes(variables, spec="TransformerSpec")), destination)
    del variables["encoder/layer_1/ffn/linear_1/weight"]
    with pytest.raises(BadWeights, match="encoder/layer_1/ffn/linear_1/weight"):
        convert(write(tmp_path / "lacking", as_bytes(variables)), destination)


def test_a_missing_file_is_named(tmp_path: Path, destination: Path) -> None:
    source = write(tmp_path / "source", b"")
    (source / "tokenizer.json").unlink()

    with pytest.raises(BadWeights, match=r"tokenizer\.json is missing"):
        convert(source, destination)
