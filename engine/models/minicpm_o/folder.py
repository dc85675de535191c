"""A released folder of MiniCPM-o 4.5 as it was downloaded: its files found, its tensors known by name, type and shape.

Nothing of a folder is run, and not a byte of a tensor is read: safetensors and JSON cannot run, `flow.yaml` is looked
at as nodes, `.pt` files are opened for tensors alone, and the released code beside them is never opened. `surveying`
tells what is there, `loading` brings it to a device. Entered by the engine thread.
"""

import json
from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor

from engine.errors import BadWeights
from engine.models.layers.checked import Shape
from engine.models.layers.hift import HiftSizes
from engine.models.minicpm_o.checkpoint import ENCODER, LANGUAGE, SPEECH, SPEECH_UNUSED
from engine.models.minicpm_o.config import FETCH, quantised, read_config
from engine.models.minicpm_o.made_up import WholeSizes
from engine.models.minicpm_o.sizes import encoder_shapes, language_shapes, speech_shapes
from engine.models.minicpm_o.tokens import Tokens
from engine.models.token2wav.checkpoint import read_tensors, vocoder_named
from engine.models.token2wav.flow_yaml import read_flow_yaml
from engine.models.token2wav.sizes import Token2WavSizes
from engine.models.weights.folder import Folder
from engine.models.weights.safetensors_header import Stored, read_header

TOKEN2WAV = "assets/token2wav"
VOICE = tuple(f"{TOKEN2WAV}/{name}" for name in ("campplus.onnx", "speech_tokenizer_v2_25hz.onnx"))
VISION = ("vpm.", "resampler.")
INDEX, _WHOLE, TOKENIZER = "model.safetensors.index.json", "model.safetensors", "tokenizer.json"
FLOATS = {"F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}
_QUANTISED_NAMES = (".qweight", ".qzeros", ".g_idx", ".quant_map", ".absmax", "_packed")
_META = torch.device("meta")


class Released:
    """A folder whose files are all there and readable, and whose tensors are known by name and shape.

    Args:
        path: The folder.

    Raises:
        AskedWrongly: It is no folder.
        MissingWeights: A file is not there, or not yet.
        BadWeights: It is another model's, quantised, damaged, or would run something.
    """

    def __init__(self, path: Path) -> None:
        self.folder = folder = Folder(path)
        _refuse_gguf(folder)
        told = read_config(folder.file("config.json"))
        self.shards = {name: folder.file(name) for name in _shards(folder)}
        self.stored: dict[str, Stored] = {}
        self.shard_of: dict[str, str] = {}
        for name, file in self.shards.items():
            for tensor, stored in read_header(file).items():
                if tensor in self.stored:
                    raise BadWeights(f"{name} holds {tensor} again", "each tensor once", FETCH)
                if tensor.endswith(_QUANTISED_NAMES):
                    raise quantised(f"{name} holds {tensor}: quantised weights")
                self.stored[tensor], self.shard_of[tensor] = stored, name
        _refuse_unlisted(folder, self.shard_of)
        self.tokens = Tokens(folder.file(TOKENIZER))
        for name in VOICE:
            folder.file(name)
        flow = read_flow_yaml(folder.file(f"{TOKEN2WAV}/flow.yaml"))
        self.flow_file, self.vocoder_file = (folder.file(f"{TOKEN2WAV}/{name}") for name in ("flow.pt", "hift.pt"))
        self.flow = read_tensors(self.flow_file, _META)
        self.vocoder = vocoder_named(read_tensors(self.vocoder_file, _META))
        token2wav = Token2WavSizes(flow, _vocoder_sizes(self.vocoder))
        marks = self.tokens.marks
        self.sizes = WholeSizes(
            told.encoder, told.language, told.speech, token2wav, marks, texts=min(vars(marks).values())
        )

    @property
    def shapes(self) -> dict[str, tuple[tuple[str, ...], dict[str, Shape]]]:
        """By part of the safetensors, how its tensors' names begin, and all that it needs."""
        return {
            "audio encoder": (ENCODER, encoder_shapes(self.sizes.encoder)),
            "language model": (LANGUAGE, language_shapes(self.sizes.language)),
            "speech decoder": (SPEECH, speech_shapes(self.sizes.speech)),
        }

    def found(self, prefixes: tuple[str, ...]) -> dict[str, Stored]:
        """The tensors of a part, those left out that come along and speech does not need."""
        return {
            name: each
            for name, each in self.stored.items()
            if name.startswith(prefixes) and not name.startswith(SPEECH_UNUSED)
        }


def _refuse_gguf(folder: Folder) -> None:
    if not folder.has("config.json") and (found := sorted(folder.root.glob("*.gguf"))):
        raise quantised(f"{folder.name} holds {found[0].name}: a GGUF conversion")


def _shards(folder: Folder) -> list[str]:
    """The safetensors that there must be: as the index lists them, or the one."""
    if not folder.has(INDEX):
        if folder.has(_WHOLE):
            return [_WHOLE]
        folder.file(INDEX)
    return sorted(set(_weight_map(folder).values()))


def _weight_map(folder: Folder) -> Mapping[str, str]:
    try:
        weight_map = json.loads(folder.file(INDEX).read_text(encoding="utf-8"))["weight_map"]
        names = {str(tensor): str(shard) for tensor, shard in weight_map.items()}
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise BadWeights(f"{INDEX} cannot be read: {error}", "the released index", FETCH) from error
    if not names:
        raise BadWeights(f"{INDEX} lists nothing", "the released index", FETCH)
    if odd := [shard for shard in names.values() if not shard.endswith(".safetensors")]:
        raise BadWeights(f"{INDEX} lists {odd[0]!r}", "safetensors files alone", FETCH)
    return names


def _refuse_unlisted(folder: Folder, shard_of: Mapping[str, str]) -> None:
    """Hold the index to what the shards hold: a shard of another release would fit it by name alone."""
    if not folder.has(INDEX):
        return
    for tensor, shard in _weight_map(folder).items():
        if shard_of.get(tensor) != shard:
            raise BadWeights(f"{shard} does not hold {tensor}, which {INDEX} has there", "files of one release", FETCH)


def _vocoder_sizes(tensors: Mapping[str, Tensor]) -> HiftSizes:
    """What of the vocoder's sizes its own tensors tell; the rest is as released."""
    try:
        first, pitch = (
            tensors[f"{name}.parametrizations.weight.original1"].shape
            for name in ("conv_pre", "f0_predictor.condnet.0")
        )
        return HiftSizes(mels=first[1], channels=first[0], pitch=pitch[0])
    except (LookupError, IndexError):
        return HiftSizes()
