"""MiniCPM-o 4.5's clocks and state, from microphone to language model to token2wav.

Follows the public repository OpenBMB/MiniCPM-o-Demo at 28b60cf, folder MiniCPMO45 (`modeling_minicpmo_unified.py`,
`processing_minicpmo.py`, `utils.py`). Declarations only, no torch.

Of a unit's language-model tokens no more than a bound is known beforehand; the plan reckons with the bound, and a
session tells what it was. Everything else is exact.
"""

from fractions import Fraction

from engine.clock import Rate
from engine.errors import AskedWrongly
from engine.models.token2wav.timelines import LOOK_AHEAD_TOKENS, TOKEN_HZ, token2wav
from engine.stage import After, AtLimit, Lifetime, Quota, Span, StateSpec, T, Ticking, Timeline, Trim

INPUT_HZ = 16_000
MEL_HOP = 160
FIRST_CHUNK = 16_560  # samples, 1035 ms; of these the mel takes whole hops, and 80 samples wait
MEL_TRIGGER, MEL_STRIDE = 30 * INPUT_HZ, 10 * INPUT_HZ  # of the audio that the mel is computed over, again every unit

# A unit's decoding ends at the latest with its twentieth step, which is not decoded but set. So 19 tokens are fed; the
# first of them, which says that the model speaks, conditions no speech.
FED_TOKENS = 19
CONDITION_TOKENS = FED_TOKENS - 1 + 1  # and the mark at which audio begins
CLOSING_TOKENS = 2  # what ended the unit, and the unit's own end; fed late, in one launch


def timelines(
    *,
    prompt: int = 75,
    solver_steps: int = 5,
    system_tokens: int = 0,
    window: tuple[int, int] | None = None,
    max_tokens: int | None = None,
) -> tuple[Timeline, ...]:
    """MiniCPM-o 4.5, audio only.

    Args:
        prompt: Speech tokens of the voice prompt, 25 a second.
        solver_steps: Steps of the flow's solver; the released demo takes 5.
        system_tokens: Tokens of the system prompt and the voice's reference, which stay.
        window: The language model's "basic" sliding window, tokens over which it drops units and to which it drops
            them, as (4000, 3500); None is the released default, which keeps everything.
        max_tokens: Tokens of the language model after which the session ends, by memory; None leaves that to the
            session's declared length.

    Raises:
        AskedWrongly: The window has no room for the system prompt.
    """
    keep = None
    if window is not None:
        high, low = window
        if not system_tokens < low <= high:
            raise AskedWrongly(f"a window of {high} to {low} tokens", f"one that holds the {system_tokens} that stay")
        # Released, whole units go, so that what is left may be a few tokens less.
        keep = Trim(high, ((0, system_tokens), (system_tokens - low, None)), each_unit=True)
    audio = StateSpec("audio", (T,), keep=Trim(MEL_TRIGGER - 1, ((MEL_STRIDE, None),)))
    # The released encoder starts anew when the positions held and the 52 that a unit's 104 frames make before two are
    # cut off reach 1500: that is when 50 more would make over 1497.
    heard = StateSpec("keys_values", (24, 2, 16, T, 64), "bfloat16", growth=Fraction(1, 2), limit=1500 - 2 - 1)
    llm = StateSpec(
        "keys_values",
        (36, 2, T, 8, 128),
        "bfloat16",
        initial=system_tokens,
        keep=keep,
        limit=max_tokens,
        at_limit=AtLimit.END,
        span=Span.CLOCKED,
        shift_shape=(2, 8, 128),
    )
    tts = StateSpec(
        "keys_values",
        (20, 2, 12, T, 64),
        "bfloat16",
        reset=Lifetime.TURN,
        limit=4096,
        at_limit=AtLimit.END,
        span=Span.CLOCKED,
    )
    return (
        Timeline(
            "mel",
            Ticking(Rate(INPUT_HZ), first=FIRST_CHUNK),
            "sample",
            yields=Fraction(1, MEL_HOP),
            grain=MEL_HOP,
            states=(audio,),
            eager="it runs on the host, over all the audio held",
        ),
        Timeline(
            "audio_encoder",
            After("mel"),
            "mel frame",
            yields=Fraction(1, 10),
            chunk=100,
            look_ahead=2,
            context=(2, 0),
            states=(heard,),
        ),
        Timeline("llm_prefill", Quota((1, 10), (1, 10), (1, 10)), "token", states=(llm,)),
        Timeline(
            "llm_decode",
            Quota(speak=(FED_TOKENS,), flush=(FED_TOKENS,)),
            "token",
            chunk=1,
            shares=("llm_prefill.keys_values",),
        ),
        Timeline("tts_condition", Quota(speak=(CONDITION_TOKENS,), flush=(CONDITION_TOKENS,)), "token", states=(tts,)),
        Timeline(
            "tts",
            Ticking(Rate(TOKEN_HZ), speech=True),
            "speech token",
            chunk=1,
            shares=("tts_condition.keys_values",),
        ),
        # What waits is sent on each unit, down to five tokens beside the look-ahead; a turn starts with silent ones.
        *token2wav("tts", prompt=prompt, solver_steps=solver_steps, least=5, silence=LOOK_AHEAD_TOKENS),
        Timeline(
            "llm_close",
            Quota((CLOSING_TOKENS,), (CLOSING_TOKENS,), (CLOSING_TOKENS,)),
            "token",
            shares=("llm_prefill.keys_values",),
        ),
    )
