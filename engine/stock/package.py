"""The released token2wav package, as the thing to be equal to: one wheel, fetched once, imported, never installed.

Installed as it declares itself it would bring librosa, diffusers, s3tokenizer and more; its flow and vocoder need none
of them. Of what those modules import beside torch and numpy, `onnxruntime` is installed already, `torchaudio`,
`s3tokenizer` and `hyperpyyaml` are never called here, and of `einops` and `scipy` three functions of a line each are
called. All of those that are absent are stood in for while the package is imported, and only then.
"""

import importlib
import shutil
import sys
import tempfile
import types
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch

from engine.models.weights import open_store
from engine.models.weights.files import copy_known, holds
from engine.models.weights.manifest import Wheel
from engine.models.weights.pip_client import download

WHEEL = Wheel(
    registry="pypi",
    package="stepaudio2-minicpmo",
    version="0.1.1",
    file="stepaudio2_minicpmo-0.1.1-py3-none-any.whl",
    bytes=95_133,
    sha256="7bf176cdadedabca30f4abb1fa49b7514981fbc8f763314fa811c2e4160a4523",
)


def cached_wheel() -> Path | None:
    """The wheel in the cache; None where it is not there."""
    path = open_store().root / "released" / WHEEL.file
    return path if holds(path, WHEEL.bytes, WHEEL.sha256) else None


def fetched_wheel() -> Path:
    """The wheel in the cache, fetched where it is not there yet.

    Raises:
        MissingWeights: It could not be had.
        BadWeights: Something else came.
    """
    if (cached := cached_wheel()) is not None:
        return cached
    path = open_store().root / "released" / WHEEL.file
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(dir=path.parent))
    try:
        with download(WHEEL, scratch, lambda _: None).open("rb") as stream:
            copy_known(stream, scratch / "checked", WHEEL.bytes, WHEEL.sha256, lambda _: None)
        (scratch / "checked").replace(path)
    finally:
        shutil.rmtree(scratch)
    return path


def import_released(wheel: Path) -> types.SimpleNamespace:
    """The released modules: `flow`, `flow_matching`, `dit`, `conformer`, `hift`, `driver`, straight from the wheel."""
    root = "stepaudio2"
    modules = {
        "flow": f"{root}.cosyvoice2.flow.flow",
        "flow_matching": f"{root}.cosyvoice2.flow.flow_matching",
        "dit": f"{root}.cosyvoice2.flow.decoder_dit",
        "conformer": f"{root}.cosyvoice2.transformer.upsample_encoder_v2",
        "hift": f"{root}.flashcosyvoice.modules.hifigan",
        "driver": f"{root}.token2wav",
    }
    if root not in sys.modules:  # a package without what its own __init__ would import
        package = types.ModuleType(root)
        package.__path__ = [f"{wheel}/{root}"]
        package.__spec__ = ModuleSpec(root, None, is_package=True)
        sys.modules[root] = package
    with _stand_ins():
        return types.SimpleNamespace(**{name: importlib.import_module(full) for name, full in modules.items()})


@contextmanager
def _stand_ins() -> Iterator[None]:
    """Modules in place of those that are absent, for as long as the released ones are imported."""
    audio = "stepaudio2.flashcosyvoice.utils.audio"  # part of the package, but it would bring librosa
    made: dict[str, dict[str, Any]] = {
        "einops": {"pack": _pack, "rearrange": None, "repeat": _repeat},
        "scipy": {},
        "scipy.signal": {"get_window": _get_window},
        "hyperpyyaml": {"load_hyperpyyaml": None},
        "s3tokenizer": {},
        "onnxruntime": {},
        "torchaudio": {},
        "torchaudio.compliance": {},
        "torchaudio.compliance.kaldi": {},
        audio: {"mel_spectrogram": None},
    }
    if "torch._dynamo" not in sys.modules:  # seconds to import, only for two settings that nothing here reads
        made["torch._dynamo"] = {"config": types.SimpleNamespace()}
    made_up = [name for name in made if name in (audio, "torch._dynamo") or find_spec(name.partition(".")[0]) is None]
    for name in made_up:
        module = types.ModuleType(name)
        module.__spec__ = ModuleSpec(name, None)
        vars(module).update(made[name])
        sys.modules[name] = module
        parent, _, child = name.rpartition(".")
        if parent and name != audio:
            setattr(sys.modules[parent], child, module)
    try:
        yield
    finally:
        for name in made_up:
            del sys.modules[name]
        if "torch._dynamo" in made_up:
            del torch._dynamo


def _pack(tensors: list[torch.Tensor], pattern: str) -> tuple[torch.Tensor, None]:
    assert pattern == "b * t"
    return torch.cat([tensor.flatten(1, -2) for tensor in tensors], 1), None


def _repeat(tensor: torch.Tensor, pattern: str, t: int) -> torch.Tensor:
    assert pattern == "b c -> b c t"
    return tensor.unsqueeze(2).expand(-1, -1, t)


def _get_window(name: str, size: int, fftbins: bool) -> np.ndarray:
    assert (name, fftbins) == ("hann", True)
    return 0.5 + 0.5 * np.cos(np.linspace(-np.pi, np.pi, size + 1)[:-1])
