"""Who has the floor: when the user's turn is over, when to think ahead, when the agent must yield.

Arithmetic over sample positions, told by voice activity; no audio, no model, no time of its own. Entered by the engine
thread.
"""

from dataclasses import dataclass
from enum import Enum, auto


class Floor(Enum):
    """What to do with this unit's chunk, as far as the user's voice decides it."""

    WAIT = auto()  # nothing to answer, or the user is speaking
    DRAFT = auto()  # a pause: think ahead, but say nothing yet
    ANSWER = auto()  # the turn is over


@dataclass(frozen=True)
class Manners:
    """How long a pause means what, in seconds.

    Args:
        draft_s: A pause worth thinking ahead in. Thinking costs a LISTEN unit only time that it has.
        endpoint_s: A pause that ends a turn whose words sound finished.
        patience_s: A pause that ends any turn.
        barge_in_s: Voice over the agent's own that makes it yield: longer than a cough, shorter than a word or two.
        least_s: Voice that makes a turn at all.
    """

    draft_s: float = 0.1
    endpoint_s: float = 0.4
    patience_s: float = 1.1
    barge_in_s: float = 0.25
    least_s: float = 0.16


def decide(silence_s: float, manners: Manners, *, finished: bool | None) -> Floor:
    """What a pause of `silence_s` at the end of the chunk means.

    Args:
        silence_s: Seconds since the user's last voiced sample.
        manners: How long a pause means what.
        finished: Whether what was drafted sounds like the end of a sentence; None where nothing was drafted.
    """
    if silence_s < manners.draft_s:
        return Floor.WAIT
    if silence_s >= (manners.patience_s if finished is False else manners.endpoint_s):
        return Floor.ANSWER
    return Floor.DRAFT
