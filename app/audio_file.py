"""Audio files in and out: any WAV (or what else libsndfile reads) as a stream of mono blocks at the model's rate.

Reads block by block, so that an hour of eight channels at 96 kHz costs a second's memory. Knows nothing of sessions.
Entered by the engine thread of a headless run.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import soundfile
import soxr
from numpy.typing import NDArray

from engine.errors import BadAudio, NoRoom

MIN_SECONDS = 0.1
CLIPPED_LEVEL = 0.999
DC_HZ = 20.0


class SpeechFile:
    """A recording as mono float32 blocks of one second at `rate_hz`.

    Channels are averaged, which cannot clip. Samples that are not finite become silence, and a constant offset is
    taken away by a first-order high-pass; both are counted, and `remarks` says in words what a listener should know.

    Args:
        path: The file.
        rate_hz: The rate to resample to.

    Raises:
        BadAudio: There is no such file, it is not audio, or it holds less than a tenth of a second.
    """

    def __init__(self, path: Path, rate_hz: int) -> None:
        self.path, self.rate_hz = path, rate_hz
        if not path.is_file():
            raise BadAudio(f"{path} is not a file", "a recording", "name one that exists")
        try:
            info = soundfile.info(str(path))
        except soundfile.LibsndfileError as error:
            reason = str(error).rpartition(": ")[2].rstrip(".")
            raise BadAudio(
                f"{path.name} cannot be read as audio ({reason})", "a WAV, FLAC or Ogg file", "convert it first"
            ) from None
        self.source_rate_hz, self.channels, self.seconds = info.samplerate, info.channels, info.duration
        if self.seconds < MIN_SECONDS:
            raise BadAudio(
                f"{path.name} holds {self.seconds:.2f} s of audio", f"at least {MIN_SECONDS} s", "record it again"
            )
        self._samples = self._not_finite = self._clipped = 0
        self._peak = self._sum = 0.0

    def blocks(self) -> Iterator[NDArray[np.float32]]:
        """The recording, in order: float32 [samples], about a second each."""
        resampler = soxr.ResampleStream(self.source_rate_hz, self.rate_hz, 1, dtype="float32")
        offset = _OffsetRemover(self.source_rate_hz)
        with soundfile.SoundFile(str(self.path)) as file:
            while True:
                frames = file.read(self.source_rate_hz, dtype="float32", always_2d=True)  # [frames, channels]
                last = len(frames) < self.source_rate_hz
                block = resampler.resample_chunk(offset.remove(self._inspect(frames)), last=last)
                if len(block):
                    yield np.clip(block, -1.0, 1.0)
                if last:
                    return

    def _inspect(self, frames: NDArray[np.float32]) -> NDArray[np.float32]:
        finite = np.isfinite(frames)
        if not finite.all():
            self._not_finite += int((~finite).sum())
            frames = np.where(finite, frames, np.float32(0))
        if frames.size:
            self._peak = max(self._peak, float(np.abs(frames).max()))
        self._clipped += int((np.abs(frames) >= CLIPPED_LEVEL).any(axis=1).sum())
        self._samples += len(frames)
        mono: NDArray[np.float32] = frames.mean(axis=1, dtype=np.float32)
        self._sum += float(mono.sum(dtype=np.float64))
        return np.clip(mono, np.float32(-1), np.float32(1))

    @property
    def remarks(self) -> tuple[str, ...]:
        """What is odd about the audio read so far, a line each."""
        name, count, lines = self.path.name, max(1, self._samples), []
        if self._not_finite:
            lines.append(f"{name}: {self._not_finite} samples were not numbers and became silence")
        if self._samples and self._peak == 0:
            lines.append(f"{name} holds only zeros: nothing was said, so nothing is answered")
        elif self._samples and self._peak < 0.005:
            lines.append(f"{name} is very quiet (peak {self._peak:.4f} of 1): speech may be missed")
        if self._clipped > 0.001 * count:
            lines.append(
                f"{name} is clipped in {100 * self._clipped / count:.1f}% of its samples: words may be misheard"
            )
        if abs(self._sum / count) > 0.02:
            lines.append(f"{name} has a constant offset of {self._sum / count:+.2f}: it was taken away")
        return tuple(lines)


class _OffsetRemover:
    """A first-order high-pass at 20 Hz, below any voice, as the difference from a running mean."""

    def __init__(self, rate_hz: int) -> None:
        self._keep = float(np.exp(-2 * np.pi * DC_HZ / rate_hz))
        self._mean: float | None = None

    def remove(self, block: NDArray[np.float32]) -> NDArray[np.float32]:
        if not len(block):
            return block
        # A block's mean moves the running mean by as much as a filter run over the block would in the long term.
        mean = float(block.mean(dtype=np.float64))
        weight = 1.0 if self._mean is None else 1.0 - self._keep ** len(block)
        before = mean if self._mean is None else self._mean
        self._mean = before + weight * (mean - before)
        return block - np.linspace(before, self._mean, len(block), dtype=np.float32)


class ReplyFile:
    """The conversation's audible side, written as it sounds and renamed into place when it is whole.

    Args:
        path: The WAV to make; an older one is replaced at the end.
        rate_hz: The model's output rate.

    Raises:
        NoRoom: The folder cannot be written, or the disk is full.
    """

    def __init__(self, path: Path, rate_hz: int) -> None:
        self.path = path
        self._partial = path.with_name(f".{path.name}.{os.getpid()}.part")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = soundfile.SoundFile(
                str(self._partial), "w", samplerate=rate_hz, channels=1, subtype="PCM_16", format="WAV"
            )
        except (OSError, soundfile.LibsndfileError) as error:
            raise NoRoom(
                f"{path} cannot be written ({error})", "a folder that can be", "name another with --out"
            ) from None

    def write(self, samples: NDArray[np.float32]) -> None:
        try:
            self._file.write(samples)
        except (OSError, soundfile.LibsndfileError) as error:
            self.discard()
            raise NoRoom(f"{self.path} cannot be written ({error})", "room on the disk", "free some") from None

    def close(self) -> None:
        try:
            self._file.close()
            os.replace(self._partial, self.path)
        except (OSError, soundfile.LibsndfileError) as error:
            self.discard()
            raise NoRoom(f"{self.path} cannot be written ({error})", "room on the disk", "free some") from None

    def discard(self) -> None:
        """Leave nothing half-written."""
        self._file.close()
        self._partial.unlink(missing_ok=True)
