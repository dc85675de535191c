"""What happened to the sound, on its way to whoever shows it: faults at most a line a second of a kind, with a count.

A broken driver can raise the same flag a hundred times a second; told one by one it would bury all else. Nothing is
lost: what is held back is counted into the next line. Entered by [engine] and [control]; told to any one thread.
"""

from collections import deque
from threading import Lock

from app.audio.state import Happening, Side, SoundEvent
from engine.clock import NS

MOST_WAITING = 200  # events that nobody has asked for; past that the oldest go
FAULT_EVERY_NS = NS


class Tidings:
    """Events in, a list out."""

    def __init__(self) -> None:
        self._lock = Lock()  # [engine] and [control] tell, rarely; no callback does
        self._waiting: deque[SoundEvent] = deque(maxlen=MOST_WAITING)
        self._held: dict[tuple[Side | None, str], int] = {}  # faults not yet told of, by what they are
        self._told_ns: dict[tuple[Side | None, str], int] = {}

    def tell(self, kind: Happening, side: Side | None, message: str, now_ns: int) -> None:
        """Something that is said once."""
        with self._lock:
            self._waiting.append(SoundEvent(kind, side, message, now_ns))

    def fault(self, side: Side | None, message: str, now_ns: int, count: int = 1) -> None:
        """Something that can come in storms; `message` names the kind and holds no figures."""
        with self._lock:
            key = (side, message)
            self._held[key] = self._held.get(key, 0) + count
        self.settle(now_ns)

    def settle(self, now_ns: int) -> None:
        """Tell of what has been held back long enough."""
        with self._lock:
            for key in [key for key in self._held if now_ns - self._told_ns.get(key, now_ns - NS) >= FAULT_EVERY_NS]:
                count, (side, message) = self._held.pop(key), key
                self._told_ns[key] = now_ns
                line = message if count == 1 else f"{message} ({count} times)"
                self._waiting.append(SoundEvent(Happening.FAULT, side, line, now_ns))

    def take(self) -> list[SoundEvent]:
        """What has not been asked for yet."""
        with self._lock:
            told = list(self._waiting)
            self._waiting.clear()
        return told
