"""Qwen2.5-Omni's clocks and state: a thinker, a talker at 50 codes a second, and a tail that is windows recomputed.

Follows the released modelling code (transformers 5.x, `qwen2_5_omni`) and Qwen2.5-Omni-7B's configuration. That code
makes a whole answer's sound at once; how it is cut into windows is as Qwen's own streaming server does it: two blocks
of codes before, one after, and a vocoder that hears forty frames again and holds twenty back. Declarations only, no
torch.
"""

from engine.clock import Rate
from engine.models.thinker_talker import POSITIONS, Stack, thinker_talker
from engine.stage import After, Lifetime, StateSpec, T, Tail, Timeline

CODE_HZ = 50
FRAMES_A_CODE = 2  # mel frames, 100 Hz
SAMPLES_A_FRAME = 240  # 24 kHz
BLOCK_CODES = 12  # a block of the transformer's attention: 24 frames
CHUNK_CODES = CODE_HZ  # one second
BEFORE_CODES, AHEAD_CODES = 2 * BLOCK_CODES, BLOCK_CODES  # a window's, around what it takes for good
AGAIN_FRAMES, HELD_FRAMES = 40, 20  # of the vocoder: heard again, and held back
MELS = 80


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
        AskedWrongly: A question is shorter than a second, or longer than five minutes.
    """
    spoken = thinker_talker(
        Stack(layers=28, heads=4),
        Stack(layers=24, heads=4),
        Rate(CODE_HZ),
        "code",
        frames_an_embedding=4,  # halved by a convolution, halved by a pool: 25 Hz
        question_s=question_s,
        system_tokens=system_tokens,
        max_tokens=max_tokens,
    )
    return (*spoken, *token2wav("talker"))
