"""Log-mel at 50 Hz to samples at 24 kHz, after HiFT: a harmonic source led by a pitch predictor, upsampling by 8, 5
and 3, an inverse STFT of 16 points and hop 4. Everything is causal but for two frames of look-ahead in the first
layers, so a stream of chunks gives what the whole gives.
"""

import math

import torch
import torch.nn.functional as F
from layers import CausalConv, CausalUpsample, State, left_context
from mel import BINS, HOP, RATE_HZ
from tokenizer import normalise
from torch import Tensor, nn
from torch.nn.utils.parametrizations import weight_norm

AHEAD_FRAMES, HARMONICS, POINTS, STRIDE = 2, 8, 16, 4
RATIOS = (8, 5, 3)


class Snake(nn.Module):
    """x + sin^2(a x) / a, a learned for each channel."""

    def __init__(self, channels: int):
        super().__init__()
        self.log_alpha = nn.Parameter(torch.zeros(channels, 1))

    def forward(self, x: Tensor) -> Tensor:
        alpha = self.log_alpha.exp().to(x.dtype)
        return x + (x * alpha).sin().square() / (alpha + 1e-6)


class Residual(nn.Module):
    """Dilated convolutions with skips."""

    def __init__(self, channels: int, kernel: int):
        super().__init__()
        self.convs = nn.ModuleList([weight_norm(CausalConv(channels, channels, kernel, dilation=d)) for d in (1, 3, 5)])
        self.acts = nn.ModuleList([Snake(channels) for _ in self.convs])

    def forward(self, x: Tensor, state: State | None) -> Tensor:
        for conv, act in zip(self.convs, self.acts, strict=True):
            x = x + conv(act(x), state)
        return x


class Pitch(nn.Module):
    """Log-mel to pitch (Hz) and how surely the frame is voiced (a logit)."""

    def __init__(self, width: int = 128):
        super().__init__()
        self.convs = nn.ModuleList(
            [CausalConv(BINS, width, 5, ahead=AHEAD_FRAMES), CausalConv(width, width, 3), CausalConv(width, width, 3)]
        )
        self.leave = nn.Conv1d(width, 2, 1)

    def forward(self, mel: Tensor, state: State | None = None) -> tuple[Tensor, Tensor]:
        """Normalised mel [batch, 80, t + 2] to [batch, t] twice."""
        x = mel
        for conv in self.convs:
            x = F.elu(conv(x, state))
        log_hz, voiced = self.leave(x).float().unbind(1)
        return 190 * log_hz.clamp(-2, 2).exp(), voiced


class Source(nn.Module):
    """Pitch to a signal of eight harmonics and noise, mixed and bounded."""

    def __init__(self):
        super().__init__()
        self.mix = nn.Linear(HARMONICS + 1, 1)

    def forward(self, pitch: Tensor, noise: Tensor, state: State | None = None) -> Tensor:
        """Pitch [batch, t], 0 where unvoiced, and noise [batch, 480 t, 9] to [batch, 1, 480 t]; phase in float64."""
        steps = (pitch.double() / RATE_HZ).repeat_interleave(HOP, dim=1)
        phase = steps.cumsum(1)
        if state is not None:
            phase = phase + state.get(self, torch.zeros_like(phase[:, :1]))
            state[self] = phase[:, -1:].frac()
        turns = (phase[..., None] * torch.arange(1, HARMONICS + 2, device=pitch.device)).frac().float()
        voiced = (pitch > 0).float().repeat_interleave(HOP, dim=1)[..., None]
        waves = 0.1 * voiced * (2 * math.pi * turns).sin() + (0.003 * voiced + 0.033 * (1 - voiced)) * noise
        return self.mix(waves).tanh().transpose(1, 2)


