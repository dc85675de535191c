"""Audio files in and out: any WAV (or what else libsndfile reads) as a stream of mono blocks at the model's rate.

Reads block by block, so that an hour of eight channels at 96 kHz costs a second's memory. Knows nothing of sessions.
Entered by the engine thread of a headless run.
"""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np
import soundfile
import soxr
from numpy.typing import NDArray

from engine.errors import BadAudio, NoRoom
from engine.part_file import PartFile

MIN_SECONDS = 0.1
MIN_RATE_HZ = 4000  # below it no speech is left to understand
CLIPPED_LEVEL = 0.999
CANCELLED_LEVEL = 0.05  # of the channels' own level: what their mean is left with where they oppose each other


class SpeechFile:
    """A recording as mono float32 blocks of one second at `rate_hz`.

    Channels are averaged, which cannot clip. Samples that are not finite become silence, and a constant offset is
    taken away; both are counted, and `remarks` says in words what a listener should know.

    Args:
        path: The file.
        rate_hz: The rate to resample to.

    Raises:
        BadAudio: There is no such file, it is not audio, holds less than a tenth of a second, or is of too low a rate.
    """

    def __init__(self, path: Path, rate_hz: int) -> None:
        self.path, self.rate_hz = path, rate_hz
        if not os.path.isfile(path):
            raise BadAudio(f"{path} is not a file", "a recording", "name one that exists")
        try:
            info = soundfile.info(_native(path))
        except soundfile.LibsndfileError as error:
            raise BadAudio(
                f"{path.name} cannot be read as audio ({_reason(error)})", "a WAV, FLAC or Ogg file", "convert it first"
            ) from None
        self.source_rate_hz, self.channels, self.seconds = info.samplerate, info.channels, info.duration
        if self.seconds < MIN_SECONDS:
            raise BadAudio(
                f"{path.name} holds {self.seconds:.2f} s of audio", f"at least {MIN_SECONDS} s", "record it again"
            )
        if self.source_rate_hz < MIN_RATE_HZ:
            raise BadAudio(f"{path.name} has {self.source_rate_hz} samples a second", f"at least {MIN_RATE_HZ}")
        self._stated = info.frames
        self._ended = False
        self._samples = self._not_finite = self._clipped = 0
        self._peak = self._sum = self._energy = self._channel_energy = 0.0

    def blocks(self) -> Iterator[NDArray[np.float32]]:
        """The recording, in order: float32 [samples], about a second each.

        Raises:
            BadAudio: The file is damaged; says where.
        """
        resampler = soxr.ResampleStream(self.source_rate_hz, self.rate_hz, 1, dtype="float32")
        offset = _OffsetRemover(self.source_rate_hz)
        last = False
        with soundfile.SoundFile(_native(self.path)) as file:
            while not last:
                try:
                    frames = file.read(self.source_rate_hz, dtype="float32", always_2d=True)  # [frames, channels]
                except soundfile.LibsndfileError as error:
                    reached_s = self._samples / self.source_rate_hz
                    raise BadAudio(
                        f"{self.path.name} is damaged after {reached_s:.0f} s ({_reason(error)})",
                        "a whole file",
                        "record it again, or cut it there",
                    ) from None
                last = len(frames) < self.source_rate_hz
                block = resampler.resample_chunk(offset.remove(self._inspect(frames)), last=last)
                if len(block):
                    yield np.clip(block, -1.0, 1.0)
        self._ended = True

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
        self._energy += float(np.square(mono, dtype=np.float64).sum())
        self._channel_energy += float(np.square(frames, dtype=np.float64).sum()) / self.channels
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
        elif self._energy < CANCELLED_LEVEL**2 * self._channel_energy:
            lines.append(
                f"{name}: its channels cancel each other out when mixed: speech may be missed; keep one of them"
            )
        if self._clipped > 0.001 * count:
            lines.append(
                f"{name} is clipped in {100 * self._clipped / count:.1f}% of its samples: words may be misheard"
            )
        if self._ended and self._samples < self._stated:
            missing_s = (self._stated - self._samples) / self.source_rate_hz
            lines.append(f"{name} is damaged: {missing_s:.1f} s of it could not be read")
        if abs(self._sum / count) > 0.02:
            lines.append(f"{name} has a constant offset of {self._sum / count:+.2f}: it was taken away")
        return tuple(lines)


class _OffsetRemover:
    """Takes away a constant offset, or one that drifts over seconds, and nothing that sounds.

    It follows the blocks' means, each by as much of a second as it lasts, in straight lines.
    """

    def __init__(self, rate_hz: int) -> None:
        self._rate_hz = rate_hz
        self._offset: float | None = None

    def remove(self, block: NDArray[np.float32]) -> NDArray[np.float32]:
        if not len(block):
            return block
        mean = float(block.mean(dtype=np.float64))
        before = mean if self._offset is None else self._offset
        self._offset = before + (mean - before) * len(block) / self._rate_hz
        return block - np.linspace(before, self._offset, len(block), dtype=np.float32)


class ReplyFile:
    """The conversation's audible side, written as it sounds; it takes its place as it is closed.

    As a context manager it closes however the block ends, and keeps what has sounded; if nothing has, an older file
    stays.

    Args:
        path: The WAV to make; an older one is replaced at the end.
        rate_hz: The model's output rate.

    Attributes:
        kept: Whether it is in its place.

    Raises:
        AskedWrongly: What is at `path` is no file.
        NoRoom: The folder cannot be written, or the disk is full.
    """

    kept = False

    def __init__(self, path: Path, rate_hz: int) -> None:
        self.path = path
        self._part = PartFile(path)
        self._sounded = False
        try:
            self._file = soundfile.SoundFile(
                _native(self._part.path), "w", samplerate=rate_hz, channels=1, subtype="PCM_16", format="WAV"
            )
        except (OSError, soundfile.LibsndfileError) as error:
            self._part.drop()
            raise NoRoom(
                f"{path} cannot be written ({_reason(error)})", "a folder that can be", "name another with --out"
            ) from None

    def write(self, samples: NDArray[np.float32]) -> None:
        """Append float32 [samples].

        Raises:
            NoRoom: The disk took not all of it; nothing is kept.
        """
        try:
            self._file.write(samples)
        except (OSError, soundfile.LibsndfileError) as error:
            raise self._given_up(error) from None
        self._sounded = True

    def close(self) -> None:
        """Take the place, once.

        Raises:
            NoRoom: The system refused; nothing is kept.
        """
        if self._file.closed:
            return
        try:
            self._file.close()
            self._part.finish()
        except (OSError, soundfile.LibsndfileError) as error:
            raise self._given_up(error) from None
        self.kept = True

    def discard(self) -> None:
        """Leave nothing half-written."""
        self._file.close()
        self._part.drop()

    def _given_up(self, error: Exception) -> NoRoom:
        self.discard()
        return NoRoom(f"{self.path} cannot be written ({_reason(error)})", "room on the disk", "free some")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None or self._sounded:
            self.close()
        else:
            self.discard()


def _native(path: Path) -> str | bytes:
    """A path as soundfile takes it, whatever bytes are in it."""
    return str(path) if sys.platform == "win32" else os.fsencode(path)


def _reason(error: Exception) -> str:
    """An error's own words, without the path that libsndfile puts before them."""
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return str(error).rpartition(": ")[2].rstrip(".")
