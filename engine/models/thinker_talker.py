"""What Qwen2.5-Omni and Qwen3-Omni declare alike: a question heard at once, a thinker of text, a talker of codes.

Turn by turn. The talker reads the whole question again, as the thinker saw it, at the start of every turn, and forgets
it with the turn. Declarations only, no torch.
"""

from dataclasses import dataclass
from math import ceil

from engine.clock import Rate
from engine.errors import AskedWrongly
from engine.stage import AtLimit, Lifetime, Quota, Span, StateSpec, T, Ticking, Timeline

POSITIONS = 32_768  # of thinker and talker
TEXT_TOKENS = 12  # at most a second of speech
MARKUP_TOKENS = 16  # at most, of a turn: roles, ends of turns, starts of audio
LONGEST_S = 300  # that is heard at once


@dataclass(frozen=True)
class Stack:
    """What a language model's keys and values are as large as, a tick.

    Args:
        layers: Of it.
        heads: Of keys and values.
        dim: Of a head.
    """

    layers: int
    heads: int
    dim: int = 128

    def keys_values(self, *, initial: int = 0, limit: int = POSITIONS, reset: Lifetime) -> StateSpec:
        """Its state, in bfloat16."""
        return StateSpec(
            "keys_values",
            (self.layers, 2, T, self.heads, self.dim),
            "bfloat16",
            initial=initial,
            limit=limit,
            at_limit=AtLimit.END,
            reset=reset,
            span=Span.CLOCKED,
        )


def thinker_talker(
    thinker: Stack,
    talker: Stack,
    speech: Rate,
    tick: str,
    *,
    frames_an_embedding: int,
    question_s: int,
    system_tokens: int,
    max_tokens: int,
    eager: str = "",
) -> tuple[Timeline, ...]:
    """From what is heard to codes, the last stage named "talker".

    Args:
        thinker: Of text.
        talker: Of codes.
        speech: The talker's ticks a second.
        tick: One of them, in words.
        frames_an_embedding: Mel frames, 100 a second, to what the thinker reads of them.
        question_s: The longest question, in seconds, to be heard at once.
        system_tokens: Tokens of the system prompt, which stay.
        max_tokens: The thinker's tokens after which the session ends.
        eager: Why no graph may run either of them.

    Raises:
        AskedWrongly: A question is shorter than a second, or longer than the feature extractor's five minutes.
    """
    if not 1 <= question_s <= LONGEST_S:
        raise AskedWrongly(f"questions of up to {question_s} s", f"between 1 and {LONGEST_S} s")
    mel = tuple(100 * seconds for seconds in range(1, question_s + 1))
    heard = tuple(ceil(frames / frames_an_embedding) + MARKUP_TOKENS for frames in mel)
    question, text = Quota(opens=heard[-1:], sizes=heard), (TEXT_TOKENS,)
    thought = thinker.keys_values(initial=system_tokens, limit=max_tokens, reset=Lifetime.SESSION)
    said = talker.keys_values(reset=Lifetime.TURN)
    shared, spoken = ("thinker_prefill.keys_values",), ("talker_prefill.keys_values",)
    return (
        Timeline("audio_encoder", Quota(opens=mel[-1:], sizes=mel), "mel frame"),
        Timeline("thinker_prefill", question, "token", states=(thought,), eager=eager),
        Timeline("thinker", Quota(speak=text, flush=text), "token", chunk=1, shares=shared, eager=eager),
        Timeline("talker_prefill", question, "token", states=(said,), eager=eager),
        Timeline("talker", Ticking(speech, speech=True), tick, chunk=1, shares=spoken, eager=eager),
    )
