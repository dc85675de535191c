"""BigVGAN (arXiv 2206.04658) as Qwen2.5-Omni has it: mel frames to sound, of any length at once, nothing carried.

Upsampling by transposed convolutions, and at every rate residual blocks whose activations stand between an upsampling
and a downsampling by two, so that their harmonics do not fold back. Same operations on the same layouts as released
(transformers 5.x, `qwen2_5_omni`), so the bits are the same; tests hold that. What is constant there and made anew is
made once: filters a channel, their doubling, the floor of a decibel. Entered by the engine thread.
"""

import math
from dataclasses import dataclass
from math import prod

import torch
from torch import Tensor
from torch.nn import functional

from engine.models.layers.checked import Shapes, below
from engine.models.layers.lanes import Lanes
from engine.models.layers.named import Named
from engine.models.layers.residual import DILATIONS, Layer, Residual, averaged, centred
from engine.models.layers.snake import beta

_LEAST_DB = -115.0
_REFERENCE_DB = 20.0
_TAPS, _RATIO = 12, 2  # of the filters about an activation


@dataclass(frozen=True)
class BigVganSizes:
    """The vocoder's shape.

    Args:
        mels: Of a frame.
        channels: After the first convolution; halved with every upsampling.
        rates: Of the upsamplings.
        kernels: Of the upsamplings.
        blocks: Kernels of the residual blocks after every upsampling.
    """

    mels: int = 80
    channels: int = 1536
    rates: tuple[int, ...] = (5, 3, 2, 2, 2, 2)
    kernels: tuple[int, ...] = (11, 7, 4, 4, 4, 4)
    blocks: tuple[int, ...] = (3, 7, 11)

    @property
    def frame(self) -> int:
        """Samples to a mel frame."""
        return prod(self.rates)

    def after(self, upsamplings: int) -> int:
        """Channels after so many upsamplings."""
        return self.channels >> upsamplings


def shapes(sizes: BigVganSizes) -> Shapes:
    """Every tensor, by its released name."""
    yield "conv_pre.weight", (sizes.channels, sizes.mels, 7)
    yield "conv_pre.bias", (sizes.channels,)
    block = 0
    for index, kernel in enumerate(sizes.kernels):
        wide, channels = sizes.after(index), sizes.after(index + 1)
        yield f"ups.{index}.0.weight", (wide, channels, kernel)
        yield f"ups.{index}.0.bias", (channels,)
        for inner in sizes.blocks:
            yield from below(f"resblocks.{block}", _block_shapes(channels, inner))
            block += 1
    last = sizes.after(len(sizes.rates))
    yield from below("activation_post", _activation_shapes(last))
    yield "conv_post.weight", (1, last, 7)


def _block_shapes(channels: int, kernel: int) -> Shapes:
    for index in range(len(DILATIONS)):
        for part in (1, 2):
            yield f"convs{part}.{index}.weight", (channels, channels, kernel)
            yield f"convs{part}.{index}.bias", (channels,)
    for index in range(2 * len(DILATIONS)):
        yield from below(f"activations.{index}", _activation_shapes(channels))


def _activation_shapes(channels: int) -> Shapes:
    yield "act.alpha", (channels,)
    yield "act.beta", (channels,)


