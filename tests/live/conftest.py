"""A conversation that a test leaves behind leaves the interpreter as it was; a virtual card for tests of real sound."""

import gc
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.virtual_card import VirtualCard, virtual_card


@pytest.fixture(autouse=True)
def calm() -> Iterator[None]:
    """The interpreter's settings are the process's."""
    switch_s = sys.getswitchinterval()
    yield
    sys.setswitchinterval(switch_s)
    gc.enable()
    gc.unfreeze()


@pytest.fixture(scope="module")
def card() -> Iterator[VirtualCard]:
    folder = Path(tempfile.mkdtemp(prefix="card"))  # a socket's path must be short: pytest's own folders are not
    try:
        with virtual_card(folder) as started:
            yield started
    finally:
        shutil.rmtree(folder, ignore_errors=True)
