"""The app as a user starts it, with a watch on what only its process knows: counts of samples, stalls, memory, threads.

    python -m tests.quality.live_watch FILE [talk's own arguments]

With --no-window it talks in lines; else its window opens (offscreen where QT_QPA_PLATFORM says so) and begins a
conversation. Once it has ended FILE holds one JSON object. For `tests.quality.live`.
"""

import json
import sys
import tempfile
import threading
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import psutil

from app import wiring
from app.__main__ import main
from app.audio.sound import Sound
from app.stopping import leave

EVERY_S = 1.0
TICK_MS = 10


class Watch:
    """Looks once a second at the sound that was opened last, and at the process."""

    def __init__(self) -> None:
        self.sound: Sound | None = None
        # On disk: kept in memory they would be the growth that is sought, 4 KiB a second.
        self._looks = tempfile.TemporaryFile("w+")  # noqa: SIM115  `told` closes it
        self.stalls_ms: dict[str, float] = {}
        self.reached_s: dict[str, float] = {}  # seconds of the process's life until then
        self._began = time.monotonic()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look, name="watch", daemon=True)
        self._thread.start()

    def adopt(self, *arguments: Any, **options: Any) -> Sound:
        """In place of the app's own `Sound`."""
        self.sound = Sound(*arguments, **options)
        return self.sound

    def reach(self, what: str) -> None:
        """Something is there, for the first time or again."""
        self.reached_s.setdefault(what, time.time() - psutil.Process().create_time())

    def stalled(self, phase: str, late_ms: float) -> None:
        """The window's loop came so late [ui]."""
        self.stalls_ms[phase] = max(late_ms, self.stalls_ms.get(phase, 0.0))

    def told(self) -> dict[str, Any]:
        """All that was seen."""
        self._ended.set()
        self._thread.join()
        self._looks.seek(0)
        with self._looks:
            looks = [json.loads(line) for line in self._looks]
        return {"looks": looks, "stalls_ms": self.stalls_ms, "reached_s": self.reached_s}

    def _look(self) -> None:
        process = psutil.Process()
        while not self._ended.wait(EVERY_S):
            sound = self.sound
            if sound is None or not sound.microphone.device:
                continue
            used = process.cpu_times()
            look = {
                "at_s": time.monotonic() - self._began,
                "rss": process.memory_info().rss,
                "threads": process.num_threads(),
                "cpu_s": used.user + used.system,
                "counts": asdict(sound.counts),
                "voice": asdict(sound.voice.counts),
                "microphone": asdict(sound.microphone),
                "speaker": asdict(sound.speaker),
            }
            self._looks.write(json.dumps(look) + "\n")


def watch_window(watch: Watch) -> None:
    """Let the window begin a conversation, and a timer of its loop say how late it came."""
    from PySide6.QtCore import Qt, QTimer

    from app.window import main as window

    class Watched(window.MainWindow):
        def begin(self) -> None:
            super().begin()
            self._ticked = 0.0
            self._ticker = QTimer(self, interval=TICK_MS, timerType=Qt.TimerType.PreciseTimer)
            self._ticker.timeout.connect(self._tick)
            self._ticker.start()
            self._desk.conversation.start()

        def _tick(self) -> None:
            now = time.perf_counter()
            before, self._ticked = self._ticked, now
            phase = self._desk.conversation.snapshot().phase
            watch.reach(str(phase))
            if before:  # the loop's first round draws the window
                watch.stalled(str(phase), 1e3 * (now - before) - TICK_MS)

    window.MainWindow = Watched


def run(file: Path, arguments: list[str]) -> int:
    """Talk until told to end; returns the app's exit code."""
    watch = Watch()
    wiring.Sound = watch.adopt  # type: ignore[assignment,misc]
    if "--no-window" not in arguments:
        watch_window(watch)
    try:
        return main(["talk", *arguments])
    finally:
        file.write_text(json.dumps(watch.told()))


if __name__ == "__main__":
    leave(run(Path(sys.argv[1]), sys.argv[2:]))
