"""Qwen2.5-Omni's clocks and state: a thinker, a talker at 50 codes a second, and a tail that is windows recomputed.

Follows the released modelling code (transformers 5.x, `qwen2_5_omni`) and Qwen2.5-Omni-7B's configuration. That code
makes a whole answer's sound at once; how it is cut into windows is as Qwen's own streaming server does it: two blocks
of codes before, one after, and a vocoder that hears forty frames again and holds twenty back. Declarations only, no
torch.
"""

from math import ceil

from engine.clock import Rate
from engine.errors import AskedWrongly
from engine.stage import After, AtLimit, Lifetime, Quota, Span, StateSpec, T, Tail, Ticking, Timeline

CODE_HZ = 50
FRAMES_A_CODE = 2  # mel frames, 100 Hz
SAMPLES_A_FRAME = 240  # 24 kHz
BLOCK_CODES = 12  # a block of the transformer's attention: 24 frames
CHUNK_CODES = CODE_HZ  # one second
BEFORE_CODES, AHEAD_CODES = 2 * BLOCK_CODES, BLOCK_CODES  # a window's, around what it takes for good
AGAIN_FRAMES, HELD_FRAMES = 40, 20  # of the vocoder: heard again, and held back
MELS = 80
TEXT_TOKENS = 12  # at most a second of speech, and as many of the turn before a talker begins
POSITIONS = 32_768  # of thinker and talker
MARKUP_TOKENS = 16  # at most, of a turn: roles, ends of turns, starts of audio


def token2wav(source: str, *, mels: int = MELS, least: int = BLOCK_CODES) -> tuple[Timeline, ...]:
    """Codes to sound: flow matching over a window, vocoder.

    Args:
        source: The stage that puts out codes.
        mels: Channels of a mel frame.
        least: Codes, look-ahead apart, below which it waits for more; a block at least has all that it looks back at.
    """
    # None or some or all: another launch.
    again = StateSpec("mel", (1, mels, T), keep=Tail(AGAIN_FRAMES), reset=Lifetime.TURN)
    return (
        Timeline(
            "flow",
            After(source),
            "code",
            yields=FRAMES_A_CODE,
            chunk=CHUNK_CODES,
            least=least,
            look_ahead=AHEAD_CODES,
            context=(BEFORE_CODES, 0),
        ),
        Timeline(
            "vocoder",
            After("flow", each=True),
            "mel frame",
            yields=SAMPLES_A_FRAME,
            lag=HELD_FRAMES,
            context=(AGAIN_FRAMES, 0),
            states=(again,),
        ),
    )


def timelines(*, question_s: int = 30, system_tokens: int = 0, max_tokens: int = POSITIONS) -> tuple[Timeline, ...]:
    """Qwen2.5-Omni 7B, turn by turn.

    Args:
        question_s: The longest question, in seconds, to be heard at once.
        system_tokens: Tokens of the system prompt, which stay.
        max_tokens: Tokens of the thinker's after which the session ends, by memory; its positions end there anyway.

    Raises:
        AskedWrongly: A question is shorter than a second, or longer than the feature extractor's five minutes.
    """
    if not 1 <= question_s <= 300:
        raise AskedWrongly(f"questions of up to {question_s} s", "between 1 and 300 s")
    # Mel at 100 Hz; halved by a convolution, halved by a pool: 25 embeddings a second.
    mel = tuple(100 * seconds for seconds in range(1, question_s + 1))
    heard = tuple(ceil(frames / 4) + MARKUP_TOKENS for frames in mel)
    thought = StateSpec(
        "keys_values",
        (28, 2, T, 4, 128),
        "bfloat16",
        initial=system_tokens,
        limit=max_tokens,
        at_limit=AtLimit.END,
        span=Span.CLOCKED,
    )
    # The talker reads the whole question again, as the thinker saw it, at the start of every turn, and forgets it.
    said = StateSpec(
        "keys_values",
        (24, 2, T, 4, 128),
        "bfloat16",
        limit=POSITIONS,
        at_limit=AtLimit.END,
        reset=Lifetime.TURN,
        span=Span.CLOCKED,
    )
    shared, spoken = ("thinker_prefill.keys_values",), ("talker_prefill.keys_values",)
    return (
        Timeline("audio_encoder", Quota(opens=mel[-1:], sizes=mel), "mel frame"),
        Timeline("thinker_prefill", Quota(opens=heard[-1:], sizes=heard), "token", states=(thought,)),
        Timeline("thinker", Quota(speak=(TEXT_TOKENS,), flush=(TEXT_TOKENS,)), "token", chunk=1, shares=shared),
        Timeline("talker_prefill", Quota(opens=heard[-1:], sizes=heard), "token", states=(said,)),
        Timeline("talker", Ticking(Rate(CODE_HZ), speech=True), "code", chunk=1, shares=spoken),
        *token2wav("talker"),
    )
