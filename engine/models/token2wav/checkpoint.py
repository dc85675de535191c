"""token2wav's weights from a folder as released (`flow.yaml`, `flow.pt`, `hift.pt`), read without running any of it.

Pickles are opened for tensors alone, and every name and shape is checked before anything is used. Entered by the engine
thread.
"""

import pickle
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from engine.errors import BadWeights, MissingWeights
from engine.models.layers.checked import refuse_unlike
from engine.models.layers.hift import HiftSizes
from engine.models.layers.named import Named
from engine.models.token2wav.flow_yaml import read_flow_yaml
from engine.models.token2wav.shapes import flow_shapes, vocoder_shapes
from engine.models.token2wav.sizes import Token2WavSizes

_OLD_NAMES = {"weight_g": "parametrizations.weight.original0", "weight_v": "parametrizations.weight.original1"}
_UNREADABLE = (  # what a file of any bytes may come to
    *(OSError, RuntimeError, ValueError, TypeError, LookupError, AttributeError, EOFError, AssertionError),
    *(pickle.UnpicklingError, struct.error),
)


@dataclass(frozen=True)
class Checkpoint:
    """Weights in float32, checked against their sizes.

    Args:
        sizes: Of both halves.
        flow: Speech tokens to mel.
        vocoder: Mel to sound.
    """

    sizes: Token2WavSizes
    flow: Named
    vocoder: Named

    @classmethod
    def of(cls, sizes: Token2WavSizes, flow: Mapping[str, Tensor], vocoder: Mapping[str, Tensor]) -> "Checkpoint":
        """Check tensors under their released names.

        Raises:
            BadWeights: A tensor is missing, unknown, or of another shape.
        """
        vocoder = vocoder_named(vocoder)
        refuse_unlike("flow.pt", flow, flow_shapes(sizes.flow))
        refuse_unlike("hift.pt", vocoder, vocoder_shapes(sizes.vocoder))
        return cls(sizes, Named(flow), Named(vocoder))


def load_checkpoint(folder: Path, device: torch.device, vocoder: HiftSizes | None = None) -> Checkpoint:
    """Read a released folder, usually `assets/token2wav` of a model's.

    Args:
        folder: Holds the three files.
        device: Where the tensors go.
        vocoder: The vocoder's sizes, which no file tells; as released where not given.

    Raises:
        MissingWeights: A file is not there.
        BadWeights: A file is not what it should be.
    """
    for name in ("flow.yaml", "flow.pt", "hift.pt"):
        if not (folder / name).is_file():
            raise MissingWeights(f"{name} is not in {folder.name}", "flow.yaml, flow.pt and hift.pt, as released")
    sizes = Token2WavSizes(read_flow_yaml(folder / "flow.yaml"), vocoder or HiftSizes())
    return Checkpoint.of(sizes, read_tensors(folder / "flow.pt", device), read_tensors(folder / "hift.pt", device))


def read_tensors(path: Path, device: torch.device) -> dict[str, Tensor]:
    """A released `.pt` file's tensors, by name, in float32; on the meta device none of their bytes is read.

    Raises:
        BadWeights: It cannot be read, would run something, or holds something else beside tensors.
    """
    try:
        stored = torch.load(path, map_location="meta" if device.type == "meta" else "cpu", weights_only=True)
    except _UNREADABLE as error:
        reason = str(error).split("\n", 1)[0]
        raise BadWeights(f"{path.name} cannot be read: {reason}", "tensors by name and nothing else") from error
    if not isinstance(stored, dict) or not all(
        isinstance(name, str) and isinstance(tensor, Tensor) and tensor.is_floating_point()
        for name, tensor in stored.items()
    ):
        raise BadWeights(f"{path.name} holds something else beside tensors by name", "a released state dict")
    return {name: tensor.to(device, torch.float32) for name, tensor in stored.items()}


def vocoder_named(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """A released vocoder's tensors under the vocoder's own names: no trainer's prefix, torch's newer spelling."""
    return {_vocoder_name(name): tensor for name, tensor in tensors.items()}


def _vocoder_name(name: str) -> str:
    name = name.replace("generator.", "")
    head, dot, tail = name.rpartition(".")
    return f"{head}{dot}{_OLD_NAMES.get(tail, tail)}"
