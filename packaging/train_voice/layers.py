"""Layers that run whole or as a stream: a `State` holds each layer's left context, and a whole run is a stream of
one chunk.

Layout is [batch, channels, time] for convolutions and [batch, time, width] for attention. Nothing here sees the
future, but for the look-ahead that a caller hands in.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

State = dict[nn.Module, Tensor]


def left_context(state: State | None, owner: nn.Module, x: Tensor, steps: int, ahead: int = 0) -> Tensor:
    """Put the last `steps` of what came before in front of `x` [..., time]; the last `ahead` of `x` will come again."""
    if state is None:
        return F.pad(x, (steps, 0))
    before = state.get(owner)
    joined = F.pad(x, (steps, 0)) if before is None else torch.cat([before, x], dim=-1)
    end = joined.shape[-1] - ahead
    state[owner] = joined[..., end - steps : end]
    return joined


class CausalConv(nn.Conv1d):
    """Convolution over the past; with `ahead`, also over that many steps that the caller supplies beyond its output."""

    def __init__(
        self,
        inputs: int,
        outputs: int,
        kernel: int,
        stride: int = 1,
        dilation: int = 1,
        groups: int = 1,
        ahead: int = 0,
    ):
        super().__init__(inputs, outputs, kernel, stride=stride, dilation=dilation, groups=groups)
        self.past, self.ahead = (kernel - 1) * dilation + 1 - stride - ahead, ahead

    def forward(self, x: Tensor, state: State | None = None) -> Tensor:
        return super().forward(left_context(state, self, x, self.past, self.ahead))


class CausalUpsample(nn.ConvTranspose1d):
    """Transposed convolution of kernel 2 x stride: each output block depends on the present and the last input."""

    def __init__(self, inputs: int, outputs: int, stride: int):
        super().__init__(inputs, outputs, 2 * stride, stride=stride)

    def forward(self, x: Tensor, state: State | None = None) -> Tensor:
        stride, time = self.stride[0], x.shape[-1]
        y = super().forward(left_context(state, self, x, 1))
        return y[..., stride : stride * (time + 1)]


class RMSNorm(nn.Module):
    """Root-mean-square norm over the last dimension."""

    def __init__(self, width: int):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, (x.shape[-1],), self.weight, 1e-5)


class Embed(nn.Module):
    """Embedding; in training a product with one-hot rows, whose gradient is repeatable and fit for graph capture."""

    def __init__(self, count: int, width: int):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(count, width) / math.sqrt(width))

    def forward(self, ids: Tensor) -> Tensor:
        if not self.training:
            return F.embedding(ids, self.weight)
        hot = ids[..., None] == torch.arange(self.weight.shape[0], device=ids.device)
        return hot.to(torch.bfloat16 if ids.is_cuda else self.weight.dtype) @ self.weight.to(
            torch.bfloat16 if ids.is_cuda else self.weight.dtype
        )


class TokenTable(nn.Module):
    """Token numbers to vectors, made from a token's levels, which generalises from little speech.

    The number after the last token means "none yet".
    """

    def __init__(self, levels: list[int], width: int):
        super().__init__()
        self.count, self.levels = math.prod(levels), levels
        self.register_buffer("level", torch.tensor(levels), persistent=False)
        self.register_buffer("basis", torch.tensor([1, *levels[:-1]]).cumprod(0), persistent=False)
        self.mix = nn.Sequential(nn.Linear(len(levels) * max(levels), 256), nn.SiLU(), nn.Linear(256, width))

    def digits(self, tokens: Tensor) -> Tensor:
        """Token numbers [...] to levels [..., channels]."""
        return (tokens[..., None] // self.basis) % self.level

    def numbers(self, digits: Tensor) -> Tensor:
        """Levels [..., channels] to token numbers [...]."""
        return (digits * self.basis).sum(-1)

    def shaken(self, tokens: Tensor, share: float) -> Tensor:
        """Tokens of which a share of the levels moved by one."""
        move = torch.randint_like(self.digits(tokens), -1, 2)
        move = move * (torch.rand(move.shape, device=tokens.device) < share)
        moved = torch.minimum((self.digits(tokens) + move).clamp(min=0), self.level - 1)
        return torch.where(tokens < self.count, self.numbers(moved), tokens)

    def forward(self, tokens: Tensor) -> Tensor:
        hot = self.digits(tokens)[..., None] == torch.arange(max(self.levels), device=tokens.device)
        hot = hot & (tokens < self.count)[..., None, None]
        return self.mix(hot.flatten(-2).float()).float()


def rotate(x: Tensor, positions: Tensor) -> Tensor:
    """Rotary position embedding; x [batch, heads, time, dim], positions [time]."""
    half = x.shape[-1] // 2
    speed = torch.exp(torch.arange(half, device=x.device, dtype=torch.float32) * (-math.log(10000.0) / half))
    angle = positions.float()[:, None] * speed
    cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
    a, b = x[..., :half], x[..., half:]
    return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)


class Attention(nn.Module):
    """Multi-head attention with rotary positions. A state keeps keys and values of the last `window` steps."""

    def __init__(self, width: int, heads: int, window: int = 0):
        super().__init__()
        self.heads, self.window = heads, window
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)

    def forward(
        self, x: Tensor, position: Tensor | int = 0, mask: Tensor | None = None, state: State | None = None
    ) -> Tensor:
        batch, time, width = x.shape
        q, k, v = self.qkv(x).view(batch, time, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        at = torch.arange(time, device=x.device) + position
        q, k = rotate(q, at), rotate(k, at)
        if state is not None:
            if self in state:
                before = state[self]
                k, v = torch.cat([before[0], k], dim=2), torch.cat([before[1], v], dim=2)
            state[self] = torch.stack([k[:, :, -self.window :], v[:, :, -self.window :]])
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.out(y.transpose(1, 2).reshape(batch, time, width))


class SwiGLU(nn.Module):
    """Gated feed-forward layer."""

    def __init__(self, width: int, hidden: int):
        super().__init__()
        self.up = nn.Linear(width, 2 * hidden, bias=False)
        self.down = nn.Linear(hidden, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        gate, value = self.up(x).chunk(2, dim=-1)
        return self.down(F.silu(gate) * value)


def chunk_mask(time: int, chunk: int, back: int, device: torch.device) -> Tensor:
    """True where step i may see step j: same chunk or one of the `back` chunks before it. [time, time]"""
    at = torch.arange(time, device=device) // chunk
    gap = at[:, None] - at[None, :]
    return (gap >= 0) & (gap <= back)
