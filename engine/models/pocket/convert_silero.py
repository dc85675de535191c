"""Copy Silero's 16 kHz weights, after a look that they are the network that `vad` runs.

Runs once, when weights are fetched, in a process of its own. The package ships safetensors already.
"""

import shutil
from pathlib import Path

from safetensors import SafetensorError, safe_open

from engine.errors import BadWeights

SHAPES: dict[str, list[int]] = {
    "stft_conv.weight": [258, 1, 256],
    "conv1.weight": [128, 129, 3],
    "conv1.bias": [128],
    "conv2.weight": [64, 128, 3],
    "conv2.bias": [64],
    "conv3.weight": [64, 64, 3],
    "conv3.bias": [64],
    "conv4.weight": [128, 64, 3],
    "conv4.bias": [128],
    "lstm_cell.weight_ih": [512, 128],
    "lstm_cell.weight_hh": [512, 128],
    "lstm_cell.bias_ih": [512],
    "lstm_cell.bias_hh": [512],
    "final_conv.weight": [1, 128, 1],
    "final_conv.bias": [1],
}


def convert(source: Path, destination: Path) -> None:
    """Write `model.safetensors`.

    Args:
        source: Silero's `silero_vad_16k.safetensors`, or the folder that holds it.
        destination: An empty folder.

    Raises:
        BadWeights: The file is missing or holds another network.
    """
    file = source / "silero_vad_16k.safetensors" if source.is_dir() else source
    try:
        with safe_open(file, "numpy") as tensors:
            shapes = {name: list(tensors.get_slice(name).get_shape()) for name in tensors.keys()}  # noqa: SIM118
    except (OSError, SafetensorError) as error:
        raise BadWeights(f"{file.name} cannot be read ({error})", "Silero's weights as safetensors") from error
    if shapes != SHAPES:
        wrong = sorted(name for name in {*shapes, *SHAPES} if shapes.get(name) != SHAPES.get(name))
        raise BadWeights(f"{file.name} differs from Silero's 16 kHz network in {', '.join(wrong)}", "Silero VAD 6")
    shutil.copyfile(file, destination / "model.safetensors")
