"""When the agent's voice sounded, worked out from what each unit left in the playout.

A unit's audio sounds from its deadline at the earliest, after what is still queued; a flush cuts what was queued. The
log keeps the queue's length as each unit finished, and from two of them in a row follows what was added, played and
dropped. Pure; any thread.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from engine.timing import UnitRecord

NS_PER_MS = 1_000_000
ROUNDING_NS = NS_PER_MS  # a queue shorter than this by rounding alone is not a flush


@dataclass(frozen=True)
class VoiceSpan:
    """One unit's audio as it sounded: the unit's index and start, and from when to when it sounded."""

    index: int
    unit_start_ns: int
    start_ns: int
    end_ns: int


def voice_spans(units: Iterable[UnitRecord]) -> Iterator[VoiceSpan]:
    """One span for each unit whose audio sounded, disjoint and in order."""
    queued: list[VoiceSpan] = []
    for unit in units:
        now = unit.finish_ns
        while queued and queued[0].end_ns <= now:
            yield queued.pop(0)
        left_ns = sum(span.end_ns - max(span.start_ns, now) for span in queued)
        found_ns = round(unit.audio.playout_ms * NS_PER_MS)
        if found_ns < left_ns - ROUNDING_NS:
            yield from _sounded_by(now, queued)
            queued, left_ns = [], 0
        if (added_ns := found_ns - left_ns) > ROUNDING_NS:
            start = max(unit.deadline_ns, now, queued[-1].end_ns if queued else 0)
            queued.append(VoiceSpan(unit.index, unit.start_ns, start, start + added_ns))
    yield from queued


def _sounded_by(now_ns: int, queued: list[VoiceSpan]) -> Iterator[VoiceSpan]:
    """What of a queue had sounded when it was flushed."""
    for span in queued:
        if span.start_ns < now_ns:
            yield replace(span, end_ns=min(span.end_ns, now_ns))
