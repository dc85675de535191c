from collections.abc import Iterator

import pytest
import torch


@pytest.fixture
def one_thread() -> Iterator[None]:
    """One thread for torch: what is said does not depend on it, and a busy machine is six times as fast so.

    Two threads of a small network wait for each other at every step (100 prompts, two cores with other work: 380 s
    with two, 58 s with one; 2026-12-01).
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
