"""Without CUDA, all imports, and whoever asks for its memory is told what is missing."""

import sys
from types import ModuleType

import pytest
import torch

from engine.cuda_vmm import CudaDriver
from engine.errors import MissingPart


def test_without_the_bindings_it_says_how_to_get_them(monkeypatch):
    monkeypatch.setitem(sys.modules, "cuda", None)
    monkeypatch.setitem(sys.modules, "cuda.bindings", None)
    monkeypatch.setitem(sys.modules, "cuda.bindings.driver", None)
    with pytest.raises(MissingPart, match=r"duplexcadence\[cuda\]"):
        CudaDriver(torch.device("cuda"))


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a device")
def test_without_a_device_it_says_so(monkeypatch):
    for name in ("cuda", "cuda.bindings", "cuda.bindings.driver"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    with pytest.raises(MissingPart, match="no CUDA device"):
        CudaDriver(torch.device("cuda"))
