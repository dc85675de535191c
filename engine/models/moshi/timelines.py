"""Moshi's clocks and state: Mimi in, a temporal and a depth transformer, Mimi out.

Follows `moshi` 0.2.13 (`models/loaders.py`, `models/lm.py`, `modules/seanet.py`, `modules/conv.py`,
`modules/transformer.py`). PersonaPlex has the same shapes. Declarations only, no torch.

Mimi ticks 12.5 times a second. On its own cadence of 80 ms a unit is one frame; on a cadence of one second it is 12
frames and 13 in turn, and the first unit's answer is a frame short, because the agent's codebooks are a frame apart.
"""

from fractions import Fraction

from engine.clock import Rate
from engine.stage import After, Ring, Span, StateSpec, T, Tail, Ticking, Timeline

FRAME_HZ = Rate(25, 2)
FRAME_SAMPLES = 1920  # 24 kHz
ENCODED_A_FRAME = 2  # Mimi's transformers run at 25 Hz, beyond the resampling
STRIDES = (4, 5, 6, 8)  # from samples to 25 Hz
FILTERS, WIDTH = 64, 512
CODEBOOKS = 8


def timelines() -> tuple[Timeline, ...]:
    """Moshi 7B. Everything it holds is a ring or a convolution's tail, so that no session needs a limit."""
    temporal = StateSpec("keys_values", (32, 2, 32, T, 128), "bfloat16", keep=Ring(3000), span=Span.WHOLE)
    depth = StateSpec("keys_values", (6, 2, 16, T, 64), "bfloat16", keep=Ring(CODEBOOKS), span=Span.WHOLE)
    return (
        Timeline(
            "mimi_encoder",
            Ticking(Rate(FRAME_SAMPLES * FRAME_HZ)),
            "sample",
            yields=Fraction(1, FRAME_SAMPLES),
            grain=FRAME_SAMPLES,
            states=(*_encoder_tails(), _attention(Fraction(ENCODED_A_FRAME, FRAME_SAMPLES))),
        ),
        Timeline("temporal", After("mimi_encoder"), "frame", chunk=1, states=(temporal,)),
        Timeline(
            "depth",
            After("temporal", ratio=Fraction(CODEBOOKS)),
            "codebook",
            yields=Fraction(1, CODEBOOKS),
            chunk=CODEBOOKS,
            lag=CODEBOOKS,
            states=(depth,),
        ),
        Timeline(
            "mimi_decoder",
            After("depth"),
            "frame",
            yields=FRAME_SAMPLES,
            states=(*_decoder_tails(), _attention(Fraction(ENCODED_A_FRAME))),
        ),
    )


def _attention(growth: Fraction) -> StateSpec:
    """Eight layers' keys and values, of which a ring holds ten seconds."""
    return StateSpec("keys_values", (8, 2, 8, T, 64), growth=growth, keep=Ring(250), span=Span.WHOLE)


def _encoder_tails() -> list[StateSpec]:
    """What each causal convolution keeps of its input: its kernel less its stride."""
    rate, channels = Fraction(1), FILTERS
    tails = [_tail("conv_in", 1, 6, rate)]
    for layer, stride in enumerate(STRIDES):
        tails += [_tail(f"residual_{layer}", channels, 2, rate), _tail(f"down_{layer}", channels, stride, rate)]
        rate, channels = rate / stride, 2 * channels
    return [*tails, _tail("conv_out", channels, 2, rate), _tail("resample", WIDTH, 2, rate)]


def _decoder_tails() -> list[StateSpec]:
    """The same going up, where a transposed convolution keeps of its output what the next launch adds to."""
    rate, channels = Fraction(ENCODED_A_FRAME), FILTERS * 2 ** len(STRIDES)
    tails = [_tail("resample", WIDTH, 2, rate), _tail("conv_in", WIDTH, 6, rate)]
    for layer, stride in enumerate(reversed(STRIDES)):
        rate, channels = rate * stride, channels // 2
        tails += [_tail(f"up_{layer}", channels, stride, rate), _tail(f"residual_{layer}", channels, 2, rate)]
    return [*tails, _tail("conv_out", channels, 2, rate)]


def _tail(name: str, channels: int, ticks: int, growth: Fraction) -> StateSpec:
    return StateSpec(name, (channels, T), growth=growth, initial=ticks, keep=Tail(ticks), span=Span.WHOLE)
