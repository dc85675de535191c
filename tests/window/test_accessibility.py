"""Every page can be used unseen and without a mouse: roles, names, values, and a Tab key that gets anywhere."""

import gc
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QAccessible
from PySide6.QtWidgets import QAbstractButton, QApplication, QWidget
from pytestqt.qtbot import QtBot

from app.live.snapshot import Listening, Snapshot, Trial
from app.window import cadence_words as words
from app.window import main_window
from app.window.figures import NOTHING
from tests.window import scenes
from tests.window.rig import Rig, heard, name_of, write_run, write_sessions

ROLE = QAccessible.Role
WITH_VALUE = {ROLE.ComboBox, ROLE.Slider, ROLE.ProgressBar, ROLE.Indicator, ROLE.Chart}
NAMED = {*WITH_VALUE, ROLE.Button, ROLE.CheckBox, ROLE.StaticText, ROLE.EditableText}
PAGES = (
    "talk",
    "sessions",
    "compare",
    "devices",
    "settings",
    "first start 1",
    "first start 2",
    "first start 3",
    "a past session",
    "a comparison",
)

ROW = 14  # pixels: controls whose middles are nearer than that are in one row


@pytest.fixture
def rig(qtbot: QtBot, tmp_path: Path) -> Iterator[Rig]:
    write_sessions(tmp_path / "sessions")
    write_run(tmp_path / "comparisons" / "2026-12-07 12-00-00.000000")
    rig = Rig(tmp_path, listening=Listening.HOLD)
    yield rig
    rig.close()


def go(rig: Rig, page: str, snapshot: Snapshot) -> None:
    rig.conversation.now = snapshot
    if page.startswith("first start"):
        rig.window.show_first_start()
        rig.window.first_start.go_to(int(page[-1]) - 1)
    elif page == "a past session":
        rig.window.go_to(PAGES.index("sessions"))
        rig.settle()
        rig.window.sessions.open.click()
        rig.settle()
        rig.window.sessions.replay.pause()
        rig.window.sessions.replay.seek.setValue(40)
    elif page == "a comparison":
        rig.window.go_to(PAGES.index("compare"))
        rig.settle()
        choice = rig.window.compare.choice
        choice.asked.emit(list(choice.all_groups()[0].candidates))
    else:
        rig.window.go_to(PAGES.index(page))
    rig.settle()


def walked(rig: Rig, backward: bool = False) -> list[QWidget]:
    """What the Tab key reaches, from the first control on until it comes round again."""
    found: list[QWidget] = []
    for _ in range(80):
        rig.click(Qt.Key.Key_Backtab if backward else Qt.Key.Key_Tab)
        focused = rig.focused
        if focused in found:
            return found
        found.append(focused)
    raise AssertionError(f"Tab never comes round: {[name_of(widget) for widget in found]}")


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("snapshot", [Snapshot(), scenes.talking(), scenes.fetching(), scenes.failed()])
def test_whatever_takes_the_focus_has_a_role_a_name_and_a_value(rig: Rig, page: str, snapshot: Snapshot) -> None:
    go(rig, page, snapshot)
    for each in heard(rig.window):
        assert each.role is not ROLE.NoRole, each
        part = each.part_of in (ROLE.Tree, ROLE.List, ROLE.Table, ROLE.ComboBox)
        if (each.focusable or each.role in NAMED) and not part:
            assert each.name or (each.role is ROLE.StaticText and not each.text), each
        if each.role in WITH_VALUE:
            assert each.value, each
        if each.role is ROLE.StaticText:
            seen = each.text.replace("&", "")
            assert seen in each.name or (seen == NOTHING and "not known yet" in each.name), "what is seen is heard"


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("snapshot", [Snapshot(), scenes.talking()])
def test_the_tab_key_reaches_every_control_once_and_goes_round_both_ways(
    rig: Rig, page: str, snapshot: Snapshot
) -> None:
    go(rig, page, snapshot)
    forward = walked(rig)
    reached = set(forward) | {widget.focusProxy() for widget in forward if widget.focusProxy()}
    wanted = {
        widget
        for widget in rig.window.findChildren(QWidget)
        if widget.isVisible()
        and widget.isEnabled()
        and widget.focusPolicy() & Qt.FocusPolicy.TabFocus
        and widget.focusProxy() is None
        and not widget.objectName().startswith("Scroll")
    }
    assert wanted - reached == set(), [name_of(widget) for widget in wanted - reached]
    backward = walked(rig, backward=True)
    assert set(backward) == set(forward)


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("snapshot", [Snapshot(), scenes.talking()])
def test_the_tab_key_goes_down_each_column_as_one_reads(rig: Rig, page: str, snapshot: Snapshot) -> None:
    """Within the controls of one container, the next is below or to the right of the one before."""
    go(rig, page, snapshot)
    order = walked(rig)
    top = min(place(rig, widget).y() for widget in order)
    first = min((w for w in order if place(rig, w).y() < top + ROW), key=lambda widget: place(rig, widget).x())
    order = order[order.index(first) :] + order[: order.index(first)]
    for before, after in pairwise(order):
        if before.parentWidget() is after.parentWidget():
            down = place(rig, after) - place(rig, before)
            assert down.y() >= ROW or (abs(down.y()) < ROW and down.x() > 0), (name_of(before), name_of(after))


