"""The clock of Pocket's voice. A declaration only; no onnxruntime, no torch.

The stop-gap voice has no state: it says a clause in one launch, as long as it takes; what waits is handed out a unit at
a time, at `RATE_HZ`.
"""

from engine.stage import Quota, Timeline

RATE_HZ = 24_000
CLAUSES_A_UNIT = 4  # two seconds are kept ready, and few clauses are shorter than half of one


def voice_timelines() -> tuple[Timeline, ...]:
    """Pocket's voice: a clause a launch."""
    clauses = (CLAUSES_A_UNIT,)
    return (
        Timeline(
            "voice",
            Quota(listen=clauses, speak=clauses),
            tick="clause",
            chunk=1,
            eager="onnxruntime runs it, a clause a launch",
        ),
    )
