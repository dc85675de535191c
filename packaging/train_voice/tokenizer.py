"""Speech tokenizer: log-mel at 50 Hz to one of a finite set of tokens at 25 Hz (finite scalar quantisation), and
back for training.

Its tokens must let the mel be rebuilt and the spoken symbol be named: the second loss is what makes them readable
for a decoder that knows phonemes. Only the token numbers leave training; none of this ships.
"""

import math

import torch
import torch.nn.functional as F
from corpus import SYMBOLS
from mel import BINS
from torch import Tensor, nn

FLOOR, SCALE = -5.0, 2.7  # log-mel is brought to about zero mean and unit deviation


def normalise(mel: Tensor) -> Tensor:
    """Log-mel to the models' range."""
    return (mel - FLOOR) / SCALE


class FSQ(nn.Module):
    """Finite scalar quantisation (Mentzer et al. 2023): bound each channel, round it, gradients straight through."""

    def __init__(self, levels: list[int]):
        super().__init__()
        self.levels = levels
        self.register_buffer("level", torch.tensor(levels, dtype=torch.float32), persistent=False)
        self.register_buffer("basis", torch.tensor([1, *levels[:-1]]).cumprod(0), persistent=False)

    @property
    def count(self) -> int:
        return math.prod(self.levels)

    def forward(self, z: Tensor) -> tuple[Tensor, Tensor]:
        """[..., channels] to the quantised values in [-1, 1] and token numbers [...]."""
        half = (self.level - 1) / 2
        unit = torch.sigmoid(z.float()) * (self.level - 1)
        rounded = unit + (unit.round() - unit).detach()
        return rounded / half - 1, (unit.round().long() * self.basis).sum(-1)

    def values(self, tokens: Tensor) -> Tensor:
        """Token numbers [...] back to quantised values [..., channels]."""
        digits = (tokens[..., None] // self.basis) % self.level.long()
        return digits / ((self.level - 1) / 2) - 1


class Block(nn.Module):
    """ConvNeXt block over [batch, channels, time]."""

    def __init__(self, width: int, kernel: int = 5):
        super().__init__()
        self.depth = nn.Conv1d(width, width, kernel, padding=kernel // 2, groups=width)
        self.norm = nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, 3 * width), nn.Linear(3 * width, width)
        self.drop = nn.Dropout(0.1)
        self.scale = nn.Parameter(torch.full((width,), 0.1))

    def forward(self, x: Tensor) -> Tensor:
        y = self.norm(self.depth(x).transpose(1, 2))
        return x + (self.scale * self.drop(self.down(F.gelu(self.up(y))))).transpose(1, 2)


class Tokenizer(nn.Module):
    """Encoder, quantiser, and the two training heads."""

    def __init__(self, levels: list[int], width: int = 256):
        super().__init__()
        self.enter = nn.Conv1d(BINS, width, 3, padding=1)
        self.encode_mel = nn.Sequential(Block(width), Block(width))
        self.halve = nn.Conv1d(width, width, 2, stride=2)
        self.encode_token = nn.Sequential(Block(width), Block(width), Block(width))
        self.squeeze = nn.Linear(width, len(levels))
        self.quantise = FSQ(levels)
        self.widen = nn.Conv1d(len(levels), width, 5, padding=2)
        self.decode_token = nn.Sequential(Block(width), Block(width), Block(width))
        self.twice = nn.ConvTranspose1d(width, width, 2, stride=2)
        self.decode_mel = nn.Sequential(Block(width), Block(width))
        self.leave = nn.Conv1d(width, BINS, 3, padding=1)
        self.name = nn.Sequential(nn.Conv1d(len(levels), width, 5, padding=2), Block(width))
        self.symbol = nn.Linear(width, len(SYMBOLS) + 1)

    def tokens(self, mel: Tensor) -> tuple[Tensor, Tensor]:
        """Log-mel [batch, 2 t, 80] to quantised values [batch, t, channels] and tokens [batch, t]."""
        x = self.encode_mel(self.enter(normalise(mel).transpose(1, 2)))
        x = self.encode_token(self.halve(x))
        return self.quantise(self.squeeze(x.transpose(1, 2)))

    def rebuild(self, values: Tensor) -> Tensor:
        """Quantised values to log-mel [batch, 2 t, 80], normalised."""
        x = self.decode_token(self.widen(values.transpose(1, 2)))
        return self.leave(self.decode_mel(self.twice(x))).transpose(1, 2)

    def losses(self, mel: Tensor, symbols: Tensor) -> dict[str, Tensor]:
        """Mel [batch, 2 t, 80], spoken symbols [batch, t]."""
        values, tokens = self.tokens(mel + 0.2 * torch.randn_like(mel) if self.training else mel)
        again = self.rebuild(values).float()
        named = self.symbol(self.name(values.transpose(1, 2)).transpose(1, 2)).float()
        target = normalise(mel)
        naming = F.cross_entropy(named.flatten(0, 1), symbols.flatten(), label_smoothing=0.02)
        error = (again - target).abs().mean() + 0.5 * (again.diff(dim=1) - target.diff(dim=1)).abs().mean()
        used = torch.zeros(self.quantise.count, device=mel.device).index_fill_(0, tokens.flatten(), 1.0).mean()
        return {
            "loss": error + 0.15 * naming,
            "mel_l1": (again - target).abs().mean().detach() * SCALE,
            "symbol_error": 1 - (named.argmax(-1) == symbols).float().mean(),
            "used": used,
        }
