"""A conversation that a test leaves behind leaves the interpreter as it was."""

import gc
import sys
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def calm() -> Iterator[None]:
    """The interpreter's settings are the process's."""
    switch_s = sys.getswitchinterval()
    yield
    sys.setswitchinterval(switch_s)
    gc.enable()
    gc.unfreeze()
