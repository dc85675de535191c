"""The painted meter: nothing is told by colour alone, keys and mouse tell a bar, parts painted one by one are whole."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QAccessible, QColor, QHelpEvent, QImage, QPaintEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QToolTip
from pytestqt.qtbot import QtBot

from app.live.snapshot import Snapshot
from app.window import theme
from app.window.cadence_meter import CadenceMeter
from engine.cadence import measure
from tests.made_up_sessions import conversation, header, unit
from tests.window import scenes
from tests.window.watched import SESSIONS, in_the_middle, replayed

SIZE = (780, 480)
NS = 1_000_000_000
QUIET, LATE = scenes.talking(), scenes.talking(overruns=True)


class CountedMeter(CadenceMeter):
    """Counts what it paints."""

    paints = 0

    def paintEvent(self, event: QPaintEvent) -> None:
        self.paints += 1
        super().paintEvent(event)

    def hasFocus(self) -> bool:
        return False  # whichever window is in front


@pytest.fixture
def meter(qtbot: QtBot) -> CountedMeter:
    meter = CountedMeter()
    qtbot.addWidget(meter)
    meter.setPalette(theme.palette(theme.LIGHT))
    meter.resize(*SIZE)
    meter.show()
    QApplication.processEvents()
    return meter


def pixels(meter: CadenceMeter) -> NDArray[np.uint8]:
    """The meter as it is once every part is painted: [height, width, rgb]."""
    for _ in range(4):
        meter.repaint()
    image = meter.grab().toImage().convertToFormat(QImage.Format.Format_RGB888)
    rows = np.frombuffer(image.constBits(), np.uint8).reshape(image.height(), image.bytesPerLine())
    return rows[:, : image.width() * 3].reshape(image.height(), image.width(), 3).copy()


def column(meter: CadenceMeter, index: int, top: float, bottom: float) -> NDArray[np.uint8]:
    """A bar's column between two heights, in greys: [height, width]."""
    box = meter.bar_box(index).toAlignedRect()
    return pixels(meter)[round(top) : round(bottom), box.left() : box.right()].mean(axis=2).astype(np.uint8)


@pytest.mark.parametrize("name", SESSIONS)
@pytest.mark.parametrize("palette", [theme.LIGHT, theme.CONTRAST_DARK], ids=["light", "on black"])
def test_painted_part_by_part_it_looks_as_painted_at_once(
    meter: CountedMeter, qtbot: QtBot, tmp_path: Path, name: str, palette: theme.Colours
) -> None:
    session = replayed(tmp_path / "s.jsonl", SESSIONS[name]())  # type: ignore[operator]
    last = in_the_middle(session)
    meter.setPalette(theme.palette(palette))
    for second in range(max(0, round(last.now_ns / NS) - 66), round(last.now_ns / NS)):
        meter.show_snapshot(session.at(second * NS))
        if second % 3:
            meter.repaint()
    meter.show_snapshot(last)
    at_once = CountedMeter()
    qtbot.addWidget(at_once)
    at_once.setPalette(theme.palette(palette))
    at_once.resize(*SIZE)
    at_once.model = meter.model
    at_once.show()
    assert np.array_equal(pixels(meter), pixels(at_once))


def test_a_second_is_painted_in_parts_and_each_of_them_comes(meter: CountedMeter, qtbot: QtBot, tmp_path: Path) -> None:
    session = replayed(tmp_path / "s.jsonl", conversation(80, seed=3))
    meter.show_snapshot(session.at(70 * NS))
    pixels(meter)
    meter.show_snapshot(session.at(71 * NS))
    begun = meter.paints
    qtbot.waitUntil(lambda: meter.paints >= begun + 3)  # by its own timer


def test_where_nothing_looks_different_nothing_is_painted(meter: CountedMeter) -> None:
    meter.show_snapshot(QUIET)
    pixels(meter)
    QApplication.processEvents()
    before = meter.paints
    for _ in range(5):
        meter.show_snapshot(QUIET)
        QApplication.processEvents()
    assert meter.paints == before


def test_the_bar_under_way_grows_and_nothing_else_changes(meter: CountedMeter) -> None:
    meter.show_snapshot(QUIET)
    before = pixels(meter)
    meter.show_snapshot(replace(QUIET, now_ns=QUIET.now_ns + 300_000_000))
    different = np.argwhere((pixels(meter) != before).any(axis=2))
    box = meter.bar_box(len(meter.model.bars))
    assert len(different) > 100
    assert different[:, 1].min() >= box.left() - 8
    assert different[:, 1].max() <= box.right() + 8


def test_listen_and_speak_differ_in_shape(meter: CountedMeter) -> None:
    """In greys, a speaking second's lane is filled and a listening one's is not."""
    meter.show_snapshot(QUIET)
    lane = {"SPEAK": [], "LISTEN": []}  # type: dict[str, list[float]]
    layout = meter._laid_out()
    for index, bar in enumerate(meter.model.bars):
        if bar.event in lane:
            grey = column(meter, index, layout.events.top() + 1, layout.events.bottom() - 1)
            lane[bar.event].append(float((grey < 128).mean()))
    assert min(lane["SPEAK"]) > 0.9
    assert max(lane["LISTEN"]) < 0.3


