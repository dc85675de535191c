"""ECAPA-TDNN (arXiv 2005.07143): a recording's mel to one vector, as Qwen2.5-Omni's flow listens to its voice.

Run once a voice, so nothing here is written for replay. Same operations on the same layouts as released (transformers
5.x, `qwen2_5_omni`), so the bits are the same; tests hold that. Entered by the engine thread.
"""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from engine.models.layers.checked import Shapes, below
from engine.models.layers.named import Named

_LEAST_VARIANCE = 1e-12


@dataclass(frozen=True)
class EcapaSizes:
    """The network's shape.

    Args:
        mels: Of a frame.
        out: Of the vector.
        channels: After every block: the first, those that squeeze and excite, the last.
        kernels: Of the same.
        dilations: Of the same.
        attention: Channels of the pooling's attention.
        parts: That a block's channels are convolved in, one after another.
        squeezed: Channels of the excitation.
    """

    mels: int = 80
    out: int = 128
    channels: tuple[int, ...] = (256, 256, 256, 256, 768)
    kernels: tuple[int, ...] = (5, 3, 3, 3, 1)
    dilations: tuple[int, ...] = (1, 2, 3, 4, 1)
    attention: int = 64
    parts: int = 2
    squeezed: int = 64


def shapes(sizes: EcapaSizes) -> Shapes:
    """Every tensor, by its released name."""
    channels, last = sizes.channels, sizes.channels[-1]
    yield from _conv("blocks.0.conv", sizes.mels, channels[0], sizes.kernels[0])
    for index in range(1, len(channels) - 1):
        wide = channels[index]
        yield from below(f"blocks.{index}", _conv("tdnn1.conv", channels[index - 1], wide, 1))
        part = wide // sizes.parts
        for inner in range(sizes.parts - 1):
            yield from _conv(f"blocks.{index}.res2net_block.blocks.{inner}.conv", part, part, sizes.kernels[index])
        yield from _conv(f"blocks.{index}.tdnn2.conv", wide, wide, 1)
        yield from _conv(f"blocks.{index}.se_block.conv1", wide, sizes.squeezed, 1)
        yield from _conv(f"blocks.{index}.se_block.conv2", sizes.squeezed, wide, 1)
    yield from _conv("mfa.conv", last, last, sizes.kernels[-1])
    yield from _conv("asp.tdnn.conv", 3 * last, sizes.attention, 1)
    yield from _conv("asp.conv", sizes.attention, last, 1)
    yield from _conv("fc", 2 * last, sizes.out, 1)


def _conv(name: str, inputs: int, outputs: int, kernel: int) -> Shapes:
    yield f"{name}.weight", (outputs, inputs, kernel)
    yield f"{name}.bias", (outputs,)


def embed(weights: Named, sizes: EcapaSizes, mel: Tensor) -> Tensor:
    """`mel` `[batch, frames, mels]` as one vector each, `[batch, out]`.

    Args:
        weights: Named as released, below `spk_encoder`.
        sizes: Of the same network.
        mel: Of the recordings.
    """
    x = _heard(weights.below("blocks.0"), mel.transpose(1, 2), sizes.dilations[0])
    seen = []
    for index in range(1, len(sizes.channels) - 1):
        x = _block(weights.below(f"blocks.{index}"), x, sizes.parts, sizes.dilations[index])
        seen.append(x)
    x = _heard(weights.below("mfa"), torch.cat(seen, 1), sizes.dilations[-1])
    return _convolved(weights.below("fc"), _pooled(weights.below("asp"), x)).squeeze(-1)


def _convolved(weights: Named, x: Tensor, dilation: int = 1) -> Tensor:
    """As many ticks out as in, mirrored at either end."""
    weight = weights["weight"]
    reach = (weight.shape[2] - 1) // 2 * dilation
    x = functional.pad(x, (reach, reach), mode="reflect")
    return functional.conv1d(x, weight, weights["bias"], dilation=dilation)


def _heard(weights: Named, x: Tensor, dilation: int = 1) -> Tensor:
    return functional.relu(_convolved(weights.below("conv"), x, dilation))


def _block(weights: Named, x: Tensor, parts: int, dilation: int) -> Tensor:
    first, *others = _heard(weights.below("tdnn1"), x).chunk(parts, dim=1)
    seen, last = [first], None
    for index, part in enumerate(others):
        own = weights.below(f"res2net_block.blocks.{index}")
        last = _heard(own, part if last is None else part + last, dilation)
        seen.append(last)
    y = _heard(weights.below("tdnn2"), torch.cat(seen, 1))
    excited = functional.relu(_convolved(weights.below("se_block.conv1"), y.mean(dim=2, keepdim=True)))
    return y * torch.sigmoid(_convolved(weights.below("se_block.conv2"), excited)) + x


def _pooled(weights: Named, x: Tensor) -> Tensor:
    """Mean and deviation over time, by an attention that knows both: `[batch, 2 * channels, 1]`."""
    frames = x.shape[2]
    even = torch.ones(len(x), 1, frames, dtype=x.dtype, device=x.device)
    known = [part.unsqueeze(2).repeat(1, 1, frames) for part in _statistics(x, even / even.sum(2, keepdim=True))]
    attention = torch.tanh(_heard(weights.below("tdnn"), torch.cat((x, *known), 1)))
    attention = functional.softmax(_convolved(weights.below("conv"), attention), dim=2)
    return torch.cat(_statistics(x, attention), 1).unsqueeze(2)


def _statistics(x: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    mean = (weight * x).sum(2)
    return mean, torch.sqrt((weight * (x - mean.unsqueeze(2)).pow(2)).sum(2).clamp(_LEAST_VARIANCE))
