"""One session, measured for a comparison: its figures, its rows to draw, what was heard when, its voice's hashes.

Goes through the log a few times, a line at a time, so that a day's log needs little memory; whoever waits is let in
between and may call it off. Enter from any thread.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from engine.cadence.rows import Row, rows_of, thinned
from engine.cadence.statistics import Spread, Statistics, Tally
from engine.comparison.sounding import Heard, heard
from engine.timing import Log, SessionHeader, UnitRecord

MOST_BARS = 120  # as many seconds as can be told apart where several sessions share a page
MOST_STRETCHES = 2000  # of voice and gaps; a longer conversation keeps its longest
TICK_RECORDS = 2000
Thing = TypeVar("Thing")


def nobody_waits() -> None:
    """What is called between records where nobody wants to call it off."""


@dataclass(frozen=True)
class Answer:
    """An answer's first sample: when it sounded, and how long after the user's last voiced one."""

    sounds_at_ns: int
    delay_ms: float


@dataclass(frozen=True)
class Measured:
    """What a comparison needs of one session.

    Args:
        name: What it is called there: "A", or its runtime.
        header: The log's first line.
        figures: Over all of it.
        answering_ms: Work of the units in which an answer begins, all that was thought ahead left out; None without.
        rows: Its seconds, to draw.
        group: How many neighbours a row stands for.
        stretches: When its voice was heard, and the gaps.
        answers: Where answers began, as far as `stretches` goes.
        voice: A SHA-256 of each unit that spoke, in order; None where the log holds none of some.
        caveat: What a reader must know about the file; empty where it is whole.
    """

    name: str
    header: SessionHeader
    figures: Statistics
    answering_ms: Spread | None
    rows: tuple[Row, ...]
    group: int
    stretches: tuple[Heard, ...]
    answers: tuple[Answer, ...]
    voice: tuple[bytes, ...] | None
    caveat: str = ""

    @property
    def gaps(self) -> tuple[Heard, ...]:
        """Where the voice was due and silent."""
        return tuple(stretch for stretch in self.stretches if stretch.gap)


def measured(log: Log, name: str, *, tick: Callable[[], None] = nobody_waits) -> Measured:
    """Measure a session.

    Args:
        log: Its log.
        name: What the comparison calls it.
        tick: Called every few thousand records; what it raises ends the work.

    Raises:
        BadLog: A line is not schema 1.
    """
    tally, answering, answers = Tally(), list[float](), list[Answer]()
    voice: list[bytes] | None = []
    for record in _ticking(log.records(), tick):
        tally.add(record)
        if not isinstance(record, UnitRecord):
            continue
        if record.response_delay_ms is not None:
            answering.append(record.wall_ms)
            if len(answers) < MOST_STRETCHES:
                at_ns = max(record.deadline_ns, record.finish_ns)
                answers.append(Answer(at_ns, record.response_delay_ms))
        if record.voice_sha256 is not None and voice is not None:
            voice.append(bytes.fromhex(record.voice_sha256))
        elif record.event == "SPEAK":
            voice = None
    rows, group = thinned(rows_of(_ticking(log.units(), tick)), MOST_BARS)
    return Measured(
        name=name,
        header=log.header,
        figures=tally.statistics(),
        answering_ms=Spread.of(answering),
        rows=tuple(rows),
        group=group,
        stretches=tuple(_longest(heard(_ticking(log.units(), tick)))),
        answers=tuple(answers),
        voice=None if voice is None else tuple(voice),
        caveat=log.caveat,
    )


def _ticking(things: Iterable[Thing], tick: Callable[[], None]) -> Iterator[Thing]:
    for number, thing in enumerate(things):
        if number % TICK_RECORDS == 0:
            tick()
        yield thing


def _longest(stretches: Iterable[Heard]) -> list[Heard]:
    """The longest, gaps before voice, in order."""
    kept: list[Heard] = []
    for stretch in stretches:
        kept.append(stretch)
        if len(kept) >= 2 * MOST_STRETCHES:
            kept = _cut(kept)
    return _cut(kept)


def _cut(stretches: list[Heard]) -> list[Heard]:
    if len(stretches) <= MOST_STRETCHES:
        return stretches
    longest = sorted(stretches, key=lambda stretch: (stretch.gap, stretch.ms), reverse=True)[:MOST_STRETCHES]
    return sorted(longest, key=lambda stretch: stretch.start_ns)
