"""Pictures of the real app in a real conversation: `python -m tests.window.live_shot --out DIR --look light`.

The app runs offscreen on a virtual sound card, is asked questions for a minute and a half, and its window is saved
in the middle of an answer. Nothing in the picture is made up. For the README.
"""

import argparse
import signal
import sys
import tempfile
import time
from pathlib import Path

from app.live.settings import SettingsFile, Theme
from tests.app_on_card import AppOnCard
from tests.quality.conversation import RATE_HZ
from tests.quality.live import user_side
from tests.virtual_card import VirtualCard

SIZE = (1180, 760)
AFTER_S = 88.0  # twenty seconds of silence have left the meter by then
PATIENCE_S = 200


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--look", choices=("light", "dark"), default="light")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    out = args.out.resolve()
    with tempfile.TemporaryDirectory(prefix="shot") as folder:
        card = VirtualCard(Path(folder)).start()
        settings = Path(folder) / "duplexcadence" / "settings.json"
        SettingsFile(settings).change(theme=Theme(args.look))
        try:
            environment = {"QT_QPA_PLATFORM": "offscreen"}
            module = ["tests.window.live_shot", "app", str(out)]
            with AppOnCard(card, module=module, environment=environment) as app:
                app.wait_for("talking")
                said, _ = user_side(2)
                speaking = card.speak(said, RATE_HZ)
                app.wait_for("it is taken", PATIENCE_S)
                speaking.kill()
                speaking.wait()
                app.end(signal.SIGTERM)
        finally:
            card.kill()
    return 0


def shoot(out: Path) -> int:
    """The app, whose window saves itself."""
    from PySide6.QtCore import QTimer

    from app.__main__ import main as talk
    from app.live.snapshot import Phase
    from app.streams import say
    from app.window import main as window

    class Shot(window.MainWindow):
        def begin(self) -> None:
            super().begin()
            self.resize(*SIZE)
            self._talks_since: float | None = None
            self._looks = QTimer(self, interval=100)
            self._looks.timeout.connect(self._look)
            self._looks.start()
            self._desk.conversation.start()

        def _look(self) -> None:
            now = self._desk.conversation.snapshot()
            if now.phase is Phase.TALKING and self._talks_since is None:
                self._talks_since = time.monotonic()
                say("talking")
            talked_s = 0.0 if self._talks_since is None else time.monotonic() - self._talks_since
            if talked_s > AFTER_S and now.sounding:
                self._looks.stop()
                self.grab().save(str(out / f"talk-{self._desk.settings.theme}.png"))
                say("it is taken")

    window.MainWindow = Shot  # type: ignore[misc]
    return talk(["talk", "--log-transcript"])


if __name__ == "__main__":
    sys.exit(shoot(Path(sys.argv[2])) if sys.argv[1:2] == ["app"] else main())
