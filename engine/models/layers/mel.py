"""The log-mel front end that Whisper was trained with, in torch.

The arithmetic of Whisper's own front end as transformers' `WhisperFeatureExtractor` does it, step by step, so that a
window's mel is the same to the bit; only what is constant is made once. Knows a window of samples and nothing of what
is in it. Entered by the engine thread.
"""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

SAMPLE_RATE_HZ = 16_000
HOP_SAMPLES = 160
FFT_SAMPLES = 400
MELS = 80

_LINEAR_HZ_PER_MEL = 200 / 3  # Slaney's scale: linear below 1 kHz,
_BREAK_HZ, _BREAK_MEL = 1000.0, 15.0  # logarithmic above, 27 mels to a factor of 6.4
_MELS_PER_E_FOLD = 27.0 / np.log(6.4)


def hz_to_mel(hz: NDArray[np.float64]) -> NDArray[np.float64]:
    """Slaney's mel scale."""
    above = _BREAK_MEL + np.log(np.maximum(hz, 1e-9) / _BREAK_HZ) * _MELS_PER_E_FOLD
    return np.where(hz >= _BREAK_HZ, above, hz / _LINEAR_HZ_PER_MEL)


def mel_to_hz(mel: NDArray[np.float64]) -> NDArray[np.float64]:
    """The inverse of `hz_to_mel`."""
    above = _BREAK_HZ * np.exp((mel - _BREAK_MEL) / _MELS_PER_E_FOLD)
    return np.where(mel >= _BREAK_MEL, above, mel * _LINEAR_HZ_PER_MEL)


def mel_filters(
    mels: int = MELS, rate_hz: int = SAMPLE_RATE_HZ, fft_samples: int = FFT_SAMPLES, highest_hz: float | None = None
) -> NDArray[np.float64]:
    """Triangles of equal area on Slaney's scale up to `highest_hz`, or half the rate: `[frequencies, mels]`."""
    highest_mel = float(hz_to_mel(np.array(highest_hz or rate_hz / 2)))
    edges_hz = mel_to_hz(np.linspace(0.0, highest_mel, mels + 2))
    bins_hz = np.linspace(0, rate_hz // 2, fft_samples // 2 + 1)
    widths_hz = np.diff(edges_hz)
    distance = edges_hz[None, :] - bins_hz[:, None]  # [frequencies, mels + 2]
    rising, falling = -distance[:, :-2] / widths_hz[:-1], distance[:, 2:] / widths_hz[1:]
    triangles = np.maximum(0.0, np.minimum(rising, falling))
    return np.asarray(triangles * (2.0 / (edges_hz[2:] - edges_hz[:-2]))[None, :])


class LogMel:
    """Turns a window of samples into the mel that Whisper hears.

    Args:
        mels: Channels.
    """

    def __init__(self, mels: int = MELS) -> None:
        self._window = torch.hann_window(FFT_SAMPLES)  # [fft]
        self._filters = torch.from_numpy(mel_filters(mels)).to(torch.float32).T  # [mels, frequencies]

    def __call__(self, window: Tensor) -> Tensor:
        """The window's log-mel, scaled to Whisper's range.

        Args:
            window: float32 `[1, samples]`, a whole number of hops, silence as zeros.

        Returns:
            float32 `[1, mels, samples / 160]`.
        """
        log = self.log((self.spectrum(window).abs() ** 2).contiguous())
        return scaled(log, log.max() - 8.0)

    def spectrum(self, window: Tensor) -> Tensor:
        """Complex `[1, frequencies, frames]`, as `torch.stft` lays it out."""
        return torch.stft(window, FFT_SAMPLES, HOP_SAMPLES, window=self._window, return_complex=True)[..., :-1]

    def log(self, power: Tensor) -> Tensor:
        """The logarithm of `power` `[1, frequencies, frames]` in each mel."""
        return torch.clamp(self._filters @ power, min=1e-10).log10()


def scaled(log: Tensor, floor: Tensor | float) -> Tensor:
    """A log-mel with nothing below `floor`, in Whisper's range."""
    return (torch.maximum(log, torch.as_tensor(floor)) + 4.0) / 4.0
