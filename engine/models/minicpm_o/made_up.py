"""MiniCPM-o without a checkpoint: random weights at any size, a size for tests, and timelines of any size.

Times, memory and bits are true with random weights; what is said is noise. None of them is zero.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from engine.models.layers.checked import Shape
from engine.models.layers.decoder_stack import StackSizes
from engine.models.minicpm_o.protocol import Marks
from engine.models.minicpm_o.sizes import (
    EncoderSizes,
    LanguageSizes,
    SpeechSizes,
    encoder_shapes,
    language_shapes,
    speech_shapes,
)
from engine.models.token2wav import made_up as token2wav
from engine.models.token2wav.sizes import Token2WavSizes
from engine.stage import StateSpec, T, Timeline

TINY_ENCODER = EncoderSizes(mels=8, width=32, layers=2, heads=2, inner=128, positions=240, out=48)
TINY_SPEECH = SpeechSizes(
    StackSizes(width=32, inner=64, layers=2, heads=2, kv_heads=2, dim=16, eps=1e-6, rope_theta=10_000.0),
    texts=128,
    tokens=4301,  # one more than the tiny token2wav speaks
    llm=48,
    begin=120,
)
TINY_LANGUAGE = LanguageSizes(
    tokens=128,
    stack=StackSizes(width=48, inner=96, layers=2, heads=4, kv_heads=2, dim=16, eps=1e-6, rope_theta=1e6),
)
TINY_MARKS = Marks(
    unit=110, unit_end=111, tts_bos=112, listen=113, speak=114, turn_eos=115, chunk_eos=116, chunk_tts_eos=117
)
RELEASED_TOKENS = 151_748  # text tokens, by the released `config.json`


@dataclass(frozen=True)
class WholeSizes:
    """Of all parts.

    Args:
        encoder: The audio encoder's.
        language: The language model's.
        speech: The speech-token decoder's.
        token2wav: Of both its halves.
        marks: Ids of the protocol's tokens.
        texts: Ids below it are plain text.
    """

    encoder: EncoderSizes = field(default_factory=EncoderSizes)
    language: LanguageSizes = field(default_factory=lambda: LanguageSizes(RELEASED_TOKENS))
    speech: SpeechSizes = field(default_factory=SpeechSizes)
    token2wav: Token2WavSizes = field(default_factory=Token2WavSizes)
    marks: Marks = field(default_factory=Marks)
    texts: int = 151_643


TINY = WholeSizes(TINY_ENCODER, TINY_LANGUAGE, TINY_SPEECH, token2wav.TINY, TINY_MARKS, texts=100)


def make_up(
    shapes: Mapping[str, Shape], dtype: torch.dtype, seed: int = 1, device: torch.device | None = None
) -> dict[str, Tensor]:
    """Random weights of the asked-for shapes, scaled so that signals stay about one.

    Args:
        shapes: By name.
        dtype: Of all of them.
        seed: Other weights for another.
        device: Where they are made; the same on every machine without one, on every device of a kind with one.
    """
    device = device or torch.device("cpu")
    generator = torch.Generator(device).manual_seed(seed)
    return {name: _weight(name, shape, generator, device).to(dtype) for name, shape in shapes.items()}


def _weight(name: str, shape: Shape, generator: torch.Generator, device: torch.device) -> Tensor:
    spread = 0.1 if len(shape) < 2 or shape[1] == 1 else 0.8 * float(torch.Size(shape[1:]).numel()) ** -0.5
    scales = name.endswith("original0") or (len(shape) == 1 and "norm" in name and name.endswith("weight"))
    return torch.randn(shape, generator=generator, device=device).mul_(spread).add_(float(scales))


def make_up_whole(sizes: WholeSizes, device: torch.device, dtype: torch.dtype = torch.bfloat16) -> dict[str, Tensor]:
    """Random weights of encoder, language model and speech decoder, by released name, made on the device."""
    weights: dict[str, Tensor] = {}
    for seed, shapes in enumerate(
        (encoder_shapes(sizes.encoder), language_shapes(sizes.language), speech_shapes(sizes.speech)), 1
    ):
        weights |= make_up(shapes, dtype, seed, device)
    weights["tts.head_code.0.parametrizations.weight.original0"] *= 1.5  # some speech tokens likelier than others
    return weights


def resized(lines: tuple[Timeline, ...], sizes: WholeSizes) -> tuple[Timeline, ...]:
    """MiniCPM-o's timelines with the same clocks, and states of other sizes."""
    encoder, language, speech = sizes.encoder, sizes.language.stack, sizes.speech.stack
    heard: tuple[int | str, ...] = (encoder.layers, 2, encoder.heads, T, encoder.width // encoder.heads)
    thought: tuple[int | str, ...] = (language.layers, 2, T, language.kv_heads, language.dim)
    spoken: tuple[int | str, ...] = (speech.layers, 2, speech.kv_heads, T, speech.dim)

    def resize(stage: str, spec: StateSpec) -> StateSpec:
        if stage == "audio_encoder":
            return replace(spec, shape=heard, limit=encoder.positions - encoder.context - 1)
        if stage == "llm_prefill":
            return replace(spec, shape=thought, shift_shape=(2, language.kv_heads, language.dim))
        return replace(spec, shape=spoken) if stage == "tts_condition" else spec

    lines = tuple(replace(line, states=tuple(resize(line.name, spec) for spec in line.states)) for line in lines)
    return token2wav.resized(lines, sizes.token2wav)
