"""HiFT-Net, mel frames to sound: a pitch, a source that follows it, and convolutions that filter it.

HiFT-Net (arXiv 2309.09493) as CosyVoice 2 releases it: the mel is upsampled step by step, the source's spectrum is
added at every step, and the last step's output is itself a spectrum. Without state: what is carried between chunks is
the caller's. Normed weights are joined once. Same operations on the same layouts as released (`stepaudio2-minicpmo`
0.1.1, `flashcosyvoice/modules/hifigan.py`), so the bits are the same; tests hold that. Entered by the engine thread.
"""

from dataclasses import dataclass, field
from itertools import accumulate
from math import prod
from operator import mul

import torch
from torch import Tensor
from torch.nn import functional

from engine.models.layers.harmonics import Harmonics, HarmonicsSizes
from engine.models.layers.lanes import Lanes
from engine.models.layers.named import Linear, Named
from engine.models.layers.residual import DILATIONS, Convolution, Residual, averaged, centred
from engine.models.layers.snake import plain
from engine.models.layers.spectrum import Spectrum

_SLOPE, _LAST_SLOPE = 0.1, 0.01  # of leaky ReLUs
_LOUDEST, _LIMIT = 1e2, 0.99  # of a frequency's magnitude; of a sample
PITCH_LAYERS = 5


@dataclass(frozen=True)
class HiftSizes:
    """The vocoder's shape; the released package builds it with these.

    Args:
        mels: Of a frame.
        pitch: Width of the pitch's convolutions.
        channels: After the first convolution; halved with every upsampling.
        rates: Of the upsamplings.
        kernels: Of the upsamplings.
        window: Samples of the last spectrum's window.
        hop: Samples from window to window.
        blocks: Kernels of the residual blocks after every upsampling.
        source_blocks: Kernels of the source's residual block at every upsampling.
        source: Of the source; a frame of it is a mel frame.
    """

    mels: int = 80
    pitch: int = 512
    channels: int = 512
    rates: tuple[int, ...] = (8, 5, 3)
    kernels: tuple[int, ...] = (16, 11, 7)
    window: int = 16
    hop: int = 4
    blocks: tuple[int, ...] = (3, 7, 11)
    source_blocks: tuple[int, ...] = (7, 7, 11)
    source: HarmonicsSizes = field(default_factory=HarmonicsSizes)

    @property
    def frame(self) -> int:
        """Samples to a mel frame."""
        return prod(self.rates) * self.hop

    @property
    def downs(self) -> tuple[int, ...]:
        """By upsampling, the stride that brings the source's spectrum to its rate."""
        return tuple(accumulate(self.rates[:0:-1], mul, initial=1))[::-1]


