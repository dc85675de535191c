"""Convert Whisper from CTranslate2's file into safetensors under the names that transformers gives its tensors.

Runs once, when weights are fetched, in a process of its own. Knows the file's layout and nothing of how Whisper runs.
The sixteen-bit values are kept as they are: who loads them widens them.

The layout, little-endian, as CTranslate2 3.x and 4.x write it (binary version 6): u32 version, string model, u32
revision, u32 count, then per variable: string name, u8 rank, u32 sizes, u8 type, u32 bytes, data; then u32 count of
aliases and two strings each. A string is a u16 length that counts its closing NUL, and its bytes.
"""

import json
import shutil
import struct
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save_file

from engine.errors import BadWeights

Arrays = dict[str, NDArray[Any]]

_TYPES = {0: np.float32, 1: np.int8, 2: np.int16, 3: np.int32, 4: np.float16}
_FILES = ("model.bin", "config.json", "tokenizer.json")
_REMEDY = "run: duplexcadence models fetch pocket"


class _Reader:
    """Walks a file's bytes and refuses to walk past their end."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def number(self, kind: str) -> int:
        size = struct.calcsize("<" + kind)
        (value,) = struct.unpack("<" + kind, self.take(size))
        return int(value)

    def string(self) -> str:
        return self.take(self.number("H"))[:-1].decode()

    def take(self, size: int) -> bytes:
        if self._at + size > len(self._data):
            raise BadWeights(
                f"model.bin ends after {len(self._data)} bytes", f"at least {self._at + size} bytes", _REMEDY
            )
        self._at += size
        return self._data[self._at - size : self._at]


def read_variables(path: Path) -> Arrays:
    """Every variable of a CTranslate2 `model.bin`, aliases included.

    Raises:
        BadWeights: The file is cut short or holds a type that is not known here.
    """
    reader = _Reader(path.read_bytes())
    reader.number("I")
    if (model := reader.string()) != "WhisperSpec":
        raise BadWeights(f"model.bin holds a {model}", "a WhisperSpec", _REMEDY)
    reader.number("I")
    variables: Arrays = {}
    for _ in range(reader.number("I")):
        name = reader.string()
        shape = [reader.number("I") for _ in range(reader.number("B"))]
        kind = reader.number("B")
        if kind not in _TYPES:
            raise BadWeights(f"{name} is of type {kind}", f"one of {sorted(_TYPES)}", _REMEDY)
        variables[name] = np.frombuffer(reader.take(reader.number("I")), _TYPES[kind]).reshape(shape)
    for _ in range(reader.number("I")):
        alias = reader.string()
        variables[alias] = variables[reader.string()]
    return variables


def rename(variables: Arrays) -> Arrays:
    """The same weights as transformers' `WhisperForConditionalGeneration` names them, fused projections taken apart."""
    named: Arrays = {}

    def linear(to: str, source: str) -> None:
        named[f"{to}.weight"], named[f"{to}.bias"] = variables[f"{source}/weight"], variables[f"{source}/bias"]

    def norm(to: str, source: str) -> None:
        named[f"{to}.weight"], named[f"{to}.bias"] = variables[f"{source}/gamma"], variables[f"{source}/beta"]

    def projections(to: str, source: str, kinds: str) -> None:
        weights = np.split(variables[f"{source}/weight"], len(kinds))
        biases = np.split(variables[f"{source}/bias"], len(kinds))
        for kind, weight, bias in zip(kinds, weights, biases, strict=True):
            named[f"{to}.{kind}_proj.weight"] = weight
            if kind != "k":  # Whisper's keys have no bias: the fused one holds zeros there
                named[f"{to}.{kind}_proj.bias"] = bias

    def layer(to: str, source: str) -> None:
        projections(f"{to}.self_attn", f"{source}/self_attention/linear_0", "qkv")
        linear(f"{to}.self_attn.out_proj", f"{source}/self_attention/linear_1")
        norm(f"{to}.self_attn_layer_norm", f"{source}/self_attention/layer_norm")
        linear(f"{to}.fc1", f"{source}/ffn/linear_0")
        linear(f"{to}.fc2", f"{source}/ffn/linear_1")
        norm(f"{to}.final_layer_norm", f"{source}/ffn/layer_norm")

    def cross_attention(to: str, source: str) -> None:
        projections(f"{to}.encoder_attn", f"{source}/attention/linear_0", "q")
        projections(f"{to}.encoder_attn", f"{source}/attention/linear_1", "kv")
        linear(f"{to}.encoder_attn.out_proj", f"{source}/attention/linear_2")
        norm(f"{to}.encoder_attn_layer_norm", f"{source}/attention/layer_norm")

    linear("model.encoder.conv1", "encoder/conv1")
    linear("model.encoder.conv2", "encoder/conv2")
    for side in ("encoder", "decoder"):
        named[f"model.{side}.embed_positions.weight"] = variables[f"{side}/position_encodings/encodings"]
        norm(f"model.{side}.layer_norm", f"{side}/layer_norm")
        for index in range(_layers(variables, side)):
            layer(f"model.{side}.layers.{index}", f"{side}/layer_{index}")
            if side == "decoder":
                cross_attention(f"model.{side}.layers.{index}", f"{side}/layer_{index}")
    # The vocabulary product uses the embedding itself (tied), so that it is kept once.
    named["model.decoder.embed_tokens.weight"] = variables["decoder/embeddings/weight"]
    return named


