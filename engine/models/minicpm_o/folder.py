"""A released folder of MiniCPM-o 4.5, as it was downloaded: what is in it, and its weights on a device.

`survey` reads names, types and shapes, and not a byte of a tensor; `load` reads it first and then copies tensor by
tensor from the mapped files straight to where they go. Nothing of a folder is run: safetensors and JSON cannot be,
`flow.yaml` is looked at as nodes, `.pt` files are opened for tensors alone, and the released code beside them is never
opened. Entered by the engine thread.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from engine.errors import BadWeights
from engine.models.layers.checked import Shape, compare
from engine.models.layers.hift import HiftSizes
from engine.models.layers.named import Named
from engine.models.minicpm_o.checkpoint import ENCODER, LANGUAGE, SPEECH, SPEECH_UNUSED, checked
from engine.models.minicpm_o.config import FETCH, quantised, read_config
from engine.models.minicpm_o.made_up import WholeSizes, resized
from engine.models.minicpm_o.sizes import encoder_shapes, language_shapes, speech_shapes
from engine.models.minicpm_o.timelines import timelines
from engine.models.minicpm_o.tokens import Tokens
from engine.models.token2wav.checkpoint import Checkpoint, read_tensors, vocoder_named
from engine.models.token2wav.flow_yaml import read_flow_yaml
from engine.models.token2wav.shapes import flow_shapes, vocoder_shapes
from engine.models.token2wav.sizes import Token2WavSizes
from engine.models.weights.folder import Folder
from engine.models.weights.progress import Progress, Quiet
from engine.models.weights.safetensors_header import Stored, read_header
from engine.models.weights.survey import Part, Survey
from engine.plan import plan
from engine.stage import DTYPE_BYTES

NAME = "minicpm-o-4.5"
TOKEN2WAV = "assets/token2wav"
VOICE = tuple(f"{TOKEN2WAV}/{name}" for name in ("campplus.onnx", "speech_tokenizer_v2_25hz.onnx"))
VISION = ("vpm.", "resampler.")
_INDEX, _WHOLE, _TOKENIZER = "model.safetensors.index.json", "model.safetensors", "tokenizer.json"
_FLOATS = {"F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}
_QUANTISED_NAMES = (".qweight", ".qzeros", ".g_idx", ".quant_map", ".absmax", "_packed")
_META = torch.device("meta")
SESSION_S = 600


@dataclass(frozen=True)
class Loaded:
    """A folder's weights on a device, checked.

    Args:
        sizes: Of all parts.
        encoder: Of the audio encoder and its projection, by released name.
        language: Of the language model.
        speech: Of the speech decoder.
        token2wav: Of flow and vocoder, float32.
        tokens: The tokenizer.
    """

    sizes: WholeSizes
    encoder: Named
    language: Named
    speech: Named
    token2wav: Checkpoint
    tokens: Tokens


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
        self.tokens = Tokens(folder.file(_TOKENIZER))
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


def survey(path: Path, dtype: str = "bfloat16", session_s: int = SESSION_S) -> Survey:
    """What a folder holds, part by part; nothing is loaded.

    Args:
        path: The folder.
        dtype: What the safetensors' parts will be held as.
        session_s: Seconds of a conversation, for the states.

    Raises:
        As `Released`.
    """
    return _surveyed(Released(path), dtype, session_s)


def load(
    path: Path,
    device: torch.device,
    *,
    available_bytes: Callable[[], int] | None = None,
    dtype: torch.dtype = torch.bfloat16,
    progress: Progress | None = None,
) -> Loaded:
    """Copy a folder's weights to a device.

    Args:
        path: The folder.
        device: Where to; on the meta device no byte is read.
        available_bytes: What can be had there; None where that is not to be asked.
        dtype: Of the safetensors' parts there.
        progress: Told of each part, in the bytes that it takes.

    Raises:
        NoRoom: The device cannot hold them and a session's state; nothing has been loaded.
        As `Released`, and BadWeights where anything is missing, misshapen or unknown.
    """
    released, progress = Released(path), progress or Quiet()
    told = _surveyed(released, str(dtype).removeprefix("torch."), SESSION_S)
    told.require_whole()
    if available_bytes is not None:
        told.require_room(available_bytes(), "this card" if device.type == "cuda" else "this machine")
    parts = {
        name: checked(name, _copied(released, name, device, dtype, progress), shapes)
        for name, (_, shapes) in released.shapes.items()
    }
    progress.begin("token2wav")
    try:
        flow = read_tensors(released.flow_file, device)
        token2wav = Checkpoint.of(released.sizes.token2wav, flow, read_tensors(released.vocoder_file, device))
    finally:
        progress.end()
    encoder, language, speech = parts.values()
    return Loaded(released.sizes, encoder, language, speech, token2wav, released.tokens)


def _copied(
    released: Released, part: str, device: torch.device, dtype: torch.dtype, progress: Progress
) -> dict[str, Tensor]:
    """A part's tensors on the device, by name, shard by shard."""
    found = released.found(released.shapes[part][0])
    itemsize, done, tensors = dtype.itemsize, 0, dict[str, Tensor]()
    progress.begin(part, sum(each.elements * itemsize for each in found.values()))
    try:
        for shard, file in released.shards.items():
            names = [name for name in found if released.shard_of[name] == shard]
            if not names:
                continue
            mapped = _mapped(file)
            for name in names:
                # A copy also on the host: a mapped file that changes would change what is said.
                tensors[name] = _view(mapped, released.stored[name]).to(device, dtype, copy=True)
                done += tensors[name].nbytes
                progress.at(done)
    finally:
        progress.end()
    return tensors


