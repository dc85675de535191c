"""Where there was voice: probabilities frame by frame in, stretches of voice out.

Arithmetic over sample positions; no audio, no torch, no time of its own. Entered by the engine thread.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

KEPT = 256  # stretches remembered; the oldest is forgotten beyond


@dataclass(frozen=True)
class Hysteresis:
    """When a frame counts as voice.

    Args:
        starts: Voice begins with a frame at least this likely,
        lasts: and goes on while frames are at least this likely.
        least_samples: What is shorter is a click, not voice.
    """

    starts: float = 0.5
    lasts: float = 0.35
    least_samples: int = 1024


@dataclass
class Stretch:
    """Voice from sample `start` to sample `end`, which is no longer of it."""

    start: int
    end: int


class SpeechSegments:
    """Stretches of voice, by session sample, told frame by frame.

    Args:
        hysteresis: When a frame counts as voice.
    """

    def __init__(self, hysteresis: Hysteresis | None = None) -> None:
        self._hysteresis = hysteresis or Hysteresis()
        self._stretches: deque[Stretch] = deque(maxlen=KEPT)
        self._open: Stretch | None = None  # the voice that the last frame belongs to; kept once it is no click

    def clear(self) -> None:
        """Begin another recording."""
        self._stretches.clear()
        self._open = None

    def push(self, start: int, frame_samples: int, probabilities: Sequence[float]) -> None:
        """Take in the next frames.

        Args:
            start: Session sample at which the first begins, where the frame before ended.
            frame_samples: Samples a frame.
            probabilities: How likely each holds voice, 0 to 1.
        """
        for index, probability in enumerate(probabilities):
            self._frame(start + index * frame_samples, start + (index + 1) * frame_samples, probability)

    def _frame(self, start: int, end: int, probability: float) -> None:
        rules = self._hysteresis
        if self._open is None:
            if probability < rules.starts:
                return
            self._open = Stretch(start, end)
        elif probability >= rules.lasts:
            self._open.end = end
        else:
            self._open = None
            return
        kept = bool(self._stretches) and self._stretches[-1] is self._open
        if not kept and self._open.end - self._open.start >= rules.least_samples:
            self._stretches.append(self._open)

    @property
    def stretches(self) -> tuple[tuple[int, int], ...]:
        """All that are remembered, as half-open ranges of samples, in order."""
        return tuple((stretch.start, stretch.end) for stretch in self._stretches)

    @property
    def last_voiced_sample(self) -> int | None:
        """The newest sample with voice; None where there was none yet."""
        return self._stretches[-1].end - 1 if self._stretches else None

    @property
    def last_onset(self) -> int | None:
        """Where the newest stretch of voice began; None where there was none yet."""
        return self._stretches[-1].start if self._stretches else None

    def onset_after(self, sample: int) -> int | None:
        """The first sample with voice at or after `sample`."""
        return next((max(sample, stretch.start) for stretch in self._stretches if stretch.end > sample), None)

    def voiced_samples_after(self, sample: int) -> int:
        """How many samples at or after `sample` had voice."""
        return sum(max(0, stretch.end - max(sample, stretch.start)) for stretch in self._stretches)
