"""When the agent was heard and when it should have been: the spans of its voice, and the gaps where they fell.

The log counts a gap in the unit in which the voice came back; from when to when it lasted follows from the deadline of
the audio that came late. Pure; any thread.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from engine.cadence.voice_spans import ROUNDING_NS, voice_spans
from engine.timing import UnitRecord


@dataclass(frozen=True)
class Heard:
    """A stretch of time, from and to in nanoseconds since the session's start.

    Args:
        start_ns: When it began.
        end_ns: When it ended.
        gap: Whether the voice was due and silent; else it sounded.
    """

    start_ns: int
    end_ns: int
    gap: bool = False

    @property
    def ms(self) -> float:
        """How long it was."""
        return (self.end_ns - self.start_ns) / 1e6


def heard(units: Iterable[UnitRecord]) -> Iterator[Heard]:
    """Stretches of voice and gaps, disjoint and in order; what lies between was meant to be silent."""
    deadlines: dict[int, int] = {}  # of the units whose audio may not have sounded yet

    def noted() -> Iterator[UnitRecord]:
        for unit in units:
            deadlines[unit.index] = unit.deadline_ns
            yield unit

    voice: Heard | None = None
    silent_since_ns: int | None = None
    for span in voice_spans(noted()):
        due_ns = deadlines.get(span.index, span.start_ns)
        for index in [index for index in deadlines if index <= span.index]:
            del deadlines[index]
        start_ns = span.start_ns
        if silent_since_ns is not None:  # a log whose times go back is told as if they stood still
            due_ns, start_ns = max(due_ns, silent_since_ns), max(start_ns, silent_since_ns)
        silent_since_ns = end_ns = max(start_ns, span.end_ns)
        late = start_ns - due_ns > ROUNDING_NS
        if voice is not None and not late and start_ns - voice.end_ns <= ROUNDING_NS:
            voice = Heard(voice.start_ns, end_ns)
            continue
        if voice is not None:
            yield voice
        if late:
            yield Heard(due_ns, start_ns, gap=True)
        voice = Heard(start_ns, end_ns)
    if voice is not None:
        yield voice
