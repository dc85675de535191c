"""What a voice's recording is to the networks that know voices: three spectra, each as the released code takes it.

`token2wav._prepare_prompt` of `stepaudio2-minicpmo` 0.1.1: Whisper's log-mel in 128 channels for the speech tokenizer,
Kaldi's filter bank (`torchaudio.compliance.kaldi.fbank`) for the speaker's embedding, and a mel at 24 kHz that the flow
goes on from. Runs once for a voice, on the host. Entered by whoever makes a voice.
"""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from engine.models.layers.mel import LogMel, mel_filters

TOKENIZER_MELS = 128
_BANK_MELS, _BANK_FFT, _BANK_WINDOW, _BANK_HOP, _BANK_HZ = 80, 512, 400, 160, 16_000
_LOWEST_HZ, _EMPHASIS, _LEAST = 20.0, 0.97, torch.finfo(torch.float32).eps
PROMPT_HZ, PROMPT_HOP, _PROMPT_FFT, _PROMPT_HIGHEST_HZ = 24_000, 480, 1920, 8000.0


def tokenizer_mel(samples: Tensor) -> Tensor:
    """`samples` float32 `[n]` at 16 kHz, as the speech tokenizer hears them: `[1, 128, n / 160]`."""
    return LogMel(TOKENIZER_MELS)(samples[None])


def filter_bank(samples: Tensor) -> Tensor:
    """`samples` float32 `[n]` at 16 kHz as Kaldi's log filter bank, without its mean: `[1, frames, 80]`."""
    frames = samples.unfold(0, _BANK_WINDOW, _BANK_HOP)  # whole windows alone
    frames = frames - frames.mean(1, keepdim=True)
    before = torch.cat((frames[:, :1], frames[:, :-1]), 1)
    window = torch.hann_window(_BANK_WINDOW, periodic=False) ** 0.85
    frames = functional.pad((frames - _EMPHASIS * before) * window, (0, _BANK_FFT - _BANK_WINDOW))
    power = torch.fft.rfft(frames).abs() ** 2
    bank = torch.from_numpy(_kaldi_filters()).float()
    logs: Tensor = (power[:, : _BANK_FFT // 2] @ bank.T).clamp_min(_LEAST).log()
    return (logs - logs.mean(0, keepdim=True))[None]


def _kaldi_filters() -> NDArray[np.float64]:
    """Triangles on Kaldi's mel scale, `[mels, frequencies below half the rate]`."""

    def mel(hz: NDArray[np.float64] | float) -> NDArray[np.float64]:
        return np.asarray(1127.0 * np.log1p(np.asarray(hz) / 700.0))

    edges = np.linspace(float(mel(_LOWEST_HZ)), float(mel(_BANK_HZ / 2)), _BANK_MELS + 2)
    bins = mel(np.arange(_BANK_FFT // 2) * _BANK_HZ / _BANK_FFT)
    left, centre, right = edges[:-2, None], edges[1:-1, None], edges[2:, None]
    rising, falling = (bins - left) / (centre - left), (right - bins) / (right - centre)
    return np.maximum(0.0, np.minimum(rising, falling))


def prompt_mel(samples: Tensor, frames: int) -> Tensor:
    """`samples` float32 `[n]` at 24 kHz as the flow's mel `[1, frames, 80]`, filled up with its last frame."""
    rim = (_PROMPT_FFT - PROMPT_HOP) // 2
    padded = functional.pad(samples[None, None], (rim, rim), mode="reflect")[0]
    window = torch.hann_window(_PROMPT_FFT)
    spectrum = torch.stft(padded, _PROMPT_FFT, PROMPT_HOP, window=window, center=False, return_complex=True)
    level = torch.sqrt(torch.view_as_real(spectrum).pow(2).sum(-1) + 1e-9)
    bank = torch.from_numpy(mel_filters(80, PROMPT_HZ, _PROMPT_FFT, _PROMPT_HIGHEST_HZ)).float().T
    mel = torch.log(torch.clamp(bank @ level, min=1e-5))[0].T[:frames]
    return torch.cat((mel, mel[-1:].expand(frames - len(mel), -1)))[None]
