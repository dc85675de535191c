"""The voice's layers stream as they run whole. In a process of its own: the training code is no package."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "packaging" / "train_voice"


def test_a_prepared_corpus_is_read_as_it_was_written(tmp_path: Path) -> None:
    code = """
import sys, pathlib, numpy as np, corpus
def made_of(row, text, symbols, samples):
    starts, audio = np.arange(len(symbols) + 1), np.arange(samples, dtype=np.int16)
    return corpus.Utterance(row, text, symbols, starts, audio, np.ones(samples // 480, np.float32))
made = [made_of(7, "Hi.", [0, 5, 0], 960), made_of(9, "Caf\u00e9?", [0, 0], 1920)]
path = pathlib.Path(sys.argv[1])
corpus.save(made, path)
for one, other in zip(made, corpus.load(path), strict=True):
    assert (one.row, one.text, one.symbols) == (other.row, other.text, other.symbols)
    for name in ("starts", "audio", "pitch"):
        a, b = getattr(one, name), getattr(other, name)
        assert a.dtype == b.dtype and np.array_equal(a, b), name
"""
    command = [sys.executable, "-c", code, str(tmp_path / "corpus.npz")]
    subprocess.run(command, check=True, env={**os.environ, "PYTHONPATH": str(FOLDER)}, timeout=100)


@pytest.mark.slow
def test_streamed_equals_whole() -> None:
    done = subprocess.run([sys.executable, str(FOLDER), "check"], capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stdout + done.stderr
