"""The released mel of MiniCPM-o: transformers' Whisper extractor over all the audio held, second by second.

The released control flow (`StreamingMelProcessorExact`, `MiniCPMAAudioProcessor`) in words of our own. Entered by the
engine thread.
"""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from transformers import WhisperFeatureExtractor

RATE_HZ, HOP, HALF_WINDOW, FRAMES, CONTEXT = 16_000, 160, 200, 100, 2
Samples = NDArray[np.float32]


class _Extractor(WhisperFeatureExtractor):
    """As transformers', but that quiet may be cut off at a fixed level."""

    floor: float | None = None  # None: eight decades below the loudest

    def _torch_extract_fbank_features(self, waveform: Samples, device: str = "cpu") -> Samples:
        audio = torch.from_numpy(waveform).to(device, torch.float32)
        window = torch.hann_window(self.n_fft, device=device)
        spectrum = torch.stft(audio, n_fft=self.n_fft, hop_length=self.hop_length, window=window, return_complex=True)
        power = spectrum[..., :-1].abs() ** 2
        filters = torch.from_numpy(self.mel_filters).to(device, torch.float32)
        log = torch.clamp(filters.T @ power, min=1e-10).log10()
        if self.floor is None:
            loudest = log.max(dim=2, keepdim=True)[0].max(dim=1, keepdim=True)[0]
            log = torch.maximum(log, loudest - 8.0)
        else:
            log = torch.maximum(log, torch.tensor(self.floor, dtype=log.dtype))
        found: Samples = ((log + 4.0) / 4.0).numpy()
        return found


class ReleasedMel:
    """Chunks to the frames that go out."""

    def __init__(self) -> None:
        self._extract: Any = _Extractor()  # type: ignore[no-untyped-call]
        self._buffer: Samples = np.zeros(0, np.float32)
        self._sent, self._base = 0, 0

    @property
    def chunk_samples(self) -> int:
        """Samples that the next chunk holds."""
        return RATE_HZ if self._sent else round(1.035 * RATE_HZ) // HOP * HOP

    def __call__(self, chunk: Samples) -> Tensor:
        """A chunk's frames, `[1, 80, n]`; all of the audio held is worked out anew."""
        self._buffer = np.concatenate([self._buffer, chunk])
        if len(self._buffer) >= 30 * RATE_HZ:
            self._buffer = self._buffer[10 * RATE_HZ :]
            self._base += 10 * RATE_HZ // HOP
        self._extract.floor = -10.0 if len(self._buffer) < 5 * RATE_HZ else None
        whole: Tensor = self._extract(
            self._buffer, sampling_rate=RATE_HZ, return_tensors="pt", padding=False
        ).input_features
        stable = min(whole.shape[-1], max(0, (len(self._buffer) - HALF_WINDOW) // HOP + 1))
        end = self._sent + FRAMES + CONTEXT
        if self._base + stable < end:
            return whole[:, :, :0]
        start, self._sent = max(0, self._sent - CONTEXT), self._sent + FRAMES
        return whole[:, :, max(0, start - self._base) : end - self._base]