class Hift:
    """The vocoder.

    Args:
        weights: Named as released, a leading `generator.` apart.
        sizes: Of the same vocoder.
        lanes: For what can be done at once.
    """

    def __init__(self, weights: Named, sizes: HiftSizes, lanes: Lanes) -> None:
        self._pitch, self._source = (
            _Pitch(weights.below("f0_predictor")),
            Harmonics(weights.below("m_source"), sizes.source),
        )
        self._spectrum = Spectrum(sizes.window, sizes.hop, weights["conv_pre.bias"].device)
        self._before, self._after = _normed(weights, "conv_pre"), _normed(weights, "conv_post")
        many = len(sizes.blocks)
        self._steps = [
            _Upsampling(
                weights,
                index,
                padding=(kernel - rate) // 2,
                stride=rate,
                down=down,
                blocks=range(many * index, many * (index + 1)),
                lanes=lanes,
            )
            for index, (rate, kernel, down) in enumerate(zip(sizes.rates, sizes.kernels, sizes.downs, strict=True))
        ]
        self._sizes = sizes

    def foresee(self, frames: int) -> None:
        """Make the constants that so many mel frames need, and keep them."""
        self._spectrum.foresee(frames * self._sizes.frame // self._sizes.hop + 1)

    def source(self, mel: Tensor, noise: Tensor) -> Tensor:
        """The source's signal for `mel` `[1, mels, frames]` and noise for as many frames: `[1, 1, samples]`."""
        return self._source(self._pitch(mel), noise)

    def __call__(self, mel: Tensor, source: Tensor) -> Tensor:
        """`mel` `[1, mels, frames]` and its source `[1, 1, samples]` as sound, `[1, samples]`."""
        spectrum = self._spectrum.analyse(source.squeeze(1))
        x = self._before(mel)
        for step in self._steps:
            x = step(x, spectrum, last=step is self._steps[-1])
        x = self._after(functional.leaky_relu(x, _LAST_SLOPE))
        frequencies = self._sizes.window // 2 + 1
        magnitude = torch.clip(torch.exp(x[:, :frequencies]), max=_LOUDEST)
        phase = torch.sin(x[:, frequencies:])
        sound = self._spectrum.synthesise(torch.complex(magnitude * torch.cos(phase), magnitude * torch.sin(phase)))
        return torch.clamp(sound, -_LIMIT, _LIMIT)


def _normed(weights: Named, name: str, dilation: int = 1) -> Convolution:
    """A convolution whose weight is stored as direction and length."""
    return centred(weights.normed(name), weights[f"{name}.bias"], dilation)


class _Pitch:
    """Mel to pitch in Hz, `[1, mels, frames]` to `[1, frames]`."""

    def __init__(self, weights: Named) -> None:
        # Between the convolutions stand activations, which the released list counts.
        self._convolutions = [_normed(weights, f"condnet.{2 * index}") for index in range(PITCH_LAYERS)]
        self._out = Linear(weights.below("classifier"))

    def __call__(self, mel: Tensor) -> Tensor:
        x = mel
        for convolution in self._convolutions:
            x = functional.elu(convolution(x))
        return torch.abs(self._out(x.transpose(1, 2)).squeeze(-1))


def _residual(weights: Named) -> Residual:
    return Residual(
        [
            (
                plain(weights.below(f"activations1.{index}")),
                _normed(weights, f"convs1.{index}", dilation),
                plain(weights.below(f"activations2.{index}")),
                _normed(weights, f"convs2.{index}"),
            )
            for index, dilation in enumerate(DILATIONS)
        ]
    )


class _Upsampling:
    """One step: upsample the mel, add the source at that rate, and average what several residual blocks make of it."""

    def __init__(
        self, weights: Named, index: int, *, padding: int, stride: int, down: int, blocks: range, lanes: Lanes
    ) -> None:
        self._up, self._up_bias = weights.normed(f"ups.{index}"), weights[f"ups.{index}.bias"]
        self._down, self._down_bias = weights[f"source_downs.{index}.weight"], weights[f"source_downs.{index}.bias"]
        self._source = _residual(weights.below(f"source_resblocks.{index}"))
        self._blocks = [_residual(weights.below(f"resblocks.{block}")) for block in blocks]
        self._padding, self._stride = padding, stride
        self._down_stride, self._down_padding = down, down // 2 if down > 1 else 0
        self._lanes = lanes

    def __call__(self, x: Tensor, spectrum: Tensor, *, last: bool) -> Tensor:
        def upsampled() -> Tensor:
            y = functional.leaky_relu(x, _SLOPE)
            y = functional.conv_transpose1d(y, self._up, self._up_bias, self._stride, self._padding)
            # A centred spectrum has one frame more than there are hops.
            return functional.pad(y, (1, 0), mode="reflect") if last else y

        def sourced() -> Tensor:
            y = functional.conv1d(spectrum, self._down, self._down_bias, self._down_stride, self._down_padding)
            return self._source(y)

        y, source = self._lanes.together(upsampled, sourced)
        y = y + source
        return averaged(self._blocks, y, self._lanes)
