"""Qwen3-Omni's code2wav: frames of codes to sound, as a whole or as a stream; `timelines` says which is which.

Over no states every launch is a whole, as the released code has it; over the carried tail's states it goes on from
where the last one ended. Nothing is read back from the device and nothing constant is made twice, so that each exact
shape can be captured as a graph. Same operations on the same layouts as released (transformers 5.x,
`qwen3_omni_moe`), so a whole has the same bits; tests hold that. Entered by the engine thread.
"""

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from engine.models.layers.causal import Causal, CausalUp
from engine.models.layers.checked import checked
from engine.models.layers.lanes import Lanes
from engine.models.layers.named import Linear, Named, Norm
from engine.models.layers.residual import Residual
from engine.models.layers.snake import beta
from engine.models.layers.windowed_stack import WindowedStack
from engine.models.qwen3_omni.sizes import Code2WavSizes, shapes
from engine.models.qwen3_omni.timelines import DILATIONS
from engine.step import Step

STAGE = "code2wav"
_EPS = 1e-6  # of the upsamplings' norms


@dataclass(frozen=True)
class Window:
    """One launch of the tail.

    Args:
        codes: int64 `[1, codebooks, n]`: those heard again, then those taken for good.
        again: Frames heard again, which a stream has heard already.
    """

    codes: Tensor
    again: int


@dataclass(frozen=True)
class Checkpoint:
    """Weights checked against their sizes, in the type that they are computed in.

    Args:
        sizes: Of them.
        weights: Under their released names.
    """

    sizes: Code2WavSizes
    weights: Named

    @classmethod
    def of(cls, sizes: Code2WavSizes, tensors: Mapping[str, Tensor]) -> "Checkpoint":
        """Check tensors under their released names, with the leading "code2wav." or without.

        Raises:
            BadWeights: A tensor is missing, unknown, or of another shape.
        """
        return cls(sizes, checked("code2wav", tensors, shapes(sizes)))


class Code2Wav:
    """Frames of codes to sound.

    Args:
        checkpoint: Weights and sizes. Nothing here holds it afterwards, only what of it a launch needs.
        views: The arena's views by "stage.state"; none where every launch is a whole.
    """

    def __init__(self, checkpoint: Checkpoint, views: Mapping[str, Tensor]) -> None:
        sizes, weights = checkpoint.sizes, checkpoint.weights
        own = {name.partition(".")[2]: view for name, view in views.items() if name.startswith(f"{STAGE}.")}
        self._past = own.pop("keys_values", None)
        self._tails = own
        self._table = weights["code_embedding.weight"]
        self.device, self.sizes = self._table.device, sizes
        self._offsets = torch.arange(sizes.codebooks, device=self.device).view(1, -1, 1) * sizes.codes
        lanes = Lanes(self.device)
        self._read = WindowedStack(weights.below("pre_transformer"), sizes.stack, self._past, lanes)
        self._ups = [
            (_up(weights.below(f"upsample.{index}.0"), rate), _Widened(weights.below(f"upsample.{index}.1"),
                                                                       own.get(f"upsample_{index}")))
            for index, rate in enumerate(sizes.ups)
        ]  # fmt: skip
        self._before = _causal(weights.below("decoder.0"), tail=own.get("before"))
        self._blocks = [
            _Block(weights.below(f"decoder.{index + 1}.block"), index, rate, own)
            for index, rate in enumerate(sizes.rates)
        ]
        last = len(sizes.rates) + 1
        self._activate = beta(weights.below(f"decoder.{last}"))
        self._after = _causal(weights.below(f"decoder.{last + 1}"), tail=own.get("after"))
        self.taken = 0  # frames of the turn, counted by `advance`

    @property
    def carries(self) -> bool:
        """Whether it is a stream."""
        return self._past is not None

    @property
    def held(self) -> int:
        """Frames whose keys and values are carried; none where every launch is a whole."""
        return min(len(self._past), self.taken) if self._past is not None else 0

    def reset(self) -> None:
        """Begin a new turn."""
        self.taken = 0
        for tail in self._tails.values():
            tail.zero_()

    def advance(self, frames: int) -> None:
        """Count frames that a launch has taken."""
        self.taken += frames

    def step(self, codes: Tensor) -> Step:
        """The launch of some frames, as a step that a runtime executes; `advance` follows. See `engine.step`.

        Args:
            codes: int64 `[1, codebooks, n]`; of a whole, those heard again among them.

        Returns:
            A step whose result is as `__call__`'s.
        """
        first = self.taken if self.carries else 0
        positions = torch.arange(first, first + codes.shape[2], device=self.device)
        return self._step(codes, positions, self.held)

    def steps(self, window: Window) -> Generator[Step, Any, Tensor]:
        """The one launch of a window, as steps that a runtime executes, its new frames' sound `[1, 1, samples]`."""
        if self.carries:
            codes = window.codes[:, :, window.again :]
            sound: Tensor = yield self.step(codes)
            self.advance(codes.shape[2])
            return sound
        sound = yield self.step(window.codes)
        return sound[..., window.again * self.sizes.frame :]

    def rehearse(self, stage: str, shape: tuple[int, ...], *, last: bool) -> Step:
        """A launch to be captured: the step of a planned shape, with room for its inputs, its constants made."""
        assert stage == STAGE, stage
        count, held = shape[0], shape[1] if self.carries else 0
        self._read.foresee(count, held)
        codes = torch.zeros(1, self.sizes.codebooks, count, dtype=torch.int64, device=self.device)
        return self._step(codes, torch.arange(count, device=self.device), held)

    def _step(self, codes: Tensor, positions: Tensor, held: int) -> Step:
        count = codes.shape[2]
        shape = (count, held) if self.carries else (count,)
        return Step(STAGE, shape, count, partial(self, held=held), (codes, positions), captures=True)

    def __call__(self, codes: Tensor, positions: Tensor, held: int) -> Tensor:
        """Decode.

        Args:
            codes: int64 `[1, codebooks, n]`.
            positions: int64 `[n]`, of each frame in its turn, or in its whole.
            held: Frames whose keys and values are carried.

        Returns:
            `[1, 1, samples]`: 1920 for each frame; where nothing is carried yet, 555 fewer.
        """
        begins = held == 0
        x = functional.embedding(codes + self._offsets, self._table).mean(1)
        x = self._read(x, positions, held).permute(0, 2, 1)
        for up, widened in self._ups:
            x = widened(up(x))
        x = self._before(x)
        for block in self._blocks:
            x = block(x, begins=begins)
        return self._after(self._activate(x)).clamp(min=-1, max=1)


