"""The clocks and states of Pocket's hearing: voice activity, the encoder, the decoder. Declarations only, no torch.

A window is heard and written down within one unit, so that its keys and values last no longer than that.
"""

from engine.clock import Rate
from engine.models.pocket.windows import (
    MAX_PIECE_S,
    MIN_WINDOW_S,
    PROMPT_TOKENS,
    SAMPLE_RATE_HZ,
    TICKS_PER_S,
    max_tokens,
    window_s,
)
from engine.stage import Lifetime, Quota, Ring, Span, StateSpec, T, Ticking, Timeline, Trim

FRAME_SAMPLES = 512  # of voice activity
MEMORY_WIDTH = 128
LAYERS, HEADS, DIM = 4, 6, 64  # of Whisper tiny.en's decoder
KEYS_AND_VALUES = (T, LAYERS, 2, HEADS, DIM)


def hearing_timelines(longest_piece_s: int = MAX_PIECE_S) -> tuple[Timeline, ...]:
    """Pocket's hearing.

    Args:
        longest_piece_s: Seconds of the longest piece of speech that is heard at once.
    """
    longest_s = window_s(longest_piece_s * SAMPLE_RATE_HZ)
    ticks, tokens = longest_s * TICKS_PER_S, PROMPT_TOKENS + max_tokens(longest_s)
    windows = tuple(seconds * TICKS_PER_S for seconds in range(MIN_WINDOW_S, longest_s + 1))
    one_unit = Trim(over=0, keep=(), each_unit=True)
    return (
        Timeline(
            "activity",
            Ticking(Rate(SAMPLE_RATE_HZ, FRAME_SAMPLES)),
            tick="frame",
            states=(StateSpec("memory", (T, 2, MEMORY_WIDTH), initial=1, keep=Ring(1), span=Span.WHOLE),),
        ),
        Timeline(
            "hearing",
            Quota(listen=(ticks,), speak=(ticks,), sizes=windows),
            tick="20 ms of a window",
            states=(StateSpec("heard", KEYS_AND_VALUES, keep=one_unit, reset=Lifetime.TURN, span=Span.CLOCKED),),
        ),
        Timeline(
            "transcript",
            Quota(listen=(tokens,), speak=(tokens,)),
            tick="token",
            chunk=1,
            states=(StateSpec("written", KEYS_AND_VALUES, keep=one_unit, reset=Lifetime.TURN, span=Span.CLOCKED),),
        ),
    )
