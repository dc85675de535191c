"""A virtual card for each test that asks for one."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.virtual_card import VirtualCard, virtual_card


@pytest.fixture
def card() -> Iterator[VirtualCard]:
    folder = Path(tempfile.mkdtemp(prefix="card"))  # a socket's path must be short: pytest's own folders are not
    try:
        with virtual_card(folder) as started:
            yield started
    finally:
        shutil.rmtree(folder, ignore_errors=True)
