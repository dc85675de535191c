"""A tiny rig on the CPU, with the released package beside it."""

import pytest

from engine.bench.place import CpuPlace
from engine.bench.rig import Asked, Rig
from engine.bench.tails import find_tail
from tests.models.conftest import one_thread, released

__all__ = ["one_thread", "released"]


@pytest.fixture
def rig(released: object, one_thread: None) -> Rig:
    """MiniCPM-o's tail, tiny; skipped aloud where the released package is not here."""
    return Rig(Asked(find_tail("minicpm-o-4.5"), device="cpu", tiny=True), CpuPlace())
