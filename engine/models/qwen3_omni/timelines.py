"""Qwen3-Omni's clocks and state: a thinker and a talker of experts, a code predictor, and code2wav.

Follows the released modelling code (transformers 5.x, `qwen3_omni_moe`) and Qwen3-Omni-30B-A3B's configuration. Its
tail comes in two, which do not sound the same:

- *windows*: the released `chunked_decode`. Every launch is handed 25 frames again and cut; each loses 555 samples, the
  reach of the transposed convolutions, so that seams are audible and a second is 23 ms short. Nothing is carried.
- *carried*: keys and values, convolutions' pasts and transposed convolutions' last ticks go on from launch to launch.
  It is what the released `forward` makes of the whole turn at once: 555 samples are lost once, at the beginning.

Plans count a frame as 1920 samples in both; what is lost is not counted. Declarations only, no torch.
"""

from dataclasses import dataclass, replace
from fractions import Fraction

from engine.clock import Rate
from engine.models.thinker_talker import POSITIONS, Stack, thinker_talker
from engine.stage import After, Lifetime, Span, StateSpec, T, Tail, Timeline

FRAME_HZ = Rate(25, 2)
CODEBOOKS = 16
FRAME_SAMPLES = 1920  # 24 kHz
AGAIN_FRAMES = 25  # that a window hears again
LOST_SAMPLES = 555
DILATIONS = (1, 3, 9)
REACH = 6  # ticks that a kernel of seven looks back


def windows(source: str, chunk: int | None = None) -> tuple[Timeline, ...]:
    """The tail as released: windows recomputed.

    Args:
        source: The stage that puts out frames of codes.
        chunk: Frames that a launch takes and waits for; None takes whatever has come.
    """
    again = (AGAIN_FRAMES, 0)
    return (Timeline("code2wav", After(source), "frame", yields=FRAME_SAMPLES, chunk=chunk, context=again),)


@dataclass(frozen=True)
class TailShape:
    """What the carried tail's states are as large as.

    Args:
        layers: Of the transformer.
        heads: Of its attention.
        width: Of its vectors.
        window: Ticks that one of its ticks sees, itself among them.
        channels: Before the first of the last upsamplings; halved with each.
        ups: Rates of the first upsamplings, whose kernels do not reach beyond a tick.
        rates: Of the last, whose kernels reach into the next.
        dtype: Of all of them.
    """

    layers: int = 8
    heads: int = 16
    width: int = 1024
    window: int = 72
    channels: int = 1536
    ups: tuple[int, ...] = (2, 2)
    rates: tuple[int, ...] = (8, 5, 4, 3)
    dtype: str = "float32"


def carried(source: str, shape: TailShape = TailShape()) -> tuple[Timeline, ...]:
    """The tail as a stream: what the whole turn at once would be.

    Args:
        source: The stage that puts out frames of codes.
        shape: Of its states.
    """
    states = (_attention(shape), *_convolutions(shape))
    return (Timeline("code2wav", After(source), "frame", yields=FRAME_SAMPLES, states=states),)


def _attention(shape: TailShape) -> StateSpec:
    """Keys and values of what the window reaches beside the tick itself: none or some or all, another launch."""
    size = (shape.layers, 2, shape.heads, T, shape.width // shape.heads)
    return StateSpec("keys_values", size, shape.dtype, keep=Tail(shape.window - 1), reset=Lifetime.TURN)


def _convolutions(shape: TailShape) -> list[StateSpec]:
    """What each convolution keeps of its input, and each transposed one that reaches beyond a tick."""
    rate, tails = 1, []
    for index, up in enumerate(shape.ups):
        rate *= up
        tails.append(_tail(f"upsample_{index}", shape.width, REACH, rate))
    tails.append(_tail("before", shape.width, REACH, rate))
    channels = shape.channels
    for index, up in enumerate(shape.rates):
        tails.append(_tail(f"up_{index}", channels, 1, rate))
        rate, channels = rate * up, channels // 2
        tails += [_tail(f"residual_{index}_{one}", channels, REACH * one, rate) for one in DILATIONS]
    return [replace(tail, dtype=shape.dtype) for tail in (*tails, _tail("after", channels, REACH, rate))]


def _tail(name: str, channels: int, ticks: int, growth: int) -> StateSpec:
    return StateSpec(
        name,
        (1, channels, T),
        growth=growth,
        initial=ticks,
        keep=Tail(ticks),
        reset=Lifetime.TURN,
        span=Span.WHOLE,
    )


def timelines(*, question_s: int = 30, system_tokens: int = 0, max_tokens: int = POSITIONS) -> tuple[Timeline, ...]:
    """Qwen3-Omni 30B-A3B, turn by turn.

    Args:
        question_s: The longest question, in seconds, to be heard at once.
        system_tokens: Tokens of the system prompt, which stay.
        max_tokens: Tokens of the thinker's after which the session ends, by memory; its positions end there anyway.

    Raises:
        AskedWrongly: A question is shorter than a second, or longer than five minutes.
    """
    spoken = thinker_talker(
        Stack(layers=48, heads=4),
        Stack(layers=20, heads=2),
        FRAME_HZ,
        "frame",
        frames_an_embedding=8,  # halved by three convolutions: 12.5 Hz
        question_s=question_s,
        system_tokens=system_tokens,
        max_tokens=max_tokens,
        eager="which experts a token takes is known only when it is there",
    )
    # The predictor begins anew with every frame: what the talker says and its code, then a code a tick.
    predicted = StateSpec(
        "keys_values",
        (5, 2, 8, T, 128),
        "bfloat16",
        keep=Tail(CODEBOOKS),
        reset=Lifetime.TURN,
        span=Span.WHOLE,
    )
    predictor = Timeline(
        "code_predictor",
        After("talker", ratio=Fraction(CODEBOOKS)),
        "code",
        yields=Fraction(1, CODEBOOKS),
        chunk=CODEBOOKS,
        states=(predicted,),
    )
    return (*spoken, predictor, *carried("code_predictor"))
