"""A script for a conversation: what becomes of drawn tokens, since random weights decide nothing sensible.

Written as a plan's script, `LL(S10 S10 F4)`, where the number of a unit that speaks is of text tokens. L where a turn
is at hand cuts it short: a barge-in. A drawn token that is plain text stays as it was drawn, so that everything after
it hangs on its bits. Pure; any thread.
"""

from collections.abc import Iterator

from engine.models.minicpm_o.protocol import Limits, Marks
from engine.plan.script import FLUSH, LISTEN, Script

# Of a unit that speaks. Twenty are steps, of which the first says that it speaks and the last is not drawn.
TEXT_TOKENS, WORST = 10, 20


class Scripted:
    """Decides.

    Args:
        script: What each unit is.
        marks: Ids of the protocol's tokens.
        texts: Ids below it are plain text.
        usual: Text tokens of a unit that speaks, where the script says nothing.
    """

    def __init__(self, script: Script, marks: Marks, texts: int, usual: int = TEXT_TOKENS) -> None:
        self._script, self._marks, self._texts, self._usual = script, marks, texts, usual
        self.begin()

    def begin(self) -> None:
        """A session begins."""
        self._speaks = False
        self._course: Iterator[int | None] = iter(())

    def begin_unit(self, index: int) -> bool:
        """A unit begins; whether the user cuts in."""
        told, cuts = self._script.at(index), False
        if told.event == LISTEN:
            cuts, self._speaks = self._speaks, False
            self._course = iter([self._marks.listen])
        else:
            self._course = self._said(self._usual if told.ticks is None else told.ticks, ends=told.event == FLUSH)
            self._speaks = told.event != FLUSH
        return cuts

    def _said(self, texts: int, *, ends: bool) -> Iterator[int | None]:
        """Tokens of a unit that speaks, None for what is as drawn; no more than the protocol lets a unit have."""
        yield self._marks.speak
        yield from [None] * min(texts, Limits().steps - 2 - ends)
        if ends:
            yield self._marks.turn_eos
        yield self._marks.chunk_eos

    def __call__(self, drawn: int) -> int:
        """What becomes of a token."""
        told = next(self._course)
        return drawn % self._texts if told is None else told
