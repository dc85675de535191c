"""Writes folders in MiniCPM-o's released layout: of full size over sparse files, or tiny with bytes in them."""

import json
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from torch.serialization import skip_data

from engine.models.minicpm_o.made_up import make_up
from engine.models.token2wav import made_up as token2wav
from engine.models.token2wav.shapes import flow_shapes, vocoder_shapes
from engine.models.token2wav.sizes import Token2WavSizes
from tests.golden.flow_yaml import RELEASED, TINY_YAML
from tests.golden.minicpm_o import CONFIG, released_shapes, tiny_config

IDS = {  # of the released tokenizer
    **{"<unit>": 151683, "</unit>": 151684, "<|tts_bos|>": 151703, "<|listen|>": 151705, "<|speak|>": 151706},
    **{"<|turn_eos|>": 151717, "<|chunk_eos|>": 151718, "<|chunk_tts_eos|>": 151721},
}
TINY_IDS = {name: 110 + index for index, name in enumerate(IDS)}
SHARDS = 4
_BYTES = {torch.bfloat16: ("BF16", 2), torch.float32: ("F32", 4)}


def write_released(folder: Path) -> Path:
    """The full-shape checkpoint: every header is real, and no tensor has a byte on the disk."""
    shapes = released_shapes(CONFIG)
    _begin(folder, CONFIG, RELEASED, IDS)
    weight_map = {}
    for index, names in enumerate(_shares(shapes)):
        shard = _shard(index)
        weight_map |= dict.fromkeys(names, shard)
        write_sparse(folder / shard, {name: ("BF16", shapes[name]) for name in names})
    _index(folder, weight_map)
    sizes = Token2WavSizes()
    for name, of_file in (("flow.pt", flow_shapes(sizes.flow)), ("hift.pt", vocoder_shapes(sizes.vocoder))):
        with skip_data():
            torch.save(_spelt(name, {key: torch.empty(shape) for key, shape in of_file.items()}),
                       folder / "assets/token2wav" / name)  # fmt: skip
    return folder


def write_tiny(folder: Path, dtype: torch.dtype = torch.bfloat16) -> Path:
    """A whole checkpoint of next to nothing, all of its weights made up."""
    config = tiny_config()
    shapes = released_shapes(config)
    _begin(folder, config, TINY_YAML, TINY_IDS)
    tensors, weight_map = make_up(shapes, dtype), {}
    for index, names in enumerate(_shares(shapes)):
        shard = _shard(index)
        weight_map |= dict.fromkeys(names, shard)
        write_tensors(folder / shard, {name: tensors[name] for name in names})
    _index(folder, weight_map)
    made = token2wav.make_up(token2wav.TINY, 1)
    for name, weights in (("flow.pt", made.flow), ("hift.pt", made.vocoder)):
        torch.save(_spelt(name, weights), folder / "assets/token2wav" / name)
    return folder


def write_tensors(path: Path, tensors: Mapping[str, torch.Tensor]) -> None:
    """A safetensors file, by hand: what must read it is not what wrote it."""
    start = _head(path, {name: (_BYTES[each.dtype][0], tuple(each.shape)) for name, each in tensors.items()})
    with path.open("r+b") as stream:
        stream.seek(start)
        for each in tensors.values():
            stream.write(each.contiguous().flatten().view(torch.uint8).numpy().tobytes())


def write_sparse(path: Path, tensors: Mapping[str, tuple[str, tuple[int, ...]]]) -> None:
    """The same with holes for bytes."""
    _head(path, tensors)


def _head(path: Path, tensors: Mapping[str, tuple[str, tuple[int, ...]]]) -> int:
    header, end = {"__metadata__": {"format": "pt"}}, 0
    item = dict(_BYTES.values())
    for name, (dtype, shape) in tensors.items():
        start, end = end, end + torch.Size(shape).numel() * item[dtype]
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [start, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as stream:
        stream.write(struct.pack("<Q", len(text)) + text)
        stream.truncate(8 + len(text) + end)
    return 8 + len(text)


def _begin(folder: Path, config: Mapping[str, Any], flow_yaml: str, ids: Mapping[str, int]) -> None:
    assets = folder / "assets/token2wav"
    assets.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "modeling_minicpmo.py").write_text("raise AssertionError('the released code was run')\n")
    (folder / "README.md").write_text("# as downloaded\n")
    tokenizer = Tokenizer(WordLevel({"hello": 0, "rain": 1, "?": 2, **ids}, unk_token="?"))
    tokenizer.add_special_tokens(list(ids))
    tokenizer.save(str(folder / "tokenizer.json"))
    (assets / "flow.yaml").write_text(flow_yaml)
    for name in ("campplus.onnx", "speech_tokenizer_v2_25hz.onnx"):
        (assets / name).write_bytes(b"a network")


def _shares(shapes: Mapping[str, Any]) -> list[list[str]]:
    names = list(shapes)
    size = -(-len(names) // SHARDS)
    return [names[at : at + size] for at in range(0, len(names), size)]


def _shard(index: int) -> str:
    return f"model-{index + 1:05}-of-{SHARDS:05}.safetensors"


def _index(folder: Path, weight_map: Mapping[str, str]) -> None:
    text = json.dumps({"metadata": {"total_size": 0}, "weight_map": weight_map})
    (folder / "model.safetensors.index.json").write_text(text)


def _spelt(name: str, tensors: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """As the released file spells its names: the vocoder's came out of a trainer, and in torch's older spelling."""
    if name != "hift.pt":
        return dict(tensors)
    old = {"original0": "weight_g", "original1": "weight_v"}
    spelt = {}
    for key, each in tensors.items():
        head, _, tail = key.rpartition(".parametrizations.weight.")
        spelt[f"generator.{head}.{old[tail]}" if head else f"generator.{key}"] = each
    return spelt
