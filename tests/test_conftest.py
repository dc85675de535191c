"""The mark `weights`: skipped aloud where weights are missing, failed where CI says that they must be there."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TEST = """
import pytest

@pytest.mark.weights
def test_all_of_pocket():
    pass

@pytest.mark.weights("pocket-silero")
def test_one():
    pass

def test_none():
    pass
"""


@pytest.mark.slow
@pytest.mark.parametrize(("ci", "counts"), [("", "1 passed, 2 skipped"), ("true", "1 passed, 2 errors")])
def test_tests_without_their_weights(tmp_path: Path, ci: str, counts: str) -> None:
    (tmp_path / "test_marked.py").write_text(TEST)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = weights\naddopts = --strict-markers -rA\n")
    environment = {**os.environ, "CI": ci, "DUPLEXCADENCE_CACHE": str(tmp_path / "cache"), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "pytest", "-p", "tests.conftest", "-q", "-p", "no:cacheprovider", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path, check=False)
    assert counts in done.stdout
    assert "run: duplexcadence models fetch pocket" in done.stdout
    assert done.returncode == (1 if ci else 0)
