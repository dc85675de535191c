"""The sizes of Qwen3-Omni's code2wav, as released or smaller, every tensor of it by released name, and its state.

What a checkpoint is checked against, and what memory can be told from, before any of it is there. No weights.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any

from engine.errors import BadWeights
from engine.models.layers import windowed_stack
from engine.models.layers.checked import Shape, Shapes, below, linear, norm, refuse_other
from engine.models.layers.windowed_stack import WindowedSizes
from engine.models.qwen3_omni.timelines import CODEBOOKS, DILATIONS, TailShape


@dataclass(frozen=True)
class Code2WavSizes:
    """Codes to sound.

    Args:
        codebooks: Codes to a frame.
        codes: Of a codebook.
        stack: What the codes are read by.
        channels: Before the first of the last upsamplings; halved with each.
        ups: Rates of the first upsamplings.
        rates: Of the last.
    """

    codebooks: int = CODEBOOKS
    codes: int = 2048
    stack: WindowedSizes = field(default_factory=WindowedSizes)
    channels: int = 1536
    ups: tuple[int, ...] = (2, 2)
    rates: tuple[int, ...] = (8, 5, 4, 3)

    @property
    def frame(self) -> int:
        """Samples to a frame."""
        return prod(self.ups) * prod(self.rates)

    @property
    def lost(self) -> int:
        """Samples that a beginning lacks: each rate once, at the rates after it."""
        return sum(prod(self.rates[index:]) for index in range(len(self.rates)))

    def shape(self, dtype: str = "float32") -> TailShape:
        """What the states are as large as."""
        stack = self.stack
        return TailShape(
            stack.layers, stack.heads, stack.width, stack.window, self.channels, self.ups, self.rates, dtype
        )


def shapes(sizes: Code2WavSizes) -> dict[str, Shape]:
    """Every tensor by its released name, without the leading "code2wav."."""
    return dict(_shapes(sizes))


def _shapes(sizes: Code2WavSizes) -> Shapes:
    width, channels = sizes.stack.width, sizes.channels
    yield from below("pre_transformer", windowed_stack.shapes(sizes.stack))
    yield "code_embedding.weight", (sizes.codebooks * sizes.codes, width)
    for index, rate in enumerate(sizes.ups):
        yield f"upsample.{index}.0.conv.weight", (width, width, rate)
        yield f"upsample.{index}.0.conv.bias", (width,)
        block = f"upsample.{index}.1"
        yield from _convolution(f"{block}.dwconv", 1, width, 7)
        yield from norm(f"{block}.norm", width)
        yield from linear(f"{block}.pwconv1", width, 4 * width)
        yield from linear(f"{block}.pwconv2", 4 * width, width)
        yield f"{block}.gamma", (width,)
    yield from _convolution("decoder.0", width, channels, 7)
    for index, rate in enumerate(sizes.rates):
        wide, channels = channels, channels // 2
        block = f"decoder.{index + 1}.block"
        yield from _snake(f"{block}.0", wide)
        yield f"{block}.1.conv.weight", (wide, channels, 2 * rate)
        yield f"{block}.1.conv.bias", (channels,)
        for unit in range(len(DILATIONS)):
            own = f"{block}.{unit + 2}"
            yield from _snake(f"{own}.act1", channels)
            yield from _convolution(f"{own}.conv1", channels, channels, 7)
            yield from _snake(f"{own}.act2", channels)
            yield from _convolution(f"{own}.conv2", channels, channels, 1)
    yield from _snake(f"decoder.{len(sizes.rates) + 1}", channels)
    yield from _convolution(f"decoder.{len(sizes.rates) + 2}", channels, 1, 7)


def _convolution(name: str, inputs: int, outputs: int, kernel: int) -> Shapes:
    yield f"{name}.conv.weight", (outputs, inputs, kernel)
    yield f"{name}.conv.bias", (outputs,)


def _snake(name: str, channels: int) -> Shapes:
    yield f"{name}.alpha", (channels,)
    yield f"{name}.beta", (channels,)


def of_config(config: Mapping[str, Any]) -> Code2WavSizes:
    """The sizes that a released `code2wav_config` tells of.

    Raises:
        BadWeights: A number is not there, or it asks for what is not built here.
    """
    try:
        sizes = Code2WavSizes(
            codebooks=int(config["num_quantizers"]),
            codes=int(config["codebook_size"]),
            stack=WindowedSizes(
                layers=int(config["num_hidden_layers"]),
                width=int(config["hidden_size"]),
                heads=int(config["num_attention_heads"]),
                inner=int(config["intermediate_size"]),
                window=int(config["sliding_window"]),
                eps=float(config["rms_norm_eps"]),
                rope_theta=float((config.get("rope_parameters") or config).get("rope_theta", WindowedSizes.rope_theta)),
            ),
            channels=int(config["decoder_dim"]),
            ups=tuple(config["upsampling_ratios"]),
            rates=tuple(config["upsample_rates"]),
        )
        asked = {
            "num_key_value_heads": (config["num_key_value_heads"], sizes.stack.heads),
            "attention_bias": (config.get("attention_bias", False), False),
            "hidden_act": (config.get("hidden_act", "silu"), "silu"),
        }
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise BadWeights(f"code2wav_config cannot be read: {error}", "the released config.json") from error
    refuse_other("code2wav_config", asked)
    return sizes
