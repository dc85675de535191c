"""Tokens at 25 Hz to log-mel at 50 Hz by flow matching, a chunk of 25 tokens (with 3 of look-ahead) to 50 frames at
a time.

Attention sees its own chunk and the two before it, convolutions the past, and only the first layer looks ahead: so
a stream of chunks gives what the whole utterance gives. Every solver step carries a state of its own.
"""

import math

import torch
import torch.nn.functional as F
from layers import Attention, CausalConv, RMSNorm, State, SwiGLU, TokenTable, chunk_mask
from mel import BINS
from tokenizer import FLOOR, SCALE, normalise
from torch import Tensor, nn

CHUNK_TOKENS, AHEAD_TOKENS, BACK_CHUNKS = 25, 3, 2


class ConformerLayer(nn.Module):
    """Attention, depthwise causal convolution, feed-forward."""

    def __init__(self, width: int, heads: int, hidden: int, window: int):
        super().__init__()
        self.norms = nn.ModuleList([RMSNorm(width) for _ in range(3)])
        self.attention = Attention(width, heads, window)
        self.depth = CausalConv(width, width, 7, groups=width)
        self.mix = nn.Linear(width, width, bias=False)
        self.feed = SwiGLU(width, hidden)
        self.drop = nn.Dropout(0.1)

    def forward(self, x: Tensor, position: Tensor | int, mask: Tensor | None, state: State | None) -> Tensor:
        x = x + self.attention(self.norms[0](x), position, mask, state)
        y = self.depth(self.norms[1](x).transpose(1, 2), state).transpose(1, 2)
        x = x + self.mix(F.silu(y))
        return x + self.drop(self.feed(self.norms[2](x)))


class Encoder(nn.Module):
    """Tokens to a condition at mel rate."""

    def __init__(self, levels: list[int], width: int, heads: int):
        super().__init__()
        self.token = TokenTable(levels, width)
        self.ahead = CausalConv(width, width, AHEAD_TOKENS + 1, ahead=AHEAD_TOKENS)
        self.slow = ConformerLayer(width, heads, 384, BACK_CHUNKS * CHUNK_TOKENS)
        self.twice = nn.Linear(width, 2 * width)
        self.fast = ConformerLayer(width, heads, 384, 2 * BACK_CHUNKS * CHUNK_TOKENS)
        self.norm = RMSNorm(width)
        self.leave = nn.Linear(width, BINS)

    def forward(self, tokens: Tensor, last: bool, position: int = 0, state: State | None = None) -> Tensor:
        """Tokens [batch, t + 3], or [batch, t] where they are the last, to the condition [batch, 2 t, 80]."""
        x = self.token(tokens).transpose(1, 2)
        return self.from_embedded(F.pad(x, (0, AHEAD_TOKENS if last else 0)), position, state)

    def from_embedded(self, x: Tensor, position: int, state: State | None) -> Tensor:
        """Embedded tokens [batch, width, t + 3] to the condition."""
        here = x[..., : x.shape[-1] - AHEAD_TOKENS]
        x = (here + F.silu(self.ahead(x, state))).float().transpose(1, 2)
        batch, time, width = x.shape
        mask = chunk_mask(time, CHUNK_TOKENS, BACK_CHUNKS, x.device) if state is None else None
        x = self.slow(x, position, mask, state)
        x = self.twice(x).float().reshape(batch, 2 * time, width)
        mask = chunk_mask(2 * time, 2 * CHUNK_TOKENS, BACK_CHUNKS, x.device) if state is None else None
        return self.leave(self.norm(self.fast(x, 2 * position, mask, state)))


class DiTLayer(nn.Module):
    """Attention, causal convolution, feed-forward; the flow's time moves and gates each (one table for all)."""

    def __init__(self, width: int, heads: int, hidden: int):
        super().__init__()
        self.width = width
        self.attention = Attention(width, heads, 2 * BACK_CHUNKS * CHUNK_TOKENS)
        self.conv = CausalConv(width, width, 3)
        self.feed = SwiGLU(width, hidden)
        self.drop = nn.Dropout(0.1)
        self.table = nn.Parameter(torch.randn(9, width) * 0.02)

    def forward(
        self, x: Tensor, time: Tensor, position: Tensor | int, mask: Tensor | None, state: State | None
    ) -> Tensor:
        parts = (time + self.table.to(time.dtype))[:, :, None].unbind(1)  # nine of [batch, 1, width]

        def moved(shift: Tensor, scale: Tensor) -> Tensor:
            return F.layer_norm(x, (self.width,)) * (1 + scale) + shift

        x = x + parts[2] * self.attention(moved(parts[0], parts[1]), position, mask, state)
        x = x + parts[5] * F.silu(self.conv(moved(parts[3], parts[4]).transpose(1, 2), state).transpose(1, 2))
        return x + parts[8] * self.drop(self.feed(moved(parts[6], parts[7])))


