"""When the microphone is heard: muted or not, and what the talk key means.

Any thread enters; the lock is held for a few assignments, so that the last word that a sound is told is the last wish.
"""

import threading

from app.audio.sound import Sound
from app.live.snapshot import Listening


class Ears:
    """The user's wish, brought to whatever sound is open."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.muted = False
        self._held = self._toggled = False
        self._listening = Listening.OPEN
        self._sound: Sound | None = None

    def adopt(self, sound: Sound | None, listening: Listening) -> None:
        """Hear through another sound, or none; what the talk key opened before is closed again."""
        with self._lock:
            self._sound, self._listening, self._toggled = sound, listening, False
            self._tell()

    def listen(self, listening: Listening) -> None:
        """The microphone is heard at other times from now on."""
        with self._lock:
            if listening is not self._listening:
                self._listening, self._held, self._toggled = listening, False, False
            self._tell()

    def mute(self, muted: bool) -> None:
        """Close them, or open them."""
        with self._lock:
            self.muted = muted
            self._tell()

    def hold(self, held: bool) -> None:
        """The talk key went down or up; a key that repeats while it is down went down once."""
        with self._lock:
            self._toggled ^= held and not self._held
            self._held = held
            self._tell()

    @property
    def open(self) -> bool:
        """Whether the user wants to be heard right now."""
        wanted = {Listening.OPEN: True, Listening.HOLD: self._held, Listening.TOGGLE: self._toggled}
        return not self.muted and wanted[self._listening]

    def _tell(self) -> None:
        if (sound := self._sound) is not None:
            sound.hear(self.open)
