"""Tries the devices without a model: levels as they come, and a test that sounds and is listened for.

What the microphone hears more while the test sounds is the echo that the agent would answer. Knows no session. Entered
by [engine]; `play` by any thread.
"""

import math
from collections import deque
from collections.abc import Callable

import numpy as np

from app.audio.sound import Sound
from app.live.snapshot import Trial
from engine.clock import NS, Clock
from engine.ring import Samples

INPUT_HZ, OUTPUT_HZ = 16_000, 24_000
LISTENS_S = 0.05  # a level each
TEST_S = 1.0
BEFORE_S = 1.0  # of what there was before, to compare with
LATE_S = 0.35  # what a microphone, a room and a driver may add to the way from speaker to chunk
FLOOR = 1e-4  # of full scale; what is quieter is silence
LEVEL = 0.25
ROUND_NS = NS // 100


def chime(rate_hz: int = OUTPUT_HZ) -> Samples:
    """What the test sounds like: three notes, each of which rises at once and dies away."""
    notes = []
    for hertz in (523.25, 659.25, 783.99):
        t = np.arange(int(rate_hz * TEST_S / 3)) / rate_hz
        shape = np.minimum(t / 0.01, 1) * np.exp(-4 * t) * np.minimum((t[-1] - t) / 0.02, 1)
        notes.append(LEVEL * shape * np.sin(2 * np.pi * hertz * t))
    return np.concatenate(notes).astype(np.float32)


class Rehearsal:
    """A trial of what is open.

    Args:
        sound: Open, at `INPUT_HZ` and `OUTPUT_HZ`.
        clock: Its own.
        publish: Takes fields of the snapshot that change.
        check: Raises where the trial is to end.
    """

    def __init__(self, sound: Sound, clock: Clock, publish: Callable[..., None], check: Callable[[], None]) -> None:
        self._sound, self._clock, self._publish, self._check = sound, clock, publish, check
        self._levels: deque[tuple[int, float]] = deque(maxlen=int((BEFORE_S + TEST_S + 1) / LISTENS_S))
        self._asked = False
        self._sounds_ns: int | None = None  # when the test begins to sound

    def play(self) -> None:
        """Let the test sound [any]; one that sounds already is enough."""
        self._asked = True

    def run(self) -> None:
        """Try until `check` raises."""
        self._sound.begin(round(INPUT_HZ * LISTENS_S))
        while True:
            self._check()
            self._sound.pump()
            for event in self._sound.events():
                self._publish(message=event.message)
            while chunk := self._sound.take():
                level = float(np.sqrt(np.mean(np.square(chunk.samples, dtype=np.float64))))
                self._levels.append((self._sound.arrival_ns(chunk), level))
            now_ns = self._clock.now_ns()
            if self._asked and self._sounds_ns is None:
                self._sounds_ns = now_ns + self._sound.voice.lead_ns
                self._sound.voice.push(chime(), self._sounds_ns)
                self._publish(trial=Trial(playing=True))
            elif self._sounds_ns is not None and now_ns > self._sounds_ns + round((TEST_S + LATE_S) * NS):
                self._publish(trial=Trial(heard_db=self._heard_db(self._sounds_ns)))
                self._sounds_ns = None
                self._asked = False
            self._clock.sleep_until_ns(now_ns + ROUND_NS)

    def _heard_db(self, sounds_ns: int) -> float | None:
        before = [level for at_ns, level in self._levels if at_ns < sounds_ns]
        while_ = [level for at_ns, level in self._levels if at_ns >= sounds_ns]
        if not before or not while_:
            return None
        return _db(float(np.median(while_))) - _db(float(np.median(before)))


def _db(level: float) -> float:
    return 20 * math.log10(max(level, FLOOR))
