"""One session, measured for a comparison: its figures, its rows to draw, what was heard when, its voice's hashes.

Goes through the log twice, a line at a time, so that a day's log needs little memory; whoever waits is let in
between and may call it off. Enter from any thread.
"""

from array import array
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from engine.cadence.rows import Row, rows_of, thinned
from engine.cadence.statistics import Spread, Statistics, Tally
from engine.comparison.sounding import Heard, heard
from engine.timing import Log, SessionHeader, Transcript, UnitRecord

MOST_BARS = 120  # as many seconds as can be told apart where several sessions share a page
MOST_STRETCHES = 2000  # of voice and gaps; a longer conversation keeps its longest
MOST_LINES = 200  # of a transcript
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
        heaviest_ms: The heaviest unit of each turn with an answer, which is the one that makes it late; None without.
        rows: Its seconds, to draw.
        group: How many neighbours a row stands for.
        stretches: When its voice was heard, and the gaps.
        answers: Where answers began, as far as `stretches` goes.
        voice: A SHA-256 of each unit that spoke, in order; None where the log holds none of some.
        said: The transcript's first lines, where the log holds one.
        caveat: What a reader must know about the file; empty where it is whole.
    """

    name: str
    header: SessionHeader
    figures: Statistics
    heaviest_ms: Spread | None
    rows: tuple[Row, ...]
    group: int
    stretches: tuple[Heard, ...]
    answers: tuple[Answer, ...]
    voice: tuple[bytes, ...] | None
    said: tuple[Transcript, ...]
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
    tally, turns, answers, said = Tally(), _Turns(), list[Answer](), list[Transcript]()
    voice: list[bytes] | None = []

    def counted_units() -> Iterator[UnitRecord]:
        nonlocal voice
        for record in _ticking(log.records(), tick):
            tally.add(record)
            if isinstance(record, Transcript) and len(said) < MOST_LINES:
                said.append(record)
            if not isinstance(record, UnitRecord):
                continue
            turns.add(record)
            if record.response_delay_ms is not None and len(answers) < MOST_STRETCHES:
                answers.append(Answer(max(record.deadline_ns, record.finish_ns), record.response_delay_ms))
            if record.voice_sha256 is not None and voice is not None:
                voice.append(bytes.fromhex(record.voice_sha256))
            elif record.event == "SPEAK":
                voice = None
            yield record

    rows, group = thinned(rows_of(counted_units()), MOST_BARS)
    return Measured(
        name=name,
        header=log.header,
        figures=tally.statistics(),
        heaviest_ms=Spread.of(turns.heaviest_ms()),
        rows=tuple(rows),
        group=group,
        stretches=tuple(_longest(heard(_ticking(log.units(), tick)))),
        answers=tuple(answers),
        voice=None if voice is None else tuple(voice),
        said=tuple(said),
        caveat=log.caveat,
    )


class _Turns:
    """The heaviest unit of each turn: from the flush of the one before to its own."""

    def __init__(self) -> None:
        self._done = array("d")
        self._most_ms, self._spoke = 0.0, False

    def add(self, unit: UnitRecord) -> None:
        self._most_ms, self._spoke = max(self._most_ms, unit.wall_ms), self._spoke or unit.event == "SPEAK"
        if unit.event == "FLUSH":
            self._close()

    def heaviest_ms(self) -> "array[float]":
        """Of the turns in which something was said; the last one need not have ended."""
        self._close()
        return self._done

    def _close(self) -> None:
        if self._spoke:
            self._done.append(self._most_ms)
        self._most_ms, self._spoke = 0.0, False


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
