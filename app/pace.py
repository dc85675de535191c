"""How fast bytes come, and how long the rest will take, over the last few seconds. Knows no clock; one thread."""

from collections import deque

from engine.phrases import readable

RATE_OVER_S = 5.0


def duration(seconds: float) -> str:
    """For people: `8 s`, `2 min 05 s`, `1 h 02 min`."""
    whole = round(seconds)
    if whole < 100:
        return f"{whole} s"
    if whole < 6000:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


class Pace:
    """Marks of a download."""

    def __init__(self) -> None:
        self._marks: deque[tuple[float, int]] = deque()

    def restart(self) -> None:
        """What was there before is not taken for speed."""
        self._marks.clear()

    def at(self, now_s: float, done_bytes: int) -> None:
        """So much is there now."""
        self._marks.append((now_s, done_bytes))
        while len(self._marks) > 2 and now_s - self._marks[0][0] > RATE_OVER_S:
            self._marks.popleft()

    def told(self, total_bytes: int) -> tuple[str, ...]:
        """Rate and time left, where they are known; "waiting" where nothing moves."""
        if not self._marks:
            return ()
        (from_s, from_bytes), (to_s, to_bytes) = self._marks[0], self._marks[-1]
        if to_s - from_s < 1:
            return ()
        rate = (to_bytes - from_bytes) / (to_s - from_s)
        if rate <= 0:
            return ("waiting",)
        return f"{readable(round(rate))}/s", f"{duration((total_bytes - to_bytes) / rate)} left"