class Flow(nn.Module):
    """Condition encoder and velocity field."""

    def __init__(self, levels: list[int], width: int = 256, heads: int = 4, layers: int = 6):
        super().__init__()
        self.width = width
        self.encoder = Encoder(levels, width, heads)
        self.clock = nn.Sequential(nn.Linear(128, 128), nn.SiLU(), nn.Linear(128, 9 * width))
        self.enter = nn.Linear(2 * BINS, width)
        self.layers = nn.ModuleList([DiTLayer(width, heads, 400) for _ in range(layers)])
        self.leave = nn.Linear(width, BINS)

    def velocity(
        self,
        x: Tensor,
        condition: Tensor,
        time: Tensor,
        position: int = 0,
        mask: Tensor | None = None,
        state: State | None = None,
    ) -> Tensor:
        """Frames [batch, t, 80] at flow time [batch] to their velocity."""
        speed = torch.exp(torch.arange(64, device=x.device, dtype=torch.float32) * (-math.log(10000.0) / 64))
        angle = time.float()[:, None] * 1000 * speed
        clock = self.clock(torch.cat([angle.cos(), angle.sin()], dim=-1)).view(len(x), 9, self.width)
        h = self.enter(torch.cat([x, condition.to(x.dtype)], dim=-1)).float()
        for layer in self.layers:
            h = layer(h, clock, position, mask, state)
        return self.leave(F.layer_norm(h, (self.width,)))

    def losses(self, tokens: Tensor, mel: Tensor) -> dict[str, Tensor]:
        """Tokens [batch, t + 3], log-mel [batch, 2 t, 80]."""
        target = normalise(mel)
        if self.training:
            tokens = self.encoder.token.shaken(tokens, 0.08)
        condition = self.encoder(tokens, last=False)
        prior = (condition.float() - target).abs().mean()
        keep = (torch.rand(len(mel), 1, 1, device=mel.device) > 0.15).to(condition.dtype)
        time = 1 - torch.cos(torch.rand(len(mel), device=mel.device) * (math.pi / 2))
        noise = torch.randn_like(target)
        at = time[:, None, None]
        x = (1 - at) * noise + at * target
        mask = chunk_mask(target.shape[1], 2 * CHUNK_TOKENS, BACK_CHUNKS, mel.device)
        velocity = self.velocity(x, condition * keep, time, mask=mask).float()
        match = (velocity - (target - noise)).square().mean()
        return {"loss": match + 0.5 * prior, "match": match.detach(), "prior_l1": prior.detach() * SCALE}

    def solve(
        self,
        condition: Tensor,
        noise: Tensor,
        steps: int,
        guidance: float,
        position: int = 0,
        states: list[State] | None = None,
    ) -> Tensor:
        """Euler steps on a cosine schedule from noise [batch, t, 80] to log-mel; with states, one chunk of a stream."""
        x = noise
        mask = None if states is not None else chunk_mask(noise.shape[1], 2 * CHUNK_TOKENS, BACK_CHUNKS, noise.device)
        marks = [1 - math.cos(i / steps * math.pi / 2) for i in range(steps + 1)]
        for i in range(steps):
            state = None if states is None else states[i]
            time = torch.full((len(x),), marks[i], device=x.device)
            if guidance > 0:
                both = self.velocity(
                    x.repeat(2, 1, 1),
                    torch.cat([condition, torch.zeros_like(condition)]),
                    time.repeat(2),
                    position,
                    mask,
                    state,
                )
                told, free = both.chunk(2)
                velocity = (1 + guidance) * told - guidance * free
            else:
                velocity = self.velocity(x, condition, time, position, mask, state)
            x = x + (marks[i + 1] - marks[i]) * velocity
        return x * SCALE + FLOOR

    @torch.no_grad()
    def whole(self, tokens: Tensor, noise: Tensor, steps: int, guidance: float) -> Tensor:
        """Tokens [batch, t], noise [batch, 2 t, 80] to log-mel [batch, 2 t, 80]."""
        return self.solve(self.encoder(tokens, last=True), noise, steps, guidance)

    @torch.no_grad()
    def stream(self, tokens: Tensor, noise: Tensor, steps: int, guidance: float) -> Tensor:
        """The same, a chunk at a time with carried state."""
        state, states, made = {}, [{} for _ in range(steps)], []
        total = tokens.shape[1]
        for begin in range(0, total, CHUNK_TOKENS):
            end = min(begin + CHUNK_TOKENS, total)
            seen = min(end + AHEAD_TOKENS, total)
            part = tokens[:, begin:seen]
            if seen < end + AHEAD_TOKENS:  # the flush: fewer tokens follow than the look-ahead wants
                condition = self._flush(part, end - begin, begin, state)
            else:
                condition = self.encoder(part, last=False, position=begin, state=state)
            made.append(self.solve(condition, noise[:, 2 * begin : 2 * end], steps, guidance, 2 * begin, states))
        return torch.cat(made, dim=1)

    def _flush(self, part: Tensor, own: int, begin: int, state: State) -> Tensor:
        """Encode a chunk whose look-ahead is cut short; what is missing is zeros, as at a whole's end."""
        x = self.encoder.token(part).transpose(1, 2)
        x = F.pad(x, (0, own + AHEAD_TOKENS - part.shape[1]))
        return self.encoder.from_embedded(x, begin, state)
