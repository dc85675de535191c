"""The voice: a clause of text in, its speech out.

A stop-gap until our own voice speaks: Piper's "joe" (VITS) through onnxruntime, a clause at a time, the same for every
runtime but for `stock`, which speaks an answer as a whole. Knows no unit and no deadline; entered by the engine thread.
"""

import json
import os
import unicodedata
from pathlib import Path
from typing import Any

import numpy as np
import soxr
from numpy.typing import NDArray

from engine.errors import BadWeights, MissingWeights
from engine.models.pocket.phonemes import Phonemes
from engine.models.pocket.speech import Speech
from engine.models.pocket.voice_timelines import RATE_HZ
from engine.step import AUDIBLE_LEVEL

MODEL = "en_US-joe-medium.onnx"

FETCH = "run: duplexcadence models fetch pocket"
# The rest after a clause, in seconds, by how it ends; one cut inside a phrase gets none.
RESTS_S = {".": 0.22, "!": 0.22, "?": 0.22, ";": 0.14, ":": 0.14, ",": 0.1}
LEAD_S, TAIL_S = 0.005, 0.03  # kept around what is audible: a breath of onset, the end of a decay
NOISE, DURATION_NOISE = 0.667, 0.8  # as the voice was released: a little life in tone and rhythm

# As long as clauses become, so that memory is as high as it will be before the first unit.
LONG_CLAUSE = (
    "Today is Wednesday, September the twenty-third, two thousand and twenty-seven, and it is very late already."
)


class Voice:
    """Says clauses.

    Args:
        folder: Holds `en_US-joe-medium.onnx` and its `.json`.
        seed: Of the voice's noise: two voices with one seed say the same sequence of clauses in the same way.
        threads: Of onnxruntime. On two cores with other work on them one took 0.6 of the time of two (2026-12-01).
        whole: An answer is spoken in one piece, once all of it is written, as the released program does.

    Attributes:
        pace: How fast; 1 is the voice's own.
    """

    def __init__(self, folder: Path, *, seed: int = 0, threads: int = 1, whole: bool = False) -> None:
        self.whole, self.pace = whole, 1.0
        self._symbols, self._rate_hz = _read_config(folder / f"{MODEL}.json")
        self._session = _open_session(folder / MODEL, seed, threads)
        self._phonemes = Phonemes()
        for clause in ("One, two.", LONG_CLAUSE):  # what is slow the first time is done here
            self.say(clause)

    def say(self, clause: str) -> NDArray[np.float32]:
        """A clause's speech, and the rest after it.

        Args:
            clause: Text as written; digits and abbreviations are said in words.

        Returns:
            float32 [samples] at 24 kHz; empty where there is nothing to say.
        """
        ids = self._ids(self._phonemes.ipa(clause))
        if not ids:
            return np.zeros(0, np.float32)
        (audio,) = self._session.run(
            None,
            {
                "input": np.array([ids], np.int64),  # [batch, symbols with blanks between]
                "input_lengths": np.array([len(ids)], np.int64),
                "scales": np.array([NOISE, 1 / self.pace, DURATION_NOISE], np.float32),
            },
        )
        voiced = soxr.resample(_trim(audio.reshape(-1), self._rate_hz), self._rate_hz, RATE_HZ)
        rest = np.zeros(round(RESTS_S.get(clause.rstrip(" \"')")[-1:], 0.0) / self.pace * RATE_HZ), np.float32)
        said: NDArray[np.float32] = np.concatenate([voiced, rest])
        return said.clip(-1, 1)

    def speech(self) -> Speech:
        """A fresh queue for one answer."""
        return Speech()

    def _ids(self, ipa: str) -> list[int]:
        """Symbols as the voice counts them, a blank between; it has none for a few marks of punctuation."""
        known = [self._symbols[symbol] for symbol in unicodedata.normalize("NFD", ipa) if symbol in self._symbols]
        if not known:
            return []
        start, blank, end = (self._symbols[mark] for mark in "^_$")
        return [start, blank, *(number for symbol in known for number in (symbol, blank)), end]


def _trim(audio: NDArray[np.float32], rate_hz: int) -> NDArray[np.float32]:
    """Cut silence from both ends; what is kept of it rises from and falls to nothing."""
    audible = np.flatnonzero(np.abs(audio) >= AUDIBLE_LEVEL)
    if not len(audible):
        return audio[:0]
    lead, tail = int(LEAD_S * rate_hz), int(TAIL_S * rate_hz)
    start, end = max(0, int(audible[0]) - lead), min(len(audio), int(audible[-1]) + 1 + tail)
    kept = audio[start:end].copy()
    rise, fall = int(audible[0]) - start, end - int(audible[-1]) - 1
    kept[:rise] *= np.linspace(0, 1, rise, endpoint=False, dtype=np.float32)
    kept[len(kept) - fall :] *= np.linspace(1, 0, fall, dtype=np.float32)
    return kept


def _read_config(path: Path) -> tuple[dict[str, int], int]:
    try:
        config = json.loads(path.read_text("utf-8"))
        return {symbol: ids[0] for symbol, ids in config["phoneme_id_map"].items()}, int(config["audio"]["sample_rate"])
    except FileNotFoundError:
        raise MissingWeights(f"no {path.name}", "the voice's files", FETCH) from None
    except (ValueError, KeyError, IndexError, TypeError, OSError) as error:
        raise BadWeights(f"{path.name} is no voice's description ({error})", "the released file", FETCH) from error


def _open_session(path: Path, seed: int, threads: int) -> Any:
    if not path.is_file():
        raise MissingWeights(f"no {path.name}", "the voice's files", FETCH)
    # Else importing it writes an identifier to the user's home and sends it to its makers (seen in 1.32).
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    if threads:
        options.enable_mem_pattern = False  # it keeps a plan for every length ever spoken
    onnxruntime.set_seed(seed)  # read once, as the session is made
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's errors share no public base
        raise BadWeights(f"{path.name} cannot be loaded ({error})", "the released file", FETCH) from error
