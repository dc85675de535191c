from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from engine.errors import BadWeights
from engine.models.pocket.convert_silero import SHAPES, convert


def weights() -> dict[str, np.ndarray]:
    return {name: np.full(shape, index, np.float32) for index, (name, shape) in enumerate(SHAPES.items())}


def test_the_weights_arrive_unchanged(tmp_path: Path) -> None:
    (tmp_path / "source").mkdir()
    (tmp_path / "converted").mkdir()
    save_file(weights(), tmp_path / "source" / "silero_vad_16k.safetensors")

    convert(tmp_path / "source", tmp_path / "converted")

    converted = load_file(tmp_path / "converted" / "model.safetensors")
    assert converted.keys() == SHAPES.keys()
    assert all(np.array_equal(converted[name], array) for name, array in weights().items())


@pytest.mark.parametrize(("name", "array"), [("conv2.bias", np.zeros(63)), ("unknown", np.zeros(1))])
def test_another_network_is_refused_by_what_differs(tmp_path: Path, name: str, array: np.ndarray) -> None:
    file = tmp_path / "silero_vad_16k.safetensors"
    save_file({**weights(), name: array.astype(np.float32)}, file)

    with pytest.raises(BadWeights, match=name):
        convert(tmp_path, tmp_path)


def test_what_is_no_safetensors_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "silero_vad_16k.safetensors"
    file.write_bytes(b"not weights")

    with pytest.raises(BadWeights, match=r"silero_vad_16k\.safetensors cannot be read"):
        convert(file, tmp_path)
    with pytest.raises(BadWeights):
        convert(tmp_path / "nowhere.safetensors", tmp_path)