def describe(variables: Arrays) -> dict[str, Any]:
    """The `config.json` that transformers reads, every size taken from the weights themselves."""
    vocabulary, width = variables["decoder/embeddings/weight"].shape
    if vocabulary != 51864:
        raise BadWeights(f"a Whisper of {vocabulary} tokens", "an English-only one of 51864", _REMEDY)
    return {
        "model_type": "whisper",
        "architectures": ["WhisperForConditionalGeneration"],
        "vocab_size": vocabulary,
        "d_model": width,
        "num_mel_bins": variables["encoder/conv1/weight"].shape[1],
        "encoder_layers": _layers(variables, "encoder"),
        "decoder_layers": _layers(variables, "decoder"),
        "encoder_attention_heads": int(variables["encoder/num_heads"]),
        "decoder_attention_heads": int(variables["decoder/num_heads"]),
        "encoder_ffn_dim": variables["encoder/layer_0/ffn/linear_0/weight"].shape[0],
        "decoder_ffn_dim": variables["decoder/layer_0/ffn/linear_0/weight"].shape[0],
        "max_source_positions": variables["encoder/position_encodings/encodings"].shape[0],
        "max_target_positions": variables["decoder/position_encodings/encodings"].shape[0],
        "activation_function": "gelu",
        "scale_embedding": False,
        "tie_word_embeddings": True,
        "bos_token_id": 50256,
        "eos_token_id": 50256,
        "pad_token_id": 50256,
        "decoder_start_token_id": 50257,
        "torch_dtype": "float16",
    }


def convert(source: Path, destination: Path) -> None:
    """Write `model.safetensors`, `config.json`, `generation_config.json` and `tokenizer.json`.

    Args:
        source: Folder that holds CTranslate2's `model.bin`, `config.json` and `tokenizer.json`.
        destination: An empty folder.

    Raises:
        BadWeights: A file is missing, cut short, or of another model.
    """
    for name in _FILES:
        if not (source / name).is_file():
            raise BadWeights(f"{name} is missing beside the Whisper weights", ", ".join(_FILES), _REMEDY)
    variables = read_variables(source / "model.bin")
    try:
        named, config = rename(variables), describe(variables)
    except KeyError as missing:
        raise BadWeights(f"model.bin lacks {missing}", "a whole Whisper", _REMEDY) from missing
    rules = json.loads((source / "config.json").read_text())
    generation = {
        "decoder_start_token_id": 50257,
        "eos_token_id": 50256,
        "pad_token_id": 50256,
        "bos_token_id": 50256,
        "forced_decoder_ids": [[1, 50362]],  # <|notimestamps|>: the only prompt an English-only Whisper has
        "suppress_tokens": rules["suppress_ids"],
        "begin_suppress_tokens": rules["suppress_ids_begin"],
        "no_timestamps_token_id": 50362,
        "max_initial_timestamp_index": 50,
        "is_multilingual": False,
        "return_timestamps": False,
        "max_length": config["max_target_positions"],
    }
    save_file({name: np.ascontiguousarray(array) for name, array in named.items()}, destination / "model.safetensors")
    (destination / "config.json").write_text(json.dumps(config, indent=1))
    (destination / "generation_config.json").write_text(json.dumps(generation, indent=1))
    shutil.copyfile(source / "tokenizer.json", destination / "tokenizer.json")


def _layers(variables: Arrays, side: str) -> int:
    return len({name.split("/")[1] for name in variables if name.startswith(f"{side}/layer_") and name.count("/") > 2})