def _causal(weights: Named, dilation: int = 1, groups: int = 1, tail: Tensor | None = None) -> Causal:
    own = weights.below("conv")
    return Causal(own["weight"], own["bias"], dilation=dilation, groups=groups, tail=tail)


def _up(weights: Named, rate: int, tail: Tensor | None = None) -> CausalUp:
    own = weights.below("conv")
    return CausalUp(own["weight"], own["bias"], rate, tail)


class _Widened:
    """A ConvNeXt block (arXiv 2201.03545): a convolution of each channel by itself, and a wide feed-forward."""

    def __init__(self, weights: Named, tail: Tensor | None) -> None:
        width = len(weights["gamma"])
        self._convolve = _causal(weights.below("dwconv"), groups=width, tail=tail)
        self._norm = Norm(weights.below("norm"), _EPS)
        self._up, self._down = (Linear(weights.below(f"pwconv{part}")) for part in (1, 2))
        self._gamma = weights["gamma"]

    def __call__(self, x: Tensor) -> Tensor:
        y = self._norm(self._convolve(x).permute(0, 2, 1))
        y = self._gamma * self._down(functional.gelu(self._up(y)))
        return x + y.permute(0, 2, 1)


class _Block:
    """One of the last upsamplings, and residual units more and more dilated."""

    def __init__(self, weights: Named, index: int, rate: int, tails: Mapping[str, Tensor]) -> None:
        self._activate = beta(weights.below("0"))
        self._up = _up(weights.below("1"), rate, tails.get(f"up_{index}"))
        self._residual = Residual(
            [
                (
                    beta(unit.below("act1")),
                    _causal(unit.below("conv1"), dilation, tail=tails.get(f"residual_{index}_{dilation}")),
                    beta(unit.below("act2")),
                    _causal(unit.below("conv2")),
                )
                for dilation, unit in ((one, weights.below(str(at + 2))) for at, one in enumerate(DILATIONS))
            ]
        )

    def __call__(self, x: Tensor, *, begins: bool) -> Tensor:
        return self._residual(self._up(self._activate(x), begins=begins))
