"""Stand-ins that tests move by hand: a clock, an arena that only notes, a model that does as it is told."""

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.chunk import Chunk
from engine.clock import NS, Rate
from engine.plan import Plan, plan
from engine.stage import Lifetime, Quota, StateSpec, T, Ticking, Timeline
from engine.step import Event, Outcome, SoFar, Step


class ManualClock:
    """Time that stands still until it is moved."""

    def __init__(self, now_ns: int = 7 * NS) -> None:
        self._now_ns = now_ns

    def now_ns(self) -> int:
        return self._now_ns

    def sleep_until_ns(self, when_ns: int) -> None:
        self._now_ns = max(self._now_ns, when_ns)

    def advance_s(self, seconds: float) -> None:
        self._now_ns += round(seconds * NS)


class NotingArena:
    """Notes what is committed; holds nothing."""

    reserved_bytes = 0
    resident_bytes = 0

    def __init__(self) -> None:
        self.committed: dict[str, int] = {}

    @property
    def committed_bytes(self) -> int:
        return sum(self.committed.values())

    def commit_needed(self, needed: Mapping[str, int]) -> None:
        for state, ticks in needed.items():
            self.commit_ticks(state, ticks)

    def commit_ticks(self, state: str, ticks: int) -> None:
        self.committed[state] = max(self.committed.get(state, 0), ticks)

    def view(self, state: str) -> Any:
        raise AssertionError("nobody asked for a view")

    def reset(self, what: str | Lifetime) -> None:
        self.committed = {name: ticks for name, ticks in self.committed.items() if name != "mouth.words"}


def small_plan(cadence: Rate = Rate(1)) -> Plan:  # noqa: B008 - an exact constant
    """A stage that ticks with the clock and one that speaks, each with state."""
    return plan(
        (
            Timeline(
                "ears",
                Ticking(Rate(10)),
                "frame",
                states=(StateSpec("frames", (T, 4), growth=1, limit=100),),
            ),
            Timeline(
                "mouth",
                Quota(speak=(5,), flush=(5,)),
                "word",
                states=(StateSpec("words", (T, 2), reset=Lifetime.TURN, limit=50),),
            ),
        ),
        cadence=cadence,
    )


@dataclass
class Told:
    """What a told model does in one unit."""

    event: Event = Event.LISTEN
    audio: NDArray[np.float32] = field(default_factory=lambda: np.zeros(0, np.float32))
    flush: bool = False
    last_voiced_sample: int | None = None
    takes_s: float = 0.0
    raises: Exception | None = None
    words: int = 0


class ToldModel:
    """Does what it was told, unit by unit, and takes the clock's time over it."""

    name = "told"
    input_rate_hz, output_rate_hz = 16_000, 24_000
    idle = True
    awaited_since: int | None = None

    def __init__(self, clock: ManualClock, told: list[Told], cadence: Rate = Rate(1)) -> None:  # noqa: B008
        self.plan = small_plan(cadence)
        self._clock, self._told = clock, list(told)
        self.so_far: list[SoFar] = []
        self.turns_ended = self.begun = 0

    def prepare(self) -> None: ...

    def begin(self) -> None:
        self.begun += 1

    def tell(self, told: Told) -> None:
        """What to do in the unit after those that it was told of before."""
        self._told.append(told)

    def end_turn(self) -> None:
        self.turns_ended += 1

    def unit(self, chunk: Chunk, so_far: SoFar) -> Generator[Step, Any, Outcome]:
        told = self._told.pop(0) if self._told else Told()
        self.so_far.append(so_far)
        yield Step("ears", (10,), 10, lambda: self._work(told.takes_s, told.raises))
        if told.words:
            yield Step("mouth", (told.words,), told.words, lambda: None)
        return Outcome(told.event, told.audio, flush=told.flush, last_voiced_sample=told.last_voiced_sample)

    def _work(self, seconds: float, error: Exception | None) -> None:
        self._clock.advance_s(seconds)
        if error is not None:
            raise error


def tone(seconds: float, rate_hz: int = 24_000, level: float = 0.5) -> NDArray[np.float32]:
    """A steady tone whose first sample is already loud."""
    return (level * np.cos(2 * np.pi * 440 * np.arange(round(seconds * rate_hz)) / rate_hz)).astype(np.float32)