def place(rig: Rig, widget: QWidget) -> QPoint:
    """The middle of a control."""
    return widget.mapTo(rig.window, widget.rect().center())


def value_of(widget: QWidget) -> str:
    return QAccessible.queryAccessibleInterface(widget).text(QAccessible.Text.Value)


@pytest.mark.parametrize("page", PAGES)
def test_whatever_has_the_focus_looks_so(rig: Rig, page: str) -> None:
    go(rig, page, Snapshot())
    for widget in walked(rig):
        widget.setFocus(Qt.FocusReason.TabFocusReason)
        focused = widget.grab().toImage()
        widget.clearFocus()
        assert widget.grab().toImage() != focused, name_of(widget)


@pytest.mark.parametrize("page", ["talk", "a past session"])
def test_the_painted_meter_is_a_chart_of_bars_that_a_screen_reader_walks(rig: Rig, page: str) -> None:
    go(rig, page, scenes.talking(overruns=True))
    found = [each for each in heard(rig.window) if each.role is ROLE.Chart]
    assert [each.name for each in found] == ["Cadence meter"]
    meter = (rig.window.talk if page == "talk" else rig.window.sessions.replay).cadence.meter
    assert "overrun" in found[0].value
    assert "response delay median" in found[0].value
    bars = [each for each in heard(rig.window) if each.part_of is ROLE.Chart]
    assert len(bars) == len(meter.model.bars) >= 40
    for bar, shown in zip(bars, meter.model.bars, strict=True):
        assert bar.role is ROLE.ListItem
        assert bar.name.startswith(f"Unit {shown.first}, ")
        assert ("late" in bar.name) == bool(shown.overruns)
        assert bar.value == words.in_figures(shown)
        assert bar.focusable


def test_arrow_keys_bring_a_screen_reader_to_the_bar_that_is_told(rig: Rig) -> None:
    go(rig, "talk", scenes.talking())
    meter = rig.window.talk.cadence.meter
    meter.setFocus()
    interface = QAccessible.queryAccessibleInterface(meter)
    assert interface.focusChild() is None
    rig.click(Qt.Key.Key_Left)
    rig.click(Qt.Key.Key_Left)
    bar = interface.focusChild()
    assert bar.text(QAccessible.Text.Name) == words.headline(meter.model.bars[-3])
    assert bar.state().focused
    assert interface.indexOfChild(bar) == len(meter.model.bars) - 3
    assert bar.parent().text(QAccessible.Text.Name) == "Cadence meter"
    middle = bar.rect().center()
    assert interface.childAt(middle.x(), middle.y()).text(QAccessible.Text.Name) == bar.text(QAccessible.Text.Name)
    assert words.in_figures(meter.model.bars[-3]) in interface.text(QAccessible.Text.Description)
    rig.click(Qt.Key.Key_End)
    assert interface.focusChild() is None