def alarms(meter: CadenceMeter) -> NDArray[np.int64]:
    """Where the alarm's colour is: [n, (y, x)]."""
    wanted = QColor(theme.LIGHT.alarm)
    return np.argwhere((pixels(meter) == (wanted.red(), wanted.green(), wanted.blue())).all(axis=2))


def test_an_overrun_is_marked_above_the_line_and_nothing_else_is(meter: CountedMeter) -> None:
    meter.show_snapshot(replace(QUIET, units=QUIET.units))
    assert len(alarms(meter)) == 0
    meter.show_snapshot(LATE)
    found = alarms(meter)
    deadline = meter._laid_out().y(1.0)
    for index, bar in enumerate(meter.model.bars):
        box = meter.bar_box(index)
        above = found[(found[:, 0] < deadline) & (abs(found[:, 1] - box.center().x()) < 3)]
        if bar.late:
            assert len(above) > 4, bar


def test_bars_past_the_deadline_cross_its_line(meter: CountedMeter) -> None:
    meter.show_snapshot(LATE)
    layout = meter._laid_out()
    for bar in meter.model.bars:
        assert (layout.y(bar.height) < layout.y(1.0)) == (bar.height > 1.0)


def test_arrow_keys_go_from_bar_to_bar_and_end_goes_on_with_time(meter: CountedMeter) -> None:
    meter.show_snapshot(QUIET)
    meter.setFocus()
    bars = meter.model.bars
    for key, at in ((Qt.Key.Key_Left, -2), (Qt.Key.Key_Left, -3), (Qt.Key.Key_PageUp, -13), (Qt.Key.Key_Right, -12)):
        QTest.keyClick(meter, key)
        assert meter.model.told is bars[at]
    QTest.keyClick(meter, Qt.Key.Key_Home)
    assert meter.model.told is bars[0]
    QTest.keyClick(meter, Qt.Key.Key_End)
    assert meter.model.chosen is None
    assert meter.model.told is bars[-1]


def test_the_mouse_tells_the_bar_beneath_it_and_a_click_keeps_it(meter: CountedMeter, qtbot: QtBot) -> None:
    meter.show_snapshot(QUIET)
    box = meter.bar_box(20)
    middle = QPoint(round(box.center().x()), round(box.center().y()))
    qtbot.mouseMove(meter, middle)
    assert meter.model.told is meter.model.bars[20]
    qtbot.mouseClick(meter, Qt.MouseButton.LeftButton, pos=middle)
    qtbot.mouseMove(meter, QPoint(3, 3))
    assert meter.model.told is meter.model.bars[20]
    qtbot.mouseClick(meter, Qt.MouseButton.LeftButton, pos=middle)
    qtbot.mouseMove(meter, QPoint(3, 3))
    assert meter.model.told is meter.model.bars[-1]


def test_resting_on_a_bar_tells_its_stages_in_figures(meter: CountedMeter) -> None:
    meter.show_snapshot(QUIET)
    box = meter.bar_box(30)
    at = QPoint(round(box.center().x()), round(box.center().y()))
    QApplication.sendEvent(meter, QHelpEvent(QEvent.Type.ToolTip, at, meter.mapToGlobal(at)))
    said = QToolTip.text()
    for each in meter.model.bars[30].stages:
        assert each.name.replace("_", " ") in said
    assert meter.bar_at(QPointF(2, 2)) is None


def test_a_listener_is_told_of_every_late_second_however_long_that_goes_on(
    meter: CountedMeter, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    monkeypatch.setattr(QAccessible, "isActive", lambda: True)
    monkeypatch.setattr(QAccessible, "updateAccessibility", lambda event: told.append(str(event.value())))
    units = [unit(index, "LISTEN", [("hearing", 1200.0)]) for index in range(90)]
    units += [unit(index) for index in range(90, 100)]
    for count in range(1, len(units)):
        figures = measure(units[:count])
        meter.show_snapshot(Snapshot(header=header(), units=tuple(units[max(0, count - 60) : count]), figures=figures))
    assert figures.overruns == len(told) >= 90
    meter.show_snapshot(Snapshot(header=header(), units=tuple(units[:1]), figures=measure(units[:1])))
    assert len(told) == figures.overruns, "another session has fewer; that is no news"


def test_it_paints_at_any_size(meter: CountedMeter) -> None:
    for size in ((1, 1), (60, 40), (200, 900), (3000, 90)):
        meter.resize(*size)
        for snapshot in (Snapshot(), LATE):
            meter.show_snapshot(snapshot)
            pixels(meter)
    assert meter.paints > 8
