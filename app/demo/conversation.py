"""The conversation that every runtime is asked to hold: bundled questions, with time between them for the answers.

Entered by any thread.
"""

from pathlib import Path

import numpy as np
import soundfile
from numpy.typing import NDArray

import assets
from engine.part_file import PartFile

QUESTIONS = Path(assets.__file__).parent / "questions"
RATE_HZ = 16_000
# Each question's file, and when it begins. The first answer is short; the second waits until a late one has been heard.
ASKED = (("capital_of_france.wav", 0.0), ("tell_me_about_rain.wav", 9.6))


def write_conversation(path: Path) -> None:
    """Write the user's side to `path` (16 kHz mono, 16 bits).

    Raises:
        OSError: It cannot be written.
    """
    part = PartFile(path)
    try:
        soundfile.write(part.path, _spoken(), RATE_HZ, subtype="PCM_16", format="WAV")
        part.finish()
    except soundfile.LibsndfileError as error:
        raise OSError(None, str(error)) from None
    finally:
        part.drop()


def _spoken() -> NDArray[np.float32]:
    """float32 [samples]."""
    out = np.zeros(0, np.float32)
    for name, start_s in ASKED:
        audio, rate_hz = soundfile.read(QUESTIONS / name, dtype="float32")
        assert rate_hz == RATE_HZ, name
        out = np.concatenate([out, np.zeros(round(start_s * RATE_HZ) - len(out), np.float32), audio])
    return out
