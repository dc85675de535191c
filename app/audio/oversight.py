"""Looks after the two streams: tells once when one is lost or back, of flags and failures, and of a dead microphone.

Knows no session. Entered by [engine]; `is_lost` by any thread.
"""

import sys

from app.audio.capture import Microphone
from app.audio.live_stream import LiveStream
from app.audio.state import Happening, Side
from app.audio.tidings import Tidings
from app.audio.watchdog import Turn, Watchdog

ZEROS_S = 3.0  # of nothing but exact zeros: no real microphone is that quiet
PERMISSION = {
    "darwin": "allow this program the microphone in System Settings, Privacy & Security",
    "win32": "allow desktop apps the microphone in Settings, Privacy & security",
}
FLAG = {Side.MICROPHONE: "the driver lost samples (overflow)", Side.SPEAKER: "the driver ran dry (underflow)"}


class Oversight:
    """What has been seen of the streams.

    Args:
        tidings: Takes what there is to tell.
    """

    def __init__(self, tidings: Tidings) -> None:
        self._tidings = tidings
        self._watched: dict[Side, _Watched] = {}

    def look(self, side: Side, stream: LiveStream | None, now_ns: int) -> None:
        """Look at a stream, or at another in its place."""
        if stream is None:
            self._watched.pop(side, None)
            return
        watched = self._watched.get(side)
        if watched is None or watched.stream is not stream:
            watched = self._watched[side] = _Watched(stream)
        name = f"the {side} '{stream.device.name}'"
        match watched.watchdog.look(stream.callbacks, stream.stream.active, now_ns):
            case Turn.LOST:
                line = f"{name} is gone; connect it, or choose another, and look again"
                self._tidings.tell(Happening.LOST, side, line, now_ns)
            case Turn.RETURNED:
                self._tidings.tell(Happening.RETURNED, side, f"{name} is back", now_ns)
        flags, watched.flags = stream.flags - watched.flags, stream.flags
        if flags:
            self._tidings.fault(side, FLAG[side], now_ns, count=flags)
        if stream.error is not None and not watched.error_told:
            watched.error_told = True
            self._tidings.fault(side, f"its callback failed ({type(stream.error).__name__}: {stream.error})", now_ns)
        if isinstance(stream, Microphone):
            self._ask_about_zeros(stream, watched, now_ns)

    def is_lost(self, side: Side, stream: LiveStream | None) -> bool:
        """Whether a stream has been found lost."""
        watched = self._watched.get(side)
        return watched is not None and watched.stream is stream and watched.watchdog.lost

    def zeros(self, microphone: Microphone | None) -> str:
        """What to ask the user about a microphone that gives nothing but zeros; empty where it gives more [any]."""
        watched = self._watched.get(Side.MICROPHONE)
        return watched.zeros if watched is not None and watched.stream is microphone else ""

    def _ask_about_zeros(self, microphone: Microphone, watched: "_Watched", now_ns: int) -> None:
        if microphone.tape.silent_frames < ZEROS_S * microphone.rate_hz:
            watched.zeros = ""
        elif not watched.zeros:
            remedy = PERMISSION.get(sys.platform, "see whether it is muted in the system's sound settings")
            line = f"'{microphone.device.name}' gives nothing but zeros: is it muted, or may it not be heard? {remedy}"
            watched.zeros = line
            self._tidings.tell(Happening.WARNING, Side.MICROPHONE, line, now_ns)


class _Watched:
    def __init__(self, stream: LiveStream) -> None:
        self.stream = stream
        self.watchdog = Watchdog(stream.block_ns, stream.started_ns)
        self.flags = 0
        self.error_told = False
        self.zeros = ""
