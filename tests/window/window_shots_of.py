"""All screenshots of one look at one scale; started by `window_shots`."""

import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QCoreApplication, QEvent

from app.live.sessions import LOG, RECORDING, Sessions
from app.live.settings import SettingsFile, Theme
from app.live.snapshot import Snapshot, Trial
from app.window.desk import Desk
from app.window.first_start import WeightLine
from app.window.main import dress, make_application
from app.window.main_window import MainWindow
from tests.made_up_sessions import conversation, header, write
from tests.window import scenes
from tests.window.fake_conversation import FakeConversation

USUAL, SMALL = (1180, 760), (900, 600)

WEIGHTS = (
    WeightLine("hearing: Whisper tiny.en, 37.8 million parameters, float16", "MIT", 77_668_285, False),
    WeightLine("voice activity: Silero VAD at 16 kHz, float32", "MIT", 11_317_527, True),
    WeightLine("words: SmolLM2-135M, 4 bits", "Apache-2.0", 98_000_000, False),
    WeightLine(
        "voice, a stop-gap: Piper en_US joe medium, 15.7 million parameters, 22.05 kHz",
        "CC0-1.0 by its model card",
        63_200_000,
        False,
        "fine-tuned from the voice 'lessac', whose recordings are licensed for research only: for your own use",
    ),
)


class Studio:
    """A window whose conversation stands as a shot wants it."""

    def __init__(self, folder: Path, look: str) -> None:
        self.application = make_application()
        self.conversation = FakeConversation()
        settings = SettingsFile(folder / "settings.json")
        settings.change(theme=Theme(look), first_start_done=True)
        self.sessions = folder / "sessions"
        self._write_sessions()
        self.desk = Desk(self.conversation, settings, Sessions(self.sessions))
        dress(self.application, self.desk)
        self.window = MainWindow(self.desk)
        self.window.first_start._look = lambda _: WEIGHTS
        self.window.show()

    def settle(self) -> None:
        """Let queued work and layouts come to rest."""
        for _ in range(4):
            self.window.poll()
            self.desk.background.wait()
            QCoreApplication.processEvents()
            QCoreApplication.sendPostedEvents(None, QEvent.Type.LayoutRequest)

    def shoot(self, path: Path, size: tuple[int, int] = USUAL) -> None:
        self.window.resize(*size)
        self.settle()
        self.window.grab().save(str(path))

    def _write_sessions(self) -> None:
        for day, seconds, overruns, recorded in ((1, 312, False, True), (2, 74, True, False), (3, 1290, False, False)):
            folder = self.sessions / f"2026-12-0{day} 1{day}-04-31.123"
            folder.mkdir(parents=True)
            head = header(runtime="stock" if overruns else "cadence")
            write(folder / LOG, conversation(seconds, seed=day, overruns=overruns), head)
            if recorded:
                (folder / RECORDING).write_bytes(b"")


def page(index: int, snapshot: Snapshot, prepare: Callable[[Studio], None] | None = None) -> Callable[[Studio], None]:
    def show(studio: Studio) -> None:
        studio.conversation.now = snapshot
        studio.window.go_to(index)
        if prepare:
            prepare(studio)

    return show


def first_start(step: int, snapshot: Snapshot) -> Callable[[Studio], None]:
    def show(studio: Studio) -> None:
        studio.conversation.now = snapshot
        studio.window.show_first_start()
        studio.window.first_start.go_to(step)

    return show


def replay(studio: Studio) -> None:
    studio.settle()
    studio.window.sessions.list.setCurrentIndex(studio.window.sessions.list.model().index(1, 0))
    studio.window.sessions.open.click()
    studio.settle()
    studio.window.sessions.replay.pause()
    studio.window.sessions.replay.seek.setValue(55)


def echo_found(studio: Studio) -> None:
    studio.window.devices.panel.try_button.setChecked(True)


OPEN = Snapshot(microphone=scenes.MICROPHONE, speaker=scenes.SPEAKER, trial=Trial(False, 14.0))
SHOTS: dict[str, tuple[Callable[[Studio], None], tuple[int, int]]] = {
    "talk-idle": (page(0, Snapshot()), USUAL),
    "talk-fetching": (page(0, scenes.fetching()), USUAL),
    "talk-loading": (page(0, scenes.loading()), USUAL),
    "talk-talking": (page(0, scenes.talking()), USUAL),
    "talk-overruns": (page(0, scenes.talking(overruns=True)), USUAL),
    "talk-muted-clip": (
        page(
            0,
            replace(
                scenes.talking(sounding=False),
                muted=True,
                hearing=False,
                dead_air_ms=1300.0,
                microphone=replace(scenes.MICROPHONE, peak=1.0, rms=0.6, clipped=True),
            ),
        ),
        USUAL,
    ),
    "talk-device-lost": (page(0, scenes.device_lost()), USUAL),
    "talk-failed": (page(0, scenes.failed()), USUAL),
    "talk-small": (page(0, scenes.talking()), SMALL),
    "sessions": (page(1, Snapshot()), USUAL),
    "sessions-replay": (page(1, Snapshot(), replay), USUAL),
    "sessions-small": (page(1, Snapshot()), SMALL),
    "devices": (page(2, scenes.talking()), USUAL),
    "devices-test": (page(2, OPEN, echo_found), USUAL),
    "devices-small": (page(2, Snapshot()), SMALL),
    "settings": (page(3, Snapshot()), USUAL),
    "settings-small": (page(3, Snapshot()), SMALL),
    "first-what": (first_start(0, Snapshot()), USUAL),
    "first-sound": (first_start(1, OPEN), USUAL),
    "first-model": (first_start(2, Snapshot()), USUAL),
    "first-fetching": (first_start(2, scenes.fetching()), USUAL),
    "first-failed": (first_start(2, scenes.failed()), USUAL),
    "first-small": (first_start(2, scenes.fetching()), SMALL),
}


def main(out: str, look: str, scale: str, *only: str) -> int:
    Path(out).mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        for name, (show, size) in SHOTS.items():
            if only and name not in only:
                continue
            studio = Studio(Path(tempfile.mkdtemp(dir=folder)), look)
            show(studio)
            studio.shoot(Path(out) / f"{name}-{look}-{scale}00.png", size)
            studio.window.close()
            studio.desk.background.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