def test_a_bar_that_is_gone_is_no_longer_valid_and_an_interface_outlives_none(rig: Rig) -> None:
    go(rig, "talk", scenes.talking())
    interface = QAccessible.queryAccessibleInterface(rig.window.talk.cadence.meter)
    bar = interface.child(50)
    assert bar.isValid()
    rig.show(units=(), figures=None, header=None, running=None)
    gc.collect()
    assert not bar.isValid()
    assert bar.text(QAccessible.Text.Name) == ""
    assert interface.childCount() == 0
    assert interface.child(0) is None


def test_figures_and_memory_are_told_with_what_they_are(rig: Rig) -> None:
    go(rig, "talk", scenes.talking(overruns=True))
    names = {each.name for each in heard(rig.window.talk.cadence)}
    assert any(name.startswith("Slack, median: ") for name in names)
    assert any(name.startswith("Response delay, 99%: ") for name in names)
    assert any(name.startswith("Overruns: 3 of ") for name in names)
    assert "Graph hits: none on a CPU" in names
    assert "MiB of 64 MiB reserved" in value_of(rig.window.talk.cadence.memory)


def test_a_mouse_click_leaves_the_focus_where_it_was(rig: Rig, qtbot: QtBot) -> None:
    go(rig, "talk", scenes.talking())
    rig.window.talk.cadence.meter.setFocus()
    for button in rig.window.talk.controls.findChildren(QAbstractButton):
        if button.isVisible() and button is not rig.window.talk.controls.talk:
            qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
            assert QApplication.focusWidget() is rig.window.talk.cadence.meter


def test_begun_by_key_the_focus_leaves_the_button_that_would_end_it(rig: Rig) -> None:
    rig.window.talk.controls.talk.setFocus()
    rig.click(Qt.Key.Key_Space)
    assert rig.conversation.took("start")
    assert rig.focused is rig.window.talk.cadence.meter


def test_a_notice_and_a_step_wait_until_the_agent_is_silent(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(main_window, "announce", lambda _, announcement: said.append(announcement.text))
    rig.conversation.now = scenes.talking(sounding=True)
    rig.settle()
    rig.desk.say("Exported to a.csv.")
    rig.window.first_start.go_to(1)
    rig.settle()
    assert said == []
    rig.show(sounding=False)
    assert "Exported to a.csv." in said
    assert "Step 2 of 3: Your microphone and speaker." in said
    assert len(said) == len(set(said))


def test_levels_are_told_in_words_and_clipping_is_not_colour_alone(rig: Rig) -> None:
    go(rig, "talk", scenes.talking())
    assert "decibels" in value_of(rig.window.talk.heard)
    rig.show(microphone=replace(scenes.MICROPHONE, clipped=True, peak=1.0))
    assert "too loud" in value_of(rig.window.talk.heard)
    rig.show(microphone=replace(scenes.MICROPHONE, lost=True))
    assert "lost" in value_of(rig.window.talk.heard)


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("size", [(900, 600), (720, 480)])
def test_nothing_is_cut_off_in_a_small_window(rig: Rig, page: str, size: tuple[int, int]) -> None:
    trial = Snapshot(microphone=scenes.MICROPHONE, speaker=scenes.SPEAKER, trial=Trial(False, 12.0))
    go(rig, page, scenes.talking() if page == "talk" else trial)
    rig.window.resize(*size)
    rig.settle()
    assert (rig.window.width(), rig.window.height()) == size
    for widget in rig.window.findChildren(QAbstractButton):
        if widget.isVisible():
            assert widget.width() >= widget.minimumSizeHint().width(), name_of(widget)
            left = widget.mapTo(rig.window, widget.rect().topLeft()).x()
            assert 0 <= left <= size[0] - widget.width(), name_of(widget)
