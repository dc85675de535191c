"""The clock of Pocket's voice. A declaration only; no onnxruntime, no torch.

The stop-gap voice has no state: it says a clause in one launch, as long as it takes; what waits is handed out on this
clock.
"""

from engine.clock import Rate
from engine.stage import Ticking, Timeline

RATE_HZ = 24_000


def voice_timelines() -> tuple[Timeline, ...]:
    """Pocket's voice: a sample at a time, while it speaks."""
    return (
        Timeline(
            "voice",
            Ticking(Rate(RATE_HZ), speech=True),
            tick="sample",
            eager="onnxruntime runs it, a clause a launch",
        ),
    )
