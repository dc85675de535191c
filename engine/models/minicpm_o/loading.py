"""A released folder's weights on a device: tensor by tensor from the mapped files straight to where they go.

Entered by the engine thread.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from engine.errors import BadWeights
from engine.models.layers.named import Named
from engine.models.minicpm_o.checkpoint import checked
from engine.models.minicpm_o.config import FETCH
from engine.models.minicpm_o.folder import FLOATS, Released
from engine.models.minicpm_o.made_up import WholeSizes
from engine.models.minicpm_o.surveying import survey_of
from engine.models.minicpm_o.tokens import Tokens
from engine.models.token2wav.checkpoint import Checkpoint, read_tensors
from engine.models.weights.progress import Progress, Quiet
from engine.models.weights.safetensors_header import Stored


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
    told = survey_of(released, str(dtype).removeprefix("torch."))
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
    dtype = FLOATS[stored.dtype]
    piece = mapped[stored.start : stored.start + stored.bytes]
    if stored.start % dtype.itemsize:
        piece = piece.clone()
    return piece.view(dtype).view(stored.shape)
