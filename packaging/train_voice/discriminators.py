"""What the vocoder is trained against: periods of the waveform (HiFi-GAN) and spectrograms at several resolutions
(UnivNet), at small widths.
"""

from itertools import pairwise

import torch
import torch.nn.functional as F
from mel import filters, magnitude
from torch import Tensor, nn
from torch.nn.utils.parametrizations import weight_norm

PERIODS = (2, 3, 5, 7, 11)
RESOLUTIONS = ((512, 128), (1024, 256), (2048, 512))


def _layers(convs: nn.ModuleList, leave: nn.Module, x: Tensor) -> list[Tensor]:
    """Outputs of all layers; channels last, which the GPU's bf16 convolutions want, from the first on."""
    seen = []
    for conv in convs:
        x = F.leaky_relu(conv(x), 0.1).contiguous(memory_format=torch.channels_last)
        seen.append(x)
    return [*seen, leave(x)]


class Period(nn.Module):
    """Judges samples a period apart."""

    def __init__(self, period: int):
        super().__init__()
        self.period = period
        widths = (1, 24, 64, 192, 256)
        self.convs = nn.ModuleList(
            [weight_norm(nn.Conv2d(a, b, (5, 1), (3, 1), (2, 0))) for a, b in pairwise(widths)]
            + [weight_norm(nn.Conv2d(256, 256, (5, 1), 1, (2, 0)))]
        )
        self.leave = weight_norm(nn.Conv2d(256, 1, (3, 1), 1, (1, 0)))

    def look(self, audio: Tensor) -> Tensor:
        """Samples [batch, n] as an image [batch, 1, n / period, period]."""
        length = audio.shape[-1] // self.period * self.period
        return audio[:, None, :length].unflatten(-1, (-1, self.period))

    def forward(self, image: Tensor) -> list[Tensor]:
        return _layers(self.convs, self.leave, image)


class Resolution(nn.Module):
    """Judges a log spectrogram."""

    def __init__(self, n_fft: int, hop: int, width: int = 24):
        super().__init__()
        self.n_fft, self.hop = n_fft, hop
        self.convs = nn.ModuleList(
            [weight_norm(nn.Conv2d(1, width, (3, 9), 1, (1, 4)))]
            + [weight_norm(nn.Conv2d(width, width, (3, 9), (1, 2), (1, 4))) for _ in range(3)]
            + [weight_norm(nn.Conv2d(width, width, (3, 3), 1, 1))]
        )
        self.leave = weight_norm(nn.Conv2d(width, 1, 3, 1, 1))

    def look(self, audio: Tensor) -> Tensor:
        """Samples [batch, n] as an image [batch, 1, frames, bins]."""
        return magnitude(audio, self.n_fft, self.hop).clamp(min=1e-4).log()[:, None] / 4

    def forward(self, image: Tensor) -> list[Tensor]:
        return _layers(self.convs, self.leave, image)


class Judges(nn.Module):
    """All discriminators; each gives its layers' outputs, the last being its verdict."""

    def __init__(self):
        super().__init__()
        self.all = nn.ModuleList([Period(p) for p in PERIODS] + [Resolution(*r) for r in RESOLUTIONS])

    def look(self, audio: Tensor) -> list[Tensor]:
        """What each of them looks at."""
        return [judge.look(audio) for judge in self.all]

    def forward(self, images: list[Tensor]) -> list[list[Tensor]]:
        return [judge(image) for judge, image in zip(self.all, images, strict=True)]


def judge_loss(real: list[list[Tensor]], made: list[list[Tensor]]) -> Tensor:
    """Least squares: real to one, made to zero."""
    return sum(
        ((1 - r[-1].float()).square().mean() + m[-1].float().square().mean()) for r, m in zip(real, made, strict=True)
    )


def maker_losses(real: list[list[Tensor]], made: list[list[Tensor]]) -> tuple[Tensor, Tensor]:
    """How far the made is from passing, and the distance of inner layers."""
    passing = sum((1 - m[-1].float()).square().mean() for m in made)
    inner = sum(
        (a.float().detach() - b.float()).abs().mean()
        for r, m in zip(real, made, strict=True)
        for a, b in zip(r[:-1], m[:-1], strict=True)
    )
    return passing, inner


def spectral_loss(made: Tensor, real: Tensor) -> Tensor:
    """Log-mel distance at five window lengths."""
    total = torch.zeros((), device=made.device)
    for n_fft, bins in ((256, 20), (512, 40), (1024, 80), (1920, 100), (2048, 160)):
        bank = filters(n_fft, bins, 12000.0, str(made.device))
        a, b = (magnitude(x, n_fft, n_fft // 4) @ bank for x in (made, real))
        total = total + (a.clamp(min=1e-5).log() - b.clamp(min=1e-5).log()).abs().mean()
    return total / 5