class BigVgan:
    """The vocoder.

    Args:
        weights: Named as released, below `code2wav_bigvgan_model`.
        sizes: Of the same vocoder.
        lanes: For what can be done at once.
    """

    def __init__(self, weights: Named, sizes: BigVganSizes, lanes: Lanes) -> None:
        device = weights["conv_pre.weight"].device
        self._before = centred(weights["conv_pre.weight"], weights["conv_pre.bias"])
        taps = low_pass(device)
        many = len(sizes.blocks)
        self._steps = [
            _Upsampling(
                weights.below(f"ups.{index}.0"),
                rate,
                (kernel - rate) // 2,
                [_residual(weights.below(f"resblocks.{many * index + block}"), taps) for block in range(many)],
                lanes,
            )
            for index, (rate, kernel) in enumerate(zip(sizes.rates, sizes.kernels, strict=True))
        ]
        self._activate = _Activation(weights.below("activation_post"), taps)
        self._after = centred(weights["conv_post.weight"], None)
        self._floor = torch.exp(torch.tensor(_LEAST_DB / 20.0 * math.log(10), device=device))

    def __call__(self, mel: Tensor) -> Tensor:
        """`mel` `[1, mels, frames]`, logarithms of amplitudes, as sound, `[1, samples]`."""
        decibels = 20 * torch.log10(torch.clamp(torch.exp(mel), min=self._floor)) - _REFERENCE_DB
        x = self._before(torch.clamp(2 * ((decibels - _LEAST_DB) / -_LEAST_DB) - 1, -1, 1))
        for step in self._steps:
            x = step(x)
        return torch.clamp(self._after(self._activate(x)), -1.0, 1.0)[0]


class _Upsampling:
    """One step: upsample, and average what several residual blocks make of it."""

    def __init__(self, weights: Named, rate: int, padding: int, blocks: list[Residual], lanes: Lanes) -> None:
        self._weight, self._bias, self._rate, self._padding = weights["weight"], weights["bias"], rate, padding
        self._blocks, self._lanes = blocks, lanes

    def __call__(self, x: Tensor) -> Tensor:
        x = functional.conv_transpose1d(x, self._weight, self._bias, self._rate, self._padding)
        return averaged(self._blocks, x, self._lanes)


def _residual(weights: Named, taps: Tensor) -> Residual:
    def activation(index: int) -> Layer:
        return _Activation(weights.below(f"activations.{index}"), taps)

    def convolution(part: int, index: int, dilation: int = 1) -> Layer:
        own = weights.below(f"convs{part}.{index}")
        return centred(own["weight"], own["bias"], dilation)

    return Residual(
        [
            (
                activation(2 * index),
                convolution(1, index, dilation),
                activation(2 * index + 1),
                convolution(2, index),
            )
            for index, dilation in enumerate(DILATIONS)
        ]
    )


class _Activation:
    """SnakeBeta at twice the rate, between a filter up and the same filter down.

    Released, what comes out of the upsampling is doubled; the filter that it comes from is, here: doubling is exact.
    """

    def __init__(self, weights: Named, taps: Tensor) -> None:
        self._snake = beta(weights.below("act"))
        self._channels = len(weights["act.alpha"])
        self._down = taps.expand(self._channels, -1, -1).contiguous()
        self._up = _RATIO * self._down

    def __call__(self, x: Tensor) -> Tensor:
        reach = _TAPS // _RATIO - 1
        cut = reach * _RATIO + (_TAPS - _RATIO) // 2
        x = functional.pad(x, (reach, reach), mode="replicate")
        x = functional.conv_transpose1d(x, self._up, stride=_RATIO, groups=self._channels)
        x = self._snake(x[..., cut:-cut])
        x = functional.pad(x, (_TAPS // 2 - 1, _TAPS // 2), mode="replicate")
        return functional.conv1d(x, self._down, stride=_RATIO, groups=self._channels)


def low_pass(device: torch.device) -> Tensor:
    """The filter that halves a rate, a windowed sine over its argument: float32 `[1, 1, taps]`.

    Worked out on the CPU, as released, so that its bits do not depend on where it is needed.
    """
    cutoff, half_width, half = 0.5 / _RATIO, 0.6 / _RATIO, _TAPS // 2
    attenuation = 2.285 * (half - 1) * math.pi * 4 * half_width + 7.95  # in dB, of which there are more than 50
    window = torch.kaiser_window(_TAPS, beta=0.1102 * (attenuation - 8.7), periodic=False, dtype=torch.float32)
    ticks = torch.arange(-half, half) + 0.5
    taps = 2 * cutoff * window * torch.sinc(2 * cutoff * ticks)
    return (taps / taps.sum()).view(1, 1, -1).to(device)