class Overlap(nn.Module):
    """Inverse STFT of 16 points with hop 4 as a fixed transposed convolution over past frames."""

    def __init__(self):
        super().__init__()
        n, k = torch.arange(POINTS, dtype=torch.float64), torch.arange(POINTS // 2 + 1, dtype=torch.float64)[:, None]
        window = torch.hann_window(POINTS, dtype=torch.float64)
        weight = torch.where((k == 0) | (k == POINTS // 2), 1.0, 2.0) / POINTS
        angle = 2 * math.pi * k * n / POINTS
        norm = window.square().view(STRIDE, -1).sum() / STRIDE  # squared windows at hop 4 add up to this
        basis = torch.cat([weight * angle.cos(), -weight * angle.sin()]) * window / norm
        self.register_buffer("basis", basis.float()[:, None], persistent=False)  # [18, 1, 16]

    def forward(self, real: Tensor, imaginary: Tensor, state: State | None) -> Tensor:
        """Two of [batch, 9, frames] to [batch, 4 frames]."""
        past = POINTS // STRIDE - 1
        x = left_context(state, self, torch.cat([real, imaginary], dim=1), past)
        y = F.conv_transpose1d(x, self.basis, stride=STRIDE)[:, 0]
        return y[:, STRIDE * past : STRIDE * x.shape[-1]]


class Vocoder(nn.Module):
    """Log-mel to sound."""

    def __init__(self, width: int = 256):
        super().__init__()
        self.pitch, self.source, self.overlap = Pitch(), Source(), Overlap()
        self.enter = weight_norm(CausalConv(BINS, width, 7, ahead=AHEAD_FRAMES))
        self.ups, self.excite, self.blocks = nn.ModuleList(), nn.ModuleList(), nn.ModuleList()
        left = HOP
        for i, ratio in enumerate(RATIOS):
            channels = width >> (i + 1)
            left //= ratio
            self.ups.append(weight_norm(CausalUpsample(2 * channels, channels, ratio)))
            self.excite.append(CausalConv(1, channels, 2 * left, stride=left))
            self.blocks.append(nn.ModuleList([Residual(channels, kernel) for kernel in (3, 7, 11)]))
        self.act = Snake(channels)
        self.leave = weight_norm(CausalConv(channels, POINTS + 2, 7))

    def sound(self, mel: Tensor, source: Tensor, state: State | None = None) -> Tensor:
        """Normalised mel [batch, 80, t + 2] and source [batch, 1, 480 t] to samples [batch, 480 t]."""
        x = self.enter(mel, state)
        for up, excite, blocks in zip(self.ups, self.excite, self.blocks, strict=True):
            x = up(F.leaky_relu(x, 0.1), state) + excite(source.to(x.dtype), state)
            x = sum(block(x, state) for block in blocks) / len(blocks)
        with torch.autocast(x.device.type, enabled=False):  # eight bits of phase would be heard
            size, phase = self.leave(self.act(x.float()), state).chunk(2, dim=1)
            size = size.clamp(max=5).exp()
            return self.overlap(size * phase.cos(), size * phase.sin(), state)

    @torch.no_grad()
    def speak(self, mel: Tensor, noise: Tensor, state: State | None = None) -> Tensor:
        """Log-mel [batch, t + 2, 80] and noise [batch, 480 t, 9] to samples [batch, 480 t], bounded by 1."""
        x = normalise(mel).transpose(1, 2)
        hz, voiced = self.pitch(x, state)
        return self.sound(x, self.source(hz * (voiced > 0), noise, state), state).clamp(-1, 1)

    @torch.no_grad()
    def whole(self, mel: Tensor, noise: Tensor) -> Tensor:
        """Log-mel [batch, t, 80]; what follows the end is its last frame."""
        return self.speak(torch.cat([mel, mel[:, -1:].expand(-1, AHEAD_FRAMES, -1)], dim=1), noise)

    @torch.no_grad()
    def stream(self, mel: Tensor, noise: Tensor, chunk: int = 50) -> Tensor:
        """The same, a chunk at a time with carried state."""
        mel, state = torch.cat([mel, mel[:, -1:].expand(-1, AHEAD_FRAMES, -1)], dim=1), {}
        frames = mel.shape[1] - AHEAD_FRAMES
        return torch.cat(
            [
                self.speak(
                    mel[:, a : min(a + chunk, frames) + AHEAD_FRAMES],
                    noise[:, a * HOP : min(a + chunk, frames) * HOP],
                    state,
                )
                for a in range(0, frames, chunk)
            ],
            dim=1,
        )
