"""Lets a recording sound through the speaker, as it was: nothing is added where its session was silent.

Blocks go to the voice ahead of time, so that a busy machine adds no gap of its own. Knows no session. Entered by
[engine]; `at_ns` by any thread.
"""

from collections.abc import Callable
from dataclasses import replace

from app.audio.sound import Sound
from app.audio.state import Happening
from app.live.snapshot import Listened, Track
from engine.clock import NS, Clock
from engine.errors import CadenceError

AHEAD_S = 1.5
ROUND_NS = NS // 100


class Playback:
    """One recording, sounding once.

    Args:
        sound: Open, at the track's rate.
        track: What sounds.
        clock: Its own.
        check: Raises where it is not to go on.
    """

    def __init__(self, sound: Sound, track: Track, clock: Clock, check: Callable[[], None]) -> None:
        self._sound, self._track, self._clock, self._check = sound, track, clock, check
        self._sounds_ns: int | None = None  # by the clock

    def shown(self, listened: Listened) -> Listened:
        """Where it is now."""
        if self._sounds_ns is None or self._clock.now_ns() < self._sounds_ns:
            return listened
        return replace(listened, at_ns=self._track.from_ns + self._clock.now_ns() - self._sounds_ns)

    def run(self) -> None:
        """Let it sound to its end.

        Raises:
            CadenceError: The speaker is gone.
            BadAudio: The recording is damaged.
        """
        voice, rate_hz = self._sound.voice, self._track.rate_hz
        skip = max(0, self._track.from_ns - self._track.begins_ns) * rate_hz // NS
        pushed = 0
        self._sound.pump()
        for block in self._track.blocks():
            samples = block[skip:]
            skip -= len(block) - len(samples)
            if not len(samples):
                continue
            while voice.unplayed_samples > AHEAD_S * rate_hz:
                self._wait()
            if self._sounds_ns is None:
                self._sounds_ns = self._clock.now_ns() + voice.lead_ns
            voice.push(samples, self._sounds_ns + pushed * NS // rate_hz)
            pushed += len(samples)
        ends_ns = (self._sounds_ns or 0) + pushed * NS // rate_hz
        while voice.unplayed_samples or self._clock.now_ns() < ends_ns:  # what the device has taken sounds later
            self._wait()

    def _wait(self) -> None:
        self._check()
        self._sound.pump()
        for event in self._sound.events():
            if event.kind is Happening.LOST:
                raise CadenceError(event.message)
        self._clock.sleep_until_ns(self._clock.now_ns() + ROUND_NS)
