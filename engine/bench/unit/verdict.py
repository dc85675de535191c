"""What came of a trial, in a record, in a line of words, and as a report to send. Knows no device.

Entered by whoever asked for the trial.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

from engine.bench.columns import CADENCE, PINNED
from engine.bench.settings import described, versions
from engine.phrases import counted, spoken

LONGEST_MINUTES = 600
CADENCE_MS = 1000.0


@dataclass(frozen=True)
class Difference:
    """Where bits differed first.

    Args:
        stage: As a person calls it.
        second: Of the question.
    """

    stage: str
    second: int


@dataclass(frozen=True)
class Timed:
    """A second, timed.

    Args:
        event: LISTEN, SPEAK or FLUSH.
        wall_ms: From the second's arrival to its sound on the host.
    """

    event: str
    wall_ms: float


@dataclass(frozen=True)
class Trial:
    """What came of it.

    Args:
        place: The device, as its maker calls it.
        difference: Where bits differed first; None where none did.
        seconds: Of ours and of pinned stock, each timed alone.
        minutes: Of conversation that fit into what memory there was; None where that was not asked.
        where: "this card", "this machine".
    """

    place: str
    difference: Difference | None
    seconds: Mapping[str, tuple[Timed, ...]]
    minutes: int | None
    where: str

    @property
    def passed(self) -> bool:
        """Whether one can talk with it: equal, and in time."""
        return self.difference is None and not self.overruns

    @property
    def overruns(self) -> int:
        """Seconds of ours that took longer than a second."""
        return sum(one.wall_ms > CADENCE_MS for one in self.seconds[CADENCE])

    def typical_ms(self, runtime: str, event: str) -> float:
        """The median of a kind of second; a turn's end counts as speaking."""
        kinds = {"LISTEN": ("LISTEN",), "SPEAK": ("SPEAK", "FLUSH")}[event]
        return median(one.wall_ms for one in self.seconds[runtime] if one.event in kinds)

    def verdict(self) -> str:
        """In a line."""
        speak, listen = (spoken(self.typical_ms(CADENCE, event)) for event in ("SPEAK", "LISTEN"))
        times = f"SPEAK {speak}, LISTEN {listen}"
        talk = "" if self.minutes is None else f"; there is memory to talk for {_long(self.minutes)}"
        if self.difference is not None:
            return (
                f"{self.where}: NOT the released code's bits: the first to differ is the {self.difference.stage}, in "
                f"second {self.difference.second}; send the report ({times})"
            )
        if self.overruns:
            return (
                f"{self.where}: every bit is the released code's, but {self.overruns} of {len(self.seconds[CADENCE])} "
                f"seconds took longer than a second: too slow to talk with ({times})"
            )
        return f"{self.where}: every bit is the released code's; {times}, no overrun{talk}"

    def lines(self) -> list[str]:
        """Times of both, second by second, for a terminal."""
        lines = []
        for runtime, name in ((CADENCE, "ours"), (PINNED, "released, pinned")):
            times = " ".join(f"{one.event[0]}{one.wall_ms / 1e3:.2f}" for one in self.seconds[runtime])
            lines.append(f"{name}: {times} s")
        return lines

    def report(self) -> dict[str, Any]:
        """To be sent: no path, no word that was said, no name of a machine or person."""
        return {
            "trial": 1,
            "device": self.place,
            "verdict": self.verdict(),
            "equal": self.difference is None,
            "first_difference": None if self.difference is None else vars(self.difference),
            "overruns": self.overruns,
            "minutes": self.minutes,
            "events": [one.event for one in self.seconds[CADENCE]],
            "seconds_ms": {
                runtime: [round(one.wall_ms, 2) for one in times] for runtime, times in self.seconds.items()
            },
            "settings": described(),
            "versions": versions(),
        }


def _long(minutes: int) -> str:
    return f"more than {minutes // 60} hours" if minutes >= LONGEST_MINUTES else counted(minutes, "minute")