def _mapped(file: Path) -> Tensor:
    """A file's bytes as they lie on the disk, uint8."""
    try:
        return torch.from_file(str(file), shared=False, size=file.stat().st_size, dtype=torch.uint8)
    except RuntimeError as error:
        reason = str(error).split("\n", 1)[0]
        raise BadWeights(f"{file.name} cannot be mapped: {reason}", "a file that can be read", FETCH) from error


def _view(mapped: Tensor, stored: Stored) -> Tensor:
    """A tensor of a mapped file; its bytes are moved only where they lie across the type's own alignment."""
    dtype = _FLOATS[stored.dtype]
    piece = mapped[stored.start : stored.start + stored.bytes]
    if stored.start % dtype.itemsize:
        piece = piece.clone()
    return piece.view(dtype).view(stored.shape)


def _surveyed(released: Released, dtype: str, session_s: int) -> Survey:
    states, held = state_bytes(released.sizes, session_s), dict[str, str]()
    parts = []
    for part, (prefixes, shapes) in released.shapes.items():
        found = released.found(prefixes)
        for name, stored in found.items():
            if name in shapes and stored.dtype not in _FLOATS:
                raise quantised(f"{released.shard_of[name]} holds {name} as {stored.dtype}: quantised weights")
        held[part] = " and ".join(sorted({each.dtype for each in found.values()}))
        elements = sum(each.elements for each in found.values())
        unlike = compare({name: each.shape for name, each in found.items()}, shapes)
        parts.append(
            Part(
                part,
                len(shapes),
                elements * DTYPE_BYTES[dtype],
                unlike.missing,
                unlike.misshapen,
                unlike.unknown,
                states[part],
            )
        )
    for part, tensors, shapes in (
        *_halves(released.flow, flow_shapes(released.sizes.token2wav.flow)),
        ("vocoder", released.vocoder, vocoder_shapes(released.sizes.token2wav.vocoder)),
    ):
        unlike = compare({name: each.shape for name, each in tensors.items()}, shapes)
        nbytes = sum(each.nbytes for each in tensors.values())
        parts.append(Part(part, len(shapes), nbytes, unlike.missing, unlike.misshapen, unlike.unknown, states[part]))
        held[part] = "F32"
    known = ENCODER + LANGUAGE + SPEECH + VISION
    if strange := tuple(name for name in released.stored if not name.startswith(known)):
        parts.append(Part("of no part", 0, 0, unknown=strange))
    return Survey(NAME, released.folder.name, tuple(parts), _skipped(released), session_s, held)


