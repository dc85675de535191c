"""MiniCPM-o's weights from a released folder's safetensors, a part at a time, by released names.

Nothing of a folder is run, and of its files only the asked-for tensors are read. Entered by the engine thread.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from engine.errors import BadWeights, MissingWeights
from engine.models.layers.checked import Shape, refuse_unlike
from engine.models.layers.named import Named

ENCODER = ("apm.", "audio_projection_layer.")
LANGUAGE = ("llm.",)
SPEECH = ("tts.",)
SPEECH_UNUSED = ("tts.projector_spk.", "tts.model.embed_tokens.")  # the released code has them, and no unit comes by


def checked(
    what: str, tensors: Mapping[str, Tensor], shapes: Mapping[str, Shape], ignored: Sequence[str] = ()
) -> Named:
    """A part's tensors, held to their shapes, of one floating type.

    Args:
        what: The part, for errors.
        tensors: By released name.
        shapes: The same, as `engine.models.minicpm_o.sizes` has them.
        ignored: Names, or beginnings of names, of tensors that a checkpoint brings along and speech does not need.

    Raises:
        BadWeights: A tensor is missing, unknown, of another shape or type than the rest.
    """
    tensors = {name: each for name, each in tensors.items() if not name.startswith(tuple(ignored))}
    refuse_unlike(what, tensors, shapes)
    kinds = sorted({str(each.dtype).removeprefix("torch.") for each in tensors.values()})
    if len(kinds) > 1 or not next(iter(tensors.values())).is_floating_point():
        raise BadWeights(f"{what} comes as {' and '.join(kinds)}", "tensors of one floating type")
    return Named(tensors)


def read(folder: Path, prefixes: Sequence[str], device: torch.device) -> dict[str, Tensor]:
    """The tensors of a released folder whose names begin with one of `prefixes`, by their full names.

    Args:
        folder: Holds `model*.safetensors`; links are followed.
        prefixes: As `ENCODER`.
        device: Where they go.

    Raises:
        MissingWeights: The folder holds no such file.
        BadWeights: A file cannot be read, or two of them hold a tensor of one name.
    """
    files = sorted(folder.glob("model*.safetensors"))
    if not files:
        raise MissingWeights(f"{folder.name} holds no model*.safetensors", "the model's folder, as released")
    tensors: dict[str, Tensor] = {}
    for file in files:
        try:
            with safe_open(file, framework="pt") as stored:
                names = [name for name in stored.keys() if name.startswith(tuple(prefixes))]  # noqa: SIM118
                if twice := sorted(set(names) & set(tensors)):
                    raise BadWeights(f"{file.name} holds {twice[0]} again", "each tensor once", "fetch it anew")
                tensors |= {name: stored.get_tensor(name).to(device) for name in names}
        except (SafetensorError, OSError) as error:
            reason = str(error).split("\n", 1)[0]
            raise BadWeights(f"{file.name} cannot be read: {reason}", "a whole safetensors file") from error
    return tensors
