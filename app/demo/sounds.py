"""What is heard of a session, as a page holds it: both sides of it, or a stand-in where the voice is none.

Entered by any thread.
"""

import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import soundfile
import soxr
from numpy.typing import NDArray

from engine.comparison import Measured

Samples = NDArray[np.float32]  # mono

RATE_HZ = 24_000
FADE_S = 0.01


def both_sides(recording: Path, reply: Path, cadence_s: float) -> bytes:
    """The user's side and what was heard of the agent, on one time axis that begins with the recording.

    Args:
        recording: What was heard by the agent, from a cadence before the session's start.
        reply: What was heard of the agent, from the session's start.
        cadence_s: How long the first chunk was waited for.

    Returns:
        FLAC, 24 kHz mono.
    """
    asked, said = _read(recording), _read(reply)
    lead = round(cadence_s * RATE_HZ)
    whole = np.zeros(max(len(asked), lead + len(said)), np.float32)
    whole[: len(asked)] += asked
    whole[lead : lead + len(said)] += said
    return flac(whole.clip(-1, 1))


def cut_speech(track: Samples, session: Measured) -> Samples:
    """A speech track in place of a voice that is none: heard where the log says that the voice was, silent elsewhere.

    Nothing of the track is lost in a gap: it goes on afterwards, as a late voice does. It begins anew where it ends.

    Args:
        track: float32 [samples] at 24 kHz.
        session: Whose stretches of voice are taken.

    Returns:
        float32 [samples] at 24 kHz, from the session's start.
    """
    end_ns = max((stretch.end_ns for stretch in session.stretches), default=0)
    out, at = np.zeros(_samples(end_ns), np.float32), 0
    for stretch in session.stretches:
        if stretch.gap:
            continue
        start, count = _samples(stretch.start_ns), _samples(stretch.end_ns) - _samples(stretch.start_ns)
        piece = np.take(track, np.arange(at, at + count), mode="wrap")
        out[start : start + count] = _faded(piece)
        at += count
    return out


def flac(samples: Samples) -> bytes:
    """float32 [samples] at 24 kHz as FLAC of 16 bits, which loses nothing that a reply's WAV holds."""
    file = io.BytesIO()
    soundfile.write(file, samples, RATE_HZ, format="FLAC", subtype="PCM_16")
    return file.getvalue()


def read_track(paths: Sequence[Path]) -> Samples:
    """Recordings, one after the other, as float32 [samples] at 24 kHz."""
    return np.concatenate([_read(path) for path in paths])


def _read(path: Path) -> Samples:
    samples, rate_hz = soundfile.read(path, dtype="float32", always_2d=True)
    mono: Samples = samples.mean(axis=1)
    return mono if rate_hz == RATE_HZ else soxr.resample(mono, rate_hz, RATE_HZ)


def _samples(ns: int) -> int:
    return ns * RATE_HZ // 1_000_000_000


def _faded(piece: Samples) -> Samples:
    fade = min(round(FADE_S * RATE_HZ), len(piece) // 2)
    if fade:
        ramp = np.linspace(0, 1, fade, dtype=np.float32)
        piece[:fade] *= ramp
        piece[len(piece) - fade :] *= ramp[::-1]
    return piece
