"""The released token2wav package, for tests that hold ours to it; without a network they are skipped aloud."""

import os
import types
from collections.abc import Iterator

import pytest
import torch

from engine.errors import CadenceError
from engine.stock.package import fetched_wheel, import_released


@pytest.fixture(scope="session")
def released() -> types.SimpleNamespace:
    """The released modules; see `engine.stock.package.import_released`."""
    try:
        wheel = fetched_wheel()
    except CadenceError as error:
        if os.environ.get("CI"):
            pytest.fail(f"CI holds token2wav to the released package, but {error}", pytrace=False)
        pytest.skip(f"the released package is not here: {error}")
    return import_released(wheel)


@pytest.fixture(scope="module")
def one_thread() -> Iterator[None]:
    """Tiny products are over before a second thread has woken."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
