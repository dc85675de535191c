"""A device's clock against the session's: which frame was where at what time, however late the callbacks came.

A callback can come late but never early, so of every half second the block that came least late counts. Through these
runs the line of least squares, over at most a minute, so that its slope settles to a few millionths. A sound server
changes its ways as programs come and go, and hands on 20 ms sooner or later than before, at once or over ten seconds
(measured on PulseAudio): the line follows, but no window teaches its slope more than half a millisecond, so that it
stays near what the quartz is. Frames that the driver lost show as a larger step, or as a small one after it has said
so: from then on every block is late by them. Knows nothing of samples. Entered by [engine].
"""

from engine.clock import NS

WINDOW_S = 0.5
MEMORY = 120  # windows
CAUTION = 4  # windows that the slope is believed later than the offset: the first ones say little about it
START_S = 0.5  # as a stream starts, a driver fills its buffers and tells times that do not hold
STEP_NS = 60_000_000  # frames that are missing; less may be a change of ways
FLAGGED_STEP_NS = 8_000_000  # the same, where the driver has said that it lost some
JITTER_NS = 500_000  # what is more says nothing of the quartz
MOST_DRIFT = 5e-4


class ClockLine:
    """The line from a device's frame positions to the session's time.

    Args:
        rate_hz: The device's nominal frames a second.
    """

    def __init__(self, rate_hz: int) -> None:
        self._rate_hz = rate_hz
        self._position = 0  # of the frame that the line is anchored at
        self._time_ns = 0.0
        self._period_ns = NS / rate_hz
        self._windows = 0
        self._window_end = 0
        self._start = 0  # position up to which nothing counts
        self._flagged_windows = 0  # how many more windows a small step counts
        self._best: tuple[float, int] | None = None  # the least lateness of this window, and where
        self.worst_ns = 0  # how late the latest block of a window came, beside the least late: bursts
        self._worst_ns = 0.0  # of this window
        self._early = False  # whether the last window was a step early

    @property
    def settled(self) -> bool:
        """Whether a whole window has been seen."""
        return self._windows > 0

    @property
    def drift(self) -> float:
        """How much faster the device's clock runs than the session's, as a fraction."""
        return NS / self._rate_hz / self._period_ns - 1

    def time_ns(self, position: int) -> float:
        """When the frame at `position` passes."""
        return self._time_ns + (position - self._position) * self._period_ns

    def observe(self, position: int, time_ns: int, flagged: bool = False) -> int:
        """A callback said that the frame at `position` has passed by `time_ns`.

        Args:
            position: Of the frame after the callback's last.
            time_ns: By the session's clock.
            flagged: Whether the driver said that it lost frames before.

        Returns:
            A step in nanoseconds, where one shows: positive where frames are missing before `position`. Else zero.
        """
        if flagged:
            self._flagged_windows = 2
        if not self._windows and not self._start:
            self._start = position + round(START_S * self._rate_hz)
        if position < self._start:
            return 0
        if self._best is None and not self._windows:
            self._position, self._time_ns = position, float(time_ns)
            self._window_end = position + round(WINDOW_S * self._rate_hz)
        late_ns = time_ns - self.time_ns(position)
        if self._best is None or late_ns < self._best[0]:
            self._best = (late_ns, position)
        self._worst_ns = max(self._worst_ns, late_ns)
        if position < self._window_end:
            return 0
        self._window_end = position + round(WINDOW_S * self._rate_hz)
        (late_ns, at), self._best = self._best, None
        self.worst_ns, self._worst_ns = round(self._worst_ns - late_ns), 0.0
        return self._close_window(late_ns, at)

    def _close_window(self, late_ns: float, at: int) -> int:
        step_ns = FLAGGED_STEP_NS if self._flagged_windows else STEP_NS
        self._flagged_windows = max(0, self._flagged_windows - 1)
        early, self._early = self._early, late_ns < -STEP_NS
        if self._windows and (late_ns > step_ns or (early and self._early)):
            self._time_ns += late_ns
            self._early = False
            return round(late_ns)
        if self._early and self._windows:
            return 0  # one block too early may be chance; a second is a step
        self._windows = min(self._windows + 1, MEMORY)
        n, cautious = self._windows, self._windows + CAUTION
        offset_gain = (4 * n - 2) / (n * (n + 1)) if n > 1 else 1.0
        slope_gain = 6 / (cautious * (cautious + 1)) if n > 1 else 0.0
        expected_ns = self.time_ns(at)
        window_frames = WINDOW_S * self._rate_hz
        nominal_ns = NS / self._rate_hz
        learned_ns = max(-JITTER_NS, min(late_ns, JITTER_NS))
        period_ns = self._period_ns + slope_gain * learned_ns / window_frames
        self._position, self._time_ns = at, expected_ns + offset_gain * late_ns
        self._period_ns = max(nominal_ns * (1 - MOST_DRIFT), min(period_ns, nominal_ns * (1 + MOST_DRIFT)))
        return 0
