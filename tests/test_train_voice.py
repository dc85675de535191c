"""The voice's layers stream as they run whole. In a process of its own: the training code is no package."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
def test_streamed_equals_whole() -> None:
    folder = Path(__file__).parents[1] / "packaging" / "train_voice"
    done = subprocess.run([sys.executable, str(folder), "check"], capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stdout + done.stderr
