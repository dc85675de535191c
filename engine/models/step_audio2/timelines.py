"""Step-Audio 2 mini's clocks and state: a turn-by-turn language model that itself emits speech tokens, then token2wav.

Follows the released `stepaudio2.py`, `utils.py` and the configuration of Step-Audio 2 mini (28 layers of 4 key-value
heads of 128). Declarations only, no torch.
"""

from math import ceil

from engine.clock import Rate
from engine.errors import AskedWrongly
from engine.models.token2wav.timelines import TOKEN_HZ, token2wav
from engine.stage import AtLimit, Quota, Span, StateSpec, T, Ticking, Timeline

MARKUP_TOKENS = 16  # at most, of a turn: roles, ends of turns, starts of audio and of speech


def timelines(
    *,
    prompt: int = 75,
    solver_steps: int = 10,
    question_s: int = 25,
    system_tokens: int = 0,
    max_tokens: int | None = None,
) -> tuple[Timeline, ...]:
    """Step-Audio 2 mini, turn by turn.

    Args:
        prompt: Speech tokens of the voice prompt, 25 a second.
        solver_steps: Steps of the flow's solver; the released model takes 10.
        question_s: The longest question, in seconds; the encoder takes at most 25 at once.
        system_tokens: Tokens of the system prompt, which stay.
        max_tokens: Tokens after which the session ends, by memory; None leaves it to the session's declared length.

    Raises:
        AskedWrongly: The question is longer than the encoder takes at once.
    """
    if not 1 <= question_s <= 25:
        raise AskedWrongly(f"questions of up to {question_s} s", "between 1 and 25 s, which the encoder takes at once")
    # Mel at 100 Hz, two frames of padding; halved by a convolution, halved by a pool, halved by the adaptor: 12.5 Hz.
    mel = tuple(100 * seconds + 2 for seconds in range(1, question_s + 1))
    heard = tuple(ceil((frames - 2) / 8) + MARKUP_TOKENS for frames in mel)
    keys = StateSpec(
        "keys_values",
        (28, 2, T, 4, 128),
        "bfloat16",
        initial=system_tokens,
        limit=max_tokens,
        at_limit=AtLimit.END,
        span=Span.CLOCKED,
    )
    shared = ("llm_prefill.keys_values",)
    text = ceil(TOKEN_HZ / 4)  # one text token to four of speech
    return (
        Timeline("audio_encoder", Quota(opens=mel[-1:], sizes=mel), "mel frame"),
        Timeline("llm_prefill", Quota(opens=heard[-1:], sizes=heard), "token", states=(keys,)),
        Timeline("llm_text", Quota(speak=(text,), flush=(text,)), "token", chunk=1, shares=shared),
        Timeline("llm", Ticking(Rate(TOKEN_HZ), speech=True), "speech token", chunk=1, shares=shared),
        *token2wav("llm", prompt=prompt, solver_steps=solver_steps),
    )
