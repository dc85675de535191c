"""Log-mel spectrogram of the voice: 80 bins, 50 Hz, 24 kHz. Frame t spans samples [480 t - 720, 480 t + 1200)."""

import functools
import math

import torch
from torch import Tensor

RATE_HZ, HOP, N_FFT, BINS, HIGH_HZ = 24000, 480, 1920, 80, 12000.0


def _slaney(hz: float) -> float:
    """Slaney's mel scale: linear to 1 kHz, logarithmic above."""
    return hz / (200 / 3) if hz < 1000 else 15 + math.log(hz / 1000) / (math.log(6.4) / 27)


def _slaney_hz(mel: Tensor) -> Tensor:
    return torch.where(mel < 15, mel * (200 / 3), 1000 * torch.exp((mel - 15) * (math.log(6.4) / 27)))


@functools.cache
def filters(n_fft: int, bins: int, high_hz: float, device: str) -> Tensor:
    """Triangular filters of equal area, [n_fft // 2 + 1, bins]."""
    edges = _slaney_hz(torch.linspace(0, _slaney(high_hz), bins + 2, dtype=torch.float64))
    hz = torch.linspace(0, RATE_HZ / 2, n_fft // 2 + 1, dtype=torch.float64)[:, None]
    up = (hz - edges[:-2]) / (edges[1:-1] - edges[:-2])
    down = (edges[2:] - hz) / (edges[2:] - edges[1:-1])
    return (torch.minimum(up, down).clamp(min=0) * 2 / (edges[2:] - edges[:-2])).float().to(device)


@functools.cache
def _window(n_fft: int, device: str) -> Tensor:
    return torch.hann_window(n_fft).to(device)


def magnitude(audio: Tensor, n_fft: int, hop: int) -> Tensor:
    """Magnitudes of [batch, samples] without padding: [batch, frames, n_fft // 2 + 1]."""
    frames = audio.float().unfold(-1, n_fft, hop) * _window(n_fft, str(audio.device))
    spectrum = torch.view_as_real(torch.fft.rfft(frames))
    return (spectrum.square().sum(-1) + 1e-9).sqrt()


def log_mel(audio: Tensor, n_fft: int = N_FFT, hop: int = HOP, bins: int = BINS) -> Tensor:
    """Log-mel of [batch, samples]: [batch, samples // hop, bins] with `(n_fft - hop) / 2` zeros added at both ends."""
    padded = torch.nn.functional.pad(audio, ((n_fft - hop) // 2, (n_fft - hop) // 2))
    return (magnitude(padded, n_fft, hop) @ filters(n_fft, bins, HIGH_HZ, str(audio.device))).clamp(min=1e-5).log()
