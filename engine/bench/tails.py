"""Which models have a tail to measure, from speech tokens to sound, and how each of them drives it.

Declarations and plans only. Any thread.
"""

from dataclasses import dataclass, replace

from engine.clock import Rate
from engine.errors import AskedWrongly
from engine.models.token2wav.made_up import resized
from engine.models.token2wav.sizes import Token2WavSizes
from engine.models.token2wav.timelines import CHUNK_TOKENS, LOOK_AHEAD_TOKENS, token2wav
from engine.plan import Plan, plan
from engine.stage import Ticking, Timeline

SPEECH = "speech"  # the stage that puts out the tokens
STEADY = "(S)"  # a whole second of speech, for ever
GRAPHS_TOKENS = 24  # a unit whose 48 mel frames the released package has a graph for; a second's 50 have none


@dataclass(frozen=True)
class Tail:
    """How a model drives token2wav.

    Args:
        model: Its name, as commands take it.
        solver_steps: Of the flow's solver, as the model's own released code sets them.
        least: Tokens, look-ahead apart, below which it waits for more.
        silence: Silent tokens that a turn starts with.
    """

    model: str
    solver_steps: int
    least: int
    silence: int

    def lines(self, prompt_tokens: int, sizes: Token2WavSizes) -> tuple[Timeline, ...]:
        """The three stages' declarations, after a voice prompt of so many speech tokens."""
        lines = token2wav(
            SPEECH, prompt=prompt_tokens, solver_steps=self.solver_steps, least=self.least, silence=self.silence
        )
        return resized(lines, sizes)

    def plan(self, lines: tuple[Timeline, ...], script: str = STEADY) -> Plan:
        """A session that goes like `script`, of whose units each is a second."""
        return plan((Timeline(SPEECH, Ticking(Rate(25), speech=True), "speech token", chunk=1), *lines), script=script)

    def eager_to_start(self) -> "Tail":
        """The same, but that whatever waits is sent on each unit: so a unit may be shorter than a second's."""
        return replace(self, least=5, silence=LOOK_AHEAD_TOKENS)


TAILS = (
    Tail("minicpm-o-4.5", solver_steps=5, least=5, silence=LOOK_AHEAD_TOKENS),
    Tail("step-audio-2-mini", solver_steps=10, least=CHUNK_TOKENS, silence=0),
)


def find_tail(name: str) -> Tail:
    """The tail of a model, by its name or the beginning of it.

    Raises:
        AskedWrongly: None, or more than one, is named so.
    """
    found = [tail for tail in TAILS if name and tail.model.startswith(name.lower())]
    if len(found) != 1:
        known = ", ".join(tail.model for tail in TAILS)
        raise AskedWrongly(f"no model named {name!r} has a tail to measure", f"one of {known}")
    return found[0]