_SOLVED = ("decoder.", "spk_embed_affine_layer.")  # of `flow.pt`, what the stage `flow` runs on


def _halves(
    tensors: Mapping[str, Tensor], shapes: Mapping[str, Shape]
) -> Iterator[tuple[str, dict[str, Tensor], dict[str, Shape]]]:
    """`flow.pt` by the two stages that run on it."""
    for part, solves in (("flow encoder", False), ("flow", True)):
        yield (
            part,
            {name: each for name, each in tensors.items() if name.startswith(_SOLVED) is solves},
            {name: each for name, each in shapes.items() if name.startswith(_SOLVED) is solves},
        )


_STAGES = {  # whose states a part carries
    "audio encoder": ("mel", "audio_encoder"),
    "language model": ("llm_prefill",),
    "speech decoder": ("tts_condition",),
    "flow encoder": ("flow_encoder",),
    "flow": ("flow",),
    "vocoder": ("vocoder",),
}


def state_bytes(sizes: WholeSizes, session_s: int) -> dict[str, int]:
    """By part, what a conversation of so many seconds can carry at the most."""
    planned = plan(resized(timelines(), sizes), session_s=session_s)
    return {
        part: sum(state.max_bytes for state in planned.states if state.name.split(".")[0] in stages)
        for part, stages in _STAGES.items()
    }


def _skipped(released: Released) -> tuple[tuple[str, int, int], ...]:
    """What is there and never loaded: known tensors, and files that are never opened."""
    known = {"vision tensors": VISION, "speech tensors that no conversation uses": SPEECH_UNUSED}
    skipped = []
    for what, prefixes in known.items():
        found = [each for name, each in released.stored.items() if name.startswith(prefixes)]
        skipped.append((what, len(found), sum(each.bytes for each in found)))
    opened = {"config.json", _INDEX, _TOKENIZER, *released.shards, *VOICE}
    opened |= {f"{TOKEN2WAV}/{name}" for name in ("flow.yaml", "flow.pt", "hift.pt")}
    unopened = [count for name, count in released.folder.files() if name not in opened]
    skipped.append(("never opened, the released code among them", len(unopened), sum(unopened)))
    return tuple(each for each in skipped if each[1])


def _refuse_gguf(folder: Folder) -> None:
    if not folder.has("config.json") and (found := sorted(folder.root.glob("*.gguf"))):
        raise quantised(f"{folder.name} holds {found[0].name}: a GGUF conversion")


def _shards(folder: Folder) -> list[str]:
    """The safetensors that there must be: as the index lists them, or the one."""
    if not folder.has(_INDEX):
        if folder.has(_WHOLE):
            return [_WHOLE]
        folder.file(_INDEX)
    return sorted(set(_weight_map(folder).values()))


def _weight_map(folder: Folder) -> Mapping[str, str]:
    try:
        weight_map = json.loads(folder.file(_INDEX).read_text(encoding="utf-8"))["weight_map"]
        names = {str(tensor): str(shard) for tensor, shard in weight_map.items()}
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise BadWeights(f"{_INDEX} cannot be read: {error}", "the released index", FETCH) from error
    if not names:
        raise BadWeights(f"{_INDEX} lists nothing", "the released index", FETCH)
    if odd := [shard for shard in names.values() if not shard.endswith(".safetensors")]:
        raise BadWeights(f"{_INDEX} lists {odd[0]!r}", "safetensors files alone", FETCH)
    return names


def _refuse_unlisted(folder: Folder, shard_of: Mapping[str, str]) -> None:
    """Hold the index to what the shards hold: a shard of another release would fit it by name alone."""
    if not folder.has(_INDEX):
        return
    for tensor, shard in _weight_map(folder).items():
        if shard_of.get(tensor) != shard:
            raise BadWeights(f"{shard} does not hold {tensor}, which {_INDEX} has there", "files of one release", FETCH)


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
