"""Whether ours keeps its pace beside what an app does at the same time: an audio callback and a painting window.

Both are Python threads, so that they and the engine wait for one another as in the app. Alone and beside take turns in
blocks, so that both meet the same machine. Entered by the engine thread; the two threads are this module's own.
"""

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any

import numpy as np

from engine.bench.columns import Cadence
from engine.bench.course import course, for_ever
from engine.bench.pace import WARM_UP, timed
from engine.bench.place import Place, quiet
from engine.bench.tails import STEADY
from engine.cadence.statistics import Spread
from engine.clock import NS, Clock

ROUNDS = 4  # of a block alone and a block beside
CALLBACK_NS, BLOCK_SAMPLES = NS // 50, 480  # 20 ms at 24 kHz
PAINT_NS, PAINTING_NS = NS // 20, 3_000_000
SWITCH_S = 5e-4  # how often threads change, as in the app


def keep_pace(ours: Cadence, units: int, vocabulary: int, place: Place, tell: Callable[[str], None]) -> dict[str, Any]:
    """The 99th percentile of a unit's time alone and beside, and their ratio.

    Args:
        ours: Prepared and captured.
        units: Of each block.
        vocabulary: Speech tokens to choose from.
        place: Where it runs.
        tell: Takes a line of progress.
    """
    walk = course(ours.plan, for_ever(STEADY), vocabulary, place.device)
    ours.begin()
    alone: list[float] = []
    among: list[float] = []
    called: list[int] = []
    painted = 0
    with quiet(), _switching(SWITCH_S):
        for unit in islice(walk, WARM_UP):
            timed(ours, unit, place)
        for number in range(ROUNDS):
            alone += [timed(ours, unit, place) for unit in islice(walk, units)]
            with App(place.clock) as app:
                among += [timed(ours, unit, place) for unit in islice(walk, units)]
            called += app.late_ns
            painted += app.painted
            tell(f"{number + 1} of {ROUNDS} rounds")
    by_itself, beside = Spread.of(alone), Spread.of(among)
    assert by_itself is not None
    assert beside is not None
    found: dict[str, Any] = {
        "units": len(alone),
        "ratio_p99": round(beside.p99 / by_itself.p99, 4),
        "callbacks": len(called),
        "paintings": painted,
    }
    if place.is_gpu:
        late = Spread.of(each / 1e6 for each in called)
        found |= {"p99_alone_ms": round(by_itself.p99, 3), "p99_beside_ms": round(beside.p99, 3)}
        found |= {"callback_late_p99_ms": round(late.p99, 3)} if late is not None else {}
    return found


class App:
    """Two threads that do what an app does, while entered: each begins at once."""

    def __init__(self, clock: Clock) -> None:
        self._clock, self._stop = clock, threading.Event()
        self.late_ns: list[int] = []  # of each callback
        self.painted = 0
        self._threads = [threading.Thread(target=target) for target in (self._call_back, self._paint)]

    def __enter__(self) -> "App":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _every(self, period_ns: int) -> Iterator[int]:
        """When each turn was due."""
        due_ns = self._clock.now_ns()
        while not self._stop.is_set():
            yield due_ns
            due_ns += period_ns
            self._stop.wait(max(0, due_ns - self._clock.now_ns()) / NS)

    def _call_back(self) -> None:
        """[audio] Copies a block, and returns."""
        heard, ring = np.zeros(BLOCK_SAMPLES, np.float32), np.zeros(BLOCK_SAMPLES, np.float32)
        for due_ns in self._every(CALLBACK_NS):
            self.late_ns.append(self._clock.now_ns() - due_ns)
            ring[:] = heard

    def _paint(self) -> None:
        """[ui] Is busy in Python for some milliseconds."""
        for _ in self._every(PAINT_NS):
            until_ns = self._clock.now_ns() + PAINTING_NS
            while self._clock.now_ns() < until_ns:
                sum(range(100))
            self.painted += 1


@contextmanager
def _switching(interval_s: float) -> Iterator[None]:
    was_s = sys.getswitchinterval()
    sys.setswitchinterval(interval_s)
    try:
        yield
    finally:
        sys.setswitchinterval(was_s)
