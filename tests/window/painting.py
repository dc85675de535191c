"""What a frame costs: `python -m tests.window.painting` plays thirty seconds of a talk at 20 Hz, at 100% and at 200%.

In its thread's own time, for the meter (taking a snapshot, and painting what differs) and for the whole window (poll,
layout, paint): median, 95 of 100, and worst, in ms. Offscreen, so without what a display adds. A scale is a process's
work.
"""

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

REPEATS = 3
FRAMES = 600
FRAME_NS = 50_000_000
FIRST_S = 90


def main() -> int:
    for scale in ("1", "2"):
        environment = {**os.environ, "QT_SCALE_FACTOR": scale, "QT_QPA_PLATFORM": "offscreen", "OMP_NUM_THREADS": "1"}
        for _ in range(REPEATS):
            subprocess.run([sys.executable, "-m", "tests.window.painting", scale], env=environment, check=True)
    return 0


def measure(scale: str) -> int:
    from PySide6.QtCore import QCoreApplication
    from PySide6.QtGui import QPaintEvent

    from app.live.snapshot import Snapshot
    from app.streams import say
    from app.window.cadence_meter import CadenceMeter
    from engine.cadence import Spread
    from tests.made_up_sessions import conversation
    from tests.window import scenes
    from tests.window.rig import Rig
    from tests.window.watched import replayed

    spent_ms = [0.0]

    class Timed(CadenceMeter):
        def paintEvent(self, event: QPaintEvent) -> None:
            began = time.thread_time()
            super().paintEvent(event)
            spent_ms[0] += 1e3 * (time.thread_time() - began)

        def show_snapshot(self, snapshot: Snapshot) -> None:
            began = time.thread_time()
            super().show_snapshot(snapshot)
            spent_ms[0] += 1e3 * (time.thread_time() - began)

    with tempfile.TemporaryDirectory() as folder:
        from app.window import cadence_view

        cadence_view.CadenceMeter = Timed  # type: ignore[misc]
        session = replayed(Path(folder) / "session.jsonl", conversation(FIRST_S + 40, seed=4, overruns=True))
        rig = Rig(Path(folder))
        meter, whole = [], []
        for frame in range(-40, FRAMES):  # the first ones come to rest
            seen = session.at(FIRST_S * 1_000_000_000 + frame * FRAME_NS)
            level = 0.2 + frame % 7 / 20
            rig.conversation.now = replace(
                seen,
                microphone=replace(scenes.MICROPHONE, peak=level, rms=level / 3),
                speaker=replace(scenes.SPEAKER, peak=level, rms=level / 2),
            )
            spent_ms[0], began = 0.0, time.thread_time()
            rig.window.poll()
            QCoreApplication.processEvents()
            if frame >= 0:
                meter.append(spent_ms[0])
                whole.append(1e3 * (time.thread_time() - began))
        rig.close()
    for name, values in (("meter", meter), ("window", whole)):
        spread = Spread.of(values)
        assert spread is not None
        say(f"{scale}00% {name:6s} median {spread.median:.2f} p95 {spread.p95:.2f} worst {spread.worst:.2f} ms")
    return 0


if __name__ == "__main__":
    sys.exit(measure(sys.argv[1]) if len(sys.argv) > 1 else main())
