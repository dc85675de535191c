"""What a report is made of. Immutable; any thread."""

from collections.abc import Iterator
from dataclasses import dataclass

from engine.comparison import Comparison, Measured
from engine.comparison.figures import compared
from engine.comparison.rounds import Interval, interval
from engine.phrases import spoken

# Figures that are told with their spread over rounds: those of one session's work, not of its length.
ROUND_FIGURES = (
    "heaviest_mean_ms",
    "speak_mean_ms",
    "slack_least_ms",
    "latest_ms",
    "gap_ms",
    "response_delay_median_ms",
)


@dataclass(frozen=True)
class Sound:
    """What is heard of a session.

    Args:
        flac: The file, lossless.
        begins_s: When its first sample sounds, in seconds of the session.
        words: What it is, exactly.
    """

    flac: bytes
    begins_s: float
    words: str


@dataclass(frozen=True)
class Shown:
    """One session of a report.

    Args:
        what: What this runtime is, in a sentence.
        rounds: The session that is shown, and its repeats, measured.
        sound: What is heard of it; None where there is nothing to hear.
        others: Which share of the machine others used, round by round; empty where nobody looked.
    """

    what: str
    rounds: tuple[Measured, ...]
    sound: Sound | None = None
    others: tuple[float, ...] = ()

    @property
    def session(self) -> Measured:
        """The one that is shown."""
        return self.rounds[0]


@dataclass(frozen=True)
class Repeated:
    """One figure of each session over its rounds."""

    key: str
    label: str
    intervals: tuple[Interval | None, ...]

    @property
    def texts(self) -> tuple[str, ...]:
        """As people read them."""
        return tuple(interval_words(each) for each in self.intervals)


@dataclass(frozen=True)
class Report:
    """All that a report says beside its figures.

    Args:
        title: A line.
        lead: What was done, in a paragraph.
        shown: The sessions; the first is what the others are held against.
        changes: What differs from each session to the next, in words; one fewer than sessions.
        environment: Names and values.
        method: How it was measured, in a paragraph.
        commands: What makes it again, a line each.
        beware: What may spoil it.
    """

    title: str
    lead: str
    shown: tuple[Shown, ...]
    changes: tuple[str, ...]
    environment: tuple[tuple[str, str], ...]
    method: str
    commands: tuple[str, ...]
    beware: tuple[str, ...] = ()

    @property
    def comparison(self) -> Comparison:
        """Of the sessions that are shown."""
        return compared([each.session for each in self.shown])

    def repeated(self) -> Iterator[Repeated]:
        """The spread of figures over rounds."""
        rounds = [compared(each.rounds) for each in self.shown]
        for key in ROUND_FIGURES:
            figures = [next((figure for figure in each.figures if figure.key == key), None) for each in rounds]
            found = tuple(interval(figure.values) if figure else None for figure in figures)
            label = next((figure.label for figure in figures if figure), "")
            if any(found):
                yield Repeated(key, label, found)


def interval_words(found: Interval | None) -> str:
    """A time's mean and how far its interval reaches."""
    if found is None:
        return "-"
    return spoken(found.mean) if found.half is None else f"{spoken(found.mean)} ± {spoken(found.half)}"
