"""Lets the real window begin and end a conversation over and over, in a process whose environment names a virtual card.

    python -m tests.live.starts_on_card FOLDER TIMES

Writes one line of JSON: what there was after each end. A native thread or an open file more would be a stream or a
connection to the sound server that nobody closed.
"""

import gc
import json
import sys
import threading
import weakref
from pathlib import Path
from typing import Any

import psutil
from PySide6.QtCore import QTimer

from app import wiring
from app.live.sessions import Sessions
from app.live.settings import SettingsFile
from app.live.snapshot import Phase
from app.window import main as window

LOOK_MS, REST_MS = 50, 400
UNITS = 1  # that a conversation is to have before it ends


def main(folder: Path, times: int) -> int:
    """Begin and end; returns the app's exit code."""
    settings = SettingsFile(folder / "settings.json")
    settings.change(first_start_done=True)
    wiring.sessions_path = lambda: folder / "sessions"
    kept: dict[str, weakref.WeakSet[Any]] = {"sessions": weakref.WeakSet(), "sounds": weakref.WeakSet()}
    looks: list[dict[str, int]] = []

    def keeping(which: str, make: Any) -> Any:
        def made(*arguments: Any, **options: Any) -> Any:
            thing = make(*arguments, **options)
            kept[which].add(thing)
            return thing

        return made

    wiring.Session = keeping("sessions", wiring.Session)
    wiring.Sound = keeping("sounds", wiring.Sound)

    class Starting(window.MainWindow):
        """Presses the button."""

        def begin(self) -> None:
            super().begin()
            self._presses = QTimer(self, interval=LOOK_MS)
            self._presses.timeout.connect(self._press)
            self._presses.start()
            self._desk.conversation.start()

        def _press(self) -> None:
            snapshot = self._desk.conversation.snapshot()
            if snapshot.phase is Phase.FAILED:
                raise SystemExit(snapshot.message)
            if snapshot.phase is Phase.TALKING and len(snapshot.units) >= UNITS:
                self._desk.conversation.stop()
                self._presses.stop()
                QTimer.singleShot(REST_MS, self, self._look)

        def _look(self) -> None:
            if self._desk.conversation.snapshot().phase is not Phase.IDLE:
                QTimer.singleShot(REST_MS, self, self._look)
                return
            gc.collect()
            process = psutil.Process()
            looks.append(
                {
                    "threads": threading.active_count(),
                    "native_threads": process.num_threads(),
                    "files": process.num_fds(),
                    "timers": sum(timer.isActive() for timer in self.findChildren(QTimer)),
                    "rss": process.memory_info().rss,
                    **{which: len(alive) for which, alive in kept.items()},
                }
            )
            if len(looks) == times:
                self.close()
                return
            self._presses.start()
            self._desk.conversation.start()

    window.MainWindow = Starting  # type: ignore[misc]
    code = window.run(wiring.live(settings), settings, Sessions(folder / "sessions"))
    sys.stdout.write(json.dumps(looks) + "\n")
    return code


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), int(sys.argv[2])))
