"""All screenshots of one look at one scale; started by `window_shots`."""

import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import Qt

from app.demo.comparing import Comparing
from app.live.settings import Theme
from app.live.snapshot import Progress, Snapshot, Trial
from app.window.crash import Crash, CrashDialog, describe
from tests.window import scenes
from tests.window.rig import Rig, write_run, write_sessions

USUAL, SMALL = (1180, 760), (900, 600)

Prepare = Callable[[Rig], None]


def shoot(rig: Rig, path: Path, size: tuple[int, int]) -> None:
    """Save the window as it is."""
    rig.window.resize(*size)
    rig.settle()
    rig.window.grab().save(str(path))


def page(index: int, snapshot: Snapshot, prepare: Prepare | None = None) -> Prepare:
    def show(rig: Rig) -> None:
        rig.conversation.now = snapshot
        rig.window.go_to(index)
        if prepare:
            prepare(rig)

    return show


def first_start(step: int, snapshot: Snapshot) -> Prepare:
    def show(rig: Rig) -> None:
        rig.conversation.now = snapshot
        rig.window.show_first_start()
        rig.window.first_start.go_to(step)

    return show


def replay(rig: Rig) -> None:
    rig.settle()
    rig.window.sessions.list.setCurrentIndex(rig.window.sessions.list.model().index(1, 0))
    rig.window.sessions.open.click()
    rig.settle()
    rig.window.sessions.replay.pause()
    rig.window.sessions.replay.seek.setValue(55)


def compare(rig: Rig) -> None:
    rig.settle()
    rig.window.compare.choice.list.itemActivated.emit(rig.window.compare.choice.list.topLevelItem(0), 0)
    rig.settle()
    page = rig.window.compare.view
    page.meters.show_playing(0, 9_300_000_000)


def compare_from_below(rig: Rig) -> None:
    compare(rig)
    rig.window.compare.view.everything.setChecked(True)
    rig.window.compare.view.body.adjustSize()
    rig.settle()
    bar = rig.window.compare.view.verticalScrollBar()
    bar.setValue(bar.maximum())


def compare_nearer(rig: Rig) -> None:
    compare(rig)
    rig.window.compare.view.meters.zoom(nearer=True)


def ticked(rig: Rig) -> None:
    rig.settle()
    for item in (
        rig.window.compare.choice.list.topLevelItem(0).child(0),
        rig.window.compare.choice.list.topLevelItem(1).child(2),
    ):
        item.setCheckState(0, Qt.CheckState.Checked)


def comparing(rig: Rig) -> None:
    told = Progress("library, 2 of 3", 0.47, "6 seconds held, in real time")
    rig.settle()
    rig.window.compare.course.state = Comparing(told)
    rig.window.compare.tick()


def crash(rig: Rig) -> None:
    page(0, scenes.talking())(rig)
    try:
        raise ValueError("a made-up error")
    except ValueError as error:
        dialog = CrashDialog(describe(type(error), error, None, "in the thread engine"), rig.window)
    dialog.add(Crash("elsewhere", "ValueError: another"))
    dialog.setWindowFlags(Qt.WindowType.Widget)
    dialog.setAutoFillBackground(True)
    dialog.move(270, 170)
    dialog.show()


def echo_found(rig: Rig) -> None:
    rig.window.devices.panel.try_button.setChecked(True)


OPEN = Snapshot(microphone=scenes.MICROPHONE, speaker=scenes.SPEAKER, trial=Trial(False, 14.0))
SHOTS: dict[str, tuple[Prepare, tuple[int, int]]] = {
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
    "talk-recorded": (page(0, replace(scenes.talking(), recording=Path("recording.wav"))), USUAL),
    "talk-device-lost": (page(0, scenes.device_lost()), USUAL),
    "talk-failed": (page(0, scenes.failed()), USUAL),
    "talk-small": (page(0, scenes.talking()), SMALL),
    "sessions": (page(1, Snapshot()), USUAL),
    "sessions-replay": (page(1, Snapshot(), replay), USUAL),
    "sessions-small": (page(1, Snapshot()), SMALL),
    "compare": (page(2, Snapshot()), USUAL),
    "compare-ticked": (page(2, Snapshot(), ticked), USUAL),
    "compare-running": (page(2, Snapshot(), comparing), USUAL),
    "compare-view": (page(2, Snapshot(), compare), USUAL),
    "compare-nearer": (page(2, Snapshot(), compare_nearer), USUAL),
    "compare-below": (page(2, Snapshot(), compare_from_below), USUAL),
    "compare-small": (page(2, Snapshot(), compare), SMALL),
    "devices": (page(3, scenes.talking()), USUAL),
    "devices-test": (page(3, OPEN, echo_found), USUAL),
    "devices-small": (page(3, Snapshot()), SMALL),
    "settings": (page(4, Snapshot()), USUAL),
    "settings-small": (page(4, Snapshot()), SMALL),
    "crash": (crash, USUAL),
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
            home = Path(tempfile.mkdtemp(dir=folder))
            write_sessions(home / "sessions")
            write_run(home / "comparisons" / "2026-12-07 12-00-00.000000")
            rig = Rig(home, theme=Theme(look))
            show(rig)
            shoot(rig, Path(out) / f"{name}-{look}-{scale}00.png", size)
            rig.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
