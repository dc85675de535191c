"""What all tests share: tests that need a GPU or fetched weights are skipped aloud without them.

Where CI runs, there is no GPU, and missing weights are a failure.
"""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from engine.errors import BadWeights, MissingWeights
from engine.models.weights import locate, open_store


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("gpu") and not torch.cuda.is_available():
        pytest.skip("there is no CUDA device")
    marks = list(item.iter_markers("weights"))
    if not marks:
        return
    names = {name for mark in marks for name in mark.args} or open_store().manifest.of_model("pocket")
    try:
        for name in sorted(names):
            locate(name)
    except (MissingWeights, BadWeights) as error:
        if os.environ.get("CI"):
            pytest.fail(f"CI runs tests marked `weights`, but {error}", pytrace=False)
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def weights_dir() -> Callable[[str], Path]:
    """Finds a weight's converted folder by name, as the engine does; for tests marked `weights`."""
    return locate
