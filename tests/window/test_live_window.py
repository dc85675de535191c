"""The window over a real conversation whose time and devices are moved by hand: what is talked is shown as it comes."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, QTimer
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.live.sessions import Sessions
from app.live.snapshot import Phase
from app.window.crash import CrashDialog, Crashes
from engine.timing import UnitRecord
from tests.live.bench import Bench
from tests.window.rig import Rig, heard


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.fixture
def rig(qtbot: QtBot, bench: Bench, tmp_path: Path) -> Iterator[Rig]:
    bench.settings.change(first_start_done=True)
    rig = Rig(tmp_path, file=bench.settings, live=bench.conversation)
    yield rig
    rig.close()
    bench.conversation.close()


def talk(rig: Rig, bench: Bench, until_s: float, at: dict[float, Callable[[], object]]) -> None:
    """Press Talk, poll as the window does, do things at their moments, and press Stop."""

    def look() -> None:
        rig.window.poll()
        QCoreApplication.processEvents()

    for number in range(round(until_s / 0.05)):
        bench.clock.at(number * 0.05, look)
    for seconds, do in at.items():
        bench.clock.at(seconds, do)
    bench.clock.at(until_s, rig.window.talk.controls.talk.click)
    rig.window.talk.controls.talk.click()
    bench.engine.run()
    rig.settle()


def test_every_second_is_a_bar_and_the_log_is_listed_once_it_is_over(rig: Rig, bench: Bench) -> None:
    bars: list[int] = []
    running: list[bool] = []
    model = rig.window.talk.cadence.meter.model

    def look() -> None:
        bars.append(len(model.bars))
        running.append(model.running is not None)

    talk(rig, bench, 8.0, {3.0: look, 5.0: look, 7.0: look})
    assert bars == sorted(set(bars)), "each two seconds there are more"
    assert all(running)
    units = [record for record in bench.records() if isinstance(record, UnitRecord)]
    assert [bar.first for bar in model.bars] == [unit.index for unit in units]
    assert bench.snapshot.phase is Phase.IDLE
    assert bench.end().reason == "stopped"
    (listed,) = Sessions(bench.folder).list()
    assert listed.units == len(units)


def test_what_is_live_is_told_to_a_screen_reader(rig: Rig, bench: Bench) -> None:
    said: list[str] = []
    talk(rig, bench, 6.0, {5.0: lambda: said.extend(each.name for each in heard(rig.window) if each.name)})
    assert "Talking: listening" in said
    assert any(name.startswith("Unit 1, ") for name in said)
    assert any(name.startswith("Slack, median: ") for name in said)


@pytest.mark.qt_no_exception_capture
def test_an_error_that_nothing_caught_is_one_dialog_and_a_log_that_is_closed(rig: Rig, bench: Bench) -> None:
    crashes = Crashes(bench.conversation.stop)
    crashes.install()
    try:

        def broken() -> None:
            raise ValueError("a slot broke")

        def storm() -> None:
            for _ in range(30):
                QTimer.singleShot(0, broken)

        bench.clock.at(4.0, storm)
        look = [0.05 * number for number in range(120)]
        for seconds in look:
            bench.clock.at(seconds, lambda: (rig.window.poll(), QCoreApplication.processEvents()))
        rig.window.talk.controls.talk.click()
        bench.engine.run()  # comes back because the crash has stopped it
        rig.settle()
    finally:
        crashes.uninstall()
    shown = [each for each in QApplication.topLevelWidgets() if isinstance(each, CrashDialog) and each.isVisible()]
    assert len(shown) == 1
    assert "ValueError: a slot broke" in shown[0].details
    assert crashes.count == 30
    assert bench.snapshot.phase is Phase.IDLE
    assert bench.end().reason == "stopped"
    assert bench.end().units == len([record for record in bench.records() if isinstance(record, UnitRecord)])
    assert rig.window.talk.controls.talk.text() == "Talk"
    shown[0].close()
    shown[0].deleteLater()
