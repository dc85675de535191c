"""Token decoder: phonemes to speech tokens at 25 Hz.

A text encoder reads the symbols of a clause both ways and says how long each lasts. Durations give every token's
symbol before the first token is decoded: the decoder's length is known, so it can neither run away nor skip. Then a
causal stack in the manner of Llama decodes token by token: its input is the last token, the encoding of the symbol
now spoken, and how far into that symbol the token lies.
"""

import math

import torch
import torch.nn.functional as F
from corpus import SYMBOLS
from layers import Attention, Embed, RMSNorm, State, SwiGLU, TokenTable
from torch import Tensor, nn


class Layer(nn.Module):
    """Pre-norm transformer layer."""

    def __init__(self, width: int, heads: int, hidden: int, window: int = 0):
        super().__init__()
        self.norm_a, self.norm_b = RMSNorm(width), RMSNorm(width)
        self.attention, self.feed = Attention(width, heads, window), SwiGLU(width, hidden)
        self.drop = nn.Dropout(0.15)

    def forward(
        self, x: Tensor, position: Tensor | int = 0, mask: Tensor | None = None, state: State | None = None
    ) -> Tensor:
        x = x + self.drop(self.attention(self.norm_a(x), position, mask, state))
        return x + self.drop(self.feed(self.norm_b(x)))


class Decoder(nn.Module):
    """Phonemes to tokens.

    A token is drawn level by level, each channel on its own: little speech teaches that far better than one choice
    among all tokens.
    """

    def __init__(
        self,
        levels: list[int],
        width: int = 256,
        heads: int = 4,
        encoder_layers: int = 3,
        layers: int = 5,
        window: int = 400,
    ):
        super().__init__()
        self.count = math.prod(levels)
        self.symbol = Embed(len(SYMBOLS) + 1, width)
        self.near = nn.Conv1d(width, width, 5, padding=2)
        self.encoder = nn.ModuleList([Layer(width, heads, 512) for _ in range(encoder_layers)])
        self.encoder_norm = RMSNorm(width)
        self.duration = nn.Sequential(nn.Linear(width, 128), nn.GELU(), nn.Linear(128, 1))
        self.token = TokenTable(levels, width)
        self.place = nn.Linear(4, width)
        self.layers = nn.ModuleList([Layer(width, heads, 640, window) for _ in range(layers)])
        self.norm = RMSNorm(width)
        self.head = nn.Linear(width, len(levels) * max(levels))

    def encode(self, symbols: Tensor, counts: Tensor) -> tuple[Tensor, Tensor]:
        """Symbols [batch, n], counts [batch] to encodings [batch, n, width], durations [batch, n] in tokens."""
        valid = torch.arange(symbols.shape[1], device=symbols.device) < counts[:, None]
        x = self.symbol(symbols).float() * valid[..., None]
        x = x + self.near(x.transpose(1, 2)).transpose(1, 2)
        mask = valid[:, None, None, :]
        for layer in self.encoder:
            x = layer(x, mask=mask)
        x = self.encoder_norm(x)
        return x, self.duration(x).squeeze(-1).float().exp() * valid

    @staticmethod
    def walk(durations: Tensor, tokens: int) -> tuple[Tensor, Tensor]:
        """Durations [batch, n] to the symbol at each token's centre [batch, tokens] and its place [.., 4]."""
        ends = durations.cumsum(1)
        centre = torch.arange(tokens, device=durations.device)[None] + 0.5
        index = torch.searchsorted(ends, centre.expand(len(ends), -1).contiguous(), right=True).clamp(
            max=durations.shape[1] - 1
        )
        length, end = durations.gather(1, index), ends.gather(1, index)
        since, left = centre - (end - length), end - centre
        place = torch.stack([since / 4, left / 4, length / 4, since / length.clamp(min=0.1)], dim=-1)
        return index, place.clamp(-2, 6)

    def step_inputs(self, encoded: Tensor, index: Tensor, place: Tensor) -> Tensor:
        """What the text contributes to each step, [batch, tokens, width]."""
        spoken = encoded.gather(1, index[..., None].expand(-1, -1, encoded.shape[-1]))
        return spoken + self.place(place.to(encoded.dtype))

    def decode(self, last: Tensor, told: Tensor, position: Tensor | int = 0, state: State | None = None) -> Tensor:
        """Last tokens [batch, t] and the text's part [batch, t, width] to logits of each channel's levels,
        [batch, t, channels, levels]."""
        x = self.token(last) + told.float()
        mask = None
        if state is None:
            at = torch.arange(x.shape[1], device=x.device)
            mask = at[:, None] >= at[None, :]
        for layer in self.layers:
            x = layer(x, position, mask, state)
        return self.head(self.norm(x)).unflatten(-1, (-1, max(self.token.levels)))

    def losses(
        self, symbols: Tensor, counts: Tensor, durations: Tensor, tokens: Tensor, token_counts: Tensor
    ) -> dict[str, Tensor]:
        """Teacher forcing on true durations; tokens fed back are shaken, lost, replaced: none is learnt by heart."""
        encoded, guessed = self.encode(symbols, counts)
        index, place = self.walk(durations, tokens.shape[1])
        last = self.token.shaken(F.pad(tokens[:, :-1], (1, 0), value=self.count), 0.2)
        lost = torch.rand(last.shape, device=last.device)
        last = torch.where(lost < 0.1, self.count, torch.where(lost > 0.9, torch.randint_like(last, self.count), last))
        jitter = 1 + 0.05 * torch.randn_like(place)
        logits = self.decode(last, self.step_inputs(encoded, index, place * jitter)).float()
        valid = torch.arange(tokens.shape[1], device=tokens.device) < token_counts[:, None]
        target = self.token.digits(tokens)
        entropy = F.cross_entropy(logits.flatten(0, 2), target.flatten(), reduction="none", label_smoothing=0.02)
        entropy = (entropy.view(target.shape).sum(-1) * valid).sum() / valid.sum()
        inside = torch.arange(symbols.shape[1], device=symbols.device) < counts[:, None]
        lengthy = ((guessed.clamp(min=1e-3).sqrt() - durations.sqrt()).abs() * inside).sum() / inside.sum()
        right = ((logits.argmax(-1) == target) & valid[..., None]).float().mean(-1).sum() / valid.sum()
        off = ((guessed - durations).abs() * inside).sum() / inside.sum()
        return {
            "loss": entropy / 4 + 2 * lengthy,
            "entropy": entropy.detach(),
            "accuracy": right,
            "duration_error_ms": off.detach() * 40,
        }

    @torch.no_grad()
    def generate(
        self, symbols: Tensor, counts: Tensor, temperature: float, generator: torch.Generator
    ) -> tuple[Tensor, Tensor]:
        """Speak a batch: tokens [batch, t] and how many of them are each row's own [batch]."""
        encoded, durations = self.encode(symbols, counts)
        lengths = durations.sum(1).round().long().clamp(min=1)
        index, place = self.walk(durations, int(lengths.max()))
        told = self.step_inputs(encoded, index, place)
        last = torch.full((len(symbols), 1), self.count, device=symbols.device)
        state: State = {}
        made = []
        for step in range(int(lengths.max())):
            logits = self.decode(last, told[:, step : step + 1], step, state)[:, 0].float()
            if temperature > 0:
                share = (logits / temperature).softmax(-1)
                drawn = torch.multinomial(share.flatten(0, 1), 1, generator=generator).view(share.shape[:2])
            else:
                drawn = logits.argmax(-1)
            last = self.token.numbers(drawn)[:, None]
            made.append(last)
        return torch.cat(made, dim=1), lengths
