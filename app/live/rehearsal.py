"""Tries the devices without a model: levels as they come, and a test that sounds and is listened for.

What the microphone hears more while the test sounds is the echo that the agent would answer. It is measured at the
device, before whatever an echo mode, mute or the talk key make of it: those are what is to be chosen by it. Knows no
session. Entered by [engine]; `play` by any thread.
"""

import math
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from statistics import median

import numpy as np

from app.audio.sound import Sound
from app.audio.state import Happening
from app.live.snapshot import Trial
from engine.clock import NS, Clock
from engine.ring import Samples

INPUT_HZ, OUTPUT_HZ = 16_000, 24_000
LISTENS_S = 0.05  # a level each
TEST_S = 1.0
BEFORE_S = 1.0  # of what there was before, to compare with
LATE_S = 0.35  # what a microphone, a room and a driver may add to the way from speaker to level
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


@dataclass(frozen=True)
class Look:
    """Both devices at a moment.

    Args:
        at_ns: When.
        heard: Root mean square of what the microphone delivers; 1 is full scale.
        sounded: Likewise, of what the speaker takes.
        there: Whether both are.
    """

    at_ns: int
    heard: float
    sounded: float
    there: bool


class Rehearsal:
    """A trial of what is open.

    Args:
        sound: Open.
        clock: Its own.
        publish: Takes fields of the snapshot that change.
        check: Raises where the trial is to end.
    """

    def __init__(self, sound: Sound, clock: Clock, publish: Callable[..., None], check: Callable[[], None]) -> None:
        self._sound, self._clock, self._publish, self._check = sound, clock, publish, check
        self._looks: deque[Look] = deque(maxlen=round((BEFORE_S + TEST_S + 1) / LISTENS_S))
        self._asked = False
        self._sounds_ns: int | None = None  # when the test begins to sound

    def play(self) -> None:
        """Let the test sound [any]; one that sounds already is enough."""
        self._asked = True

    def run(self) -> None:
        """Try until `check` raises."""
        looked_ns = self._clock.now_ns()
        while True:
            self._check()
            self._sound.pump()
            for event in self._sound.events():
                if event.kind is not Happening.WARNING:
                    self._publish(message=event.message)
            now_ns = self._clock.now_ns()
            if now_ns - looked_ns >= LISTENS_S * NS:
                looked_ns = now_ns
                self._look(now_ns)
            if self._asked and self._sounds_ns is None:
                self._sounds_ns = now_ns + self._sound.voice.lead_ns
                self._sound.voice.push(chime(), self._sounds_ns)
                self._publish(trial=Trial(playing=True))
            elif self._sounds_ns is not None and now_ns > self._sounds_ns + round((TEST_S + LATE_S) * NS):
                self._publish(trial=found(self._looks, self._sounds_ns))
                self._sounds_ns = None
                self._asked = False
            self._clock.sleep_until_ns(now_ns + ROUND_NS)

    def _look(self, now_ns: int) -> None:
        streams = microphone, speaker = self._sound.microphone, self._sound.speaker
        there = all(stream.device and not stream.lost for stream in streams)
        self._looks.append(Look(now_ns, microphone.rms, speaker.rms, there))


def found(looks: Iterable[Look], sounds_ns: int) -> Trial:
    """What a test has shown that began to sound at `sounds_ns`; or why it has shown nothing."""
    before, while_ = list[Look](), list[Look]()
    for look in looks:
        (before if look.at_ns < sounds_ns else while_).append(look)
    if not before or not while_:
        return Trial(untold="there was too little time to listen")
    if not all(look.there for look in while_):
        return Trial(untold="a device was lost while the test sounded")
    if not any(look.sounded for look in while_):
        return Trial(untold="the speaker was given silence: its volume is at zero")
    if not any(look.heard for look in (*before, *while_)):
        return Trial(untold="the microphone gives nothing but zeros")
    room_db, test_db = (_db(median(look.heard for look in side)) for side in (before, while_))
    return Trial(heard_db=test_db - room_db, room_db=room_db)


def _db(level: float) -> float:
    return 20 * math.log10(max(level, FLOOR))
