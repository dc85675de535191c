"""The talk, mute and stop keys act from anywhere, except where the control that has the focus uses them itself."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QApplication, QLineEdit
from pytestqt.qtbot import QtBot

from app.live.snapshot import Listening, Phase
from tests.window import scenes
from tests.window.rig import Rig

SPACE, ESCAPE, M = Qt.Key.Key_Space, Qt.Key.Key_Escape, Qt.Key.Key_M
CTRL = Qt.KeyboardModifier.ControlModifier


@pytest.fixture
def rig(qtbot: QtBot, tmp_path: Path) -> Iterator[Rig]:
    rig = Rig(tmp_path, listening=Listening.HOLD)
    rig.conversation.now = scenes.talking()
    rig.settle()
    rig.window.talk.cadence.meter.setFocus()
    rig.conversation.took()
    yield rig
    rig.close()


def test_the_talk_key_is_held_and_let_go(rig: Rig) -> None:
    rig.press(SPACE)
    assert rig.conversation.took() == [("hold", True)]
    rig.release(SPACE)
    assert rig.conversation.took() == [("hold", False)]


def test_a_key_that_repeats_is_one_that_is_held(rig: Rig) -> None:
    from PySide6.QtGui import QKeyEvent

    rig.press(SPACE)
    for kind in (QEvent.Type.KeyRelease, QEvent.Type.KeyPress) * 3:
        QApplication.sendEvent(rig.focused, QKeyEvent(kind, SPACE, Qt.KeyboardModifier.NoModifier, " ", True))
    assert rig.conversation.took() == [("hold", True)]


def test_the_microphone_closes_where_the_keys_release_is_not_seen(rig: Rig) -> None:
    rig.press(SPACE)
    QApplication.sendEvent(rig.window, QEvent(QEvent.Type.WindowDeactivate))
    assert rig.conversation.took() == [("hold", True), ("hold", False)]


def test_the_key_is_let_go_though_the_focus_has_moved_to_what_uses_it(rig: Rig) -> None:
    rig.press(SPACE)
    rig.window.talk.controls.mute.setFocus()
    rig.release(SPACE)
    assert rig.conversation.took() == [("hold", True), ("hold", False)]


def test_the_talk_key_does_nothing_where_it_is_always_listening(rig: Rig) -> None:
    rig.desk.change(listening=Listening.OPEN)
    rig.conversation.took()
    rig.click(SPACE)
    assert rig.conversation.took() == []


def test_escape_lets_the_agent_fall_silent(rig: Rig) -> None:
    rig.click(ESCAPE)
    assert rig.conversation.took() == [("stop_speaking",)]


def test_mute_is_undone_by_the_same_key(rig: Rig) -> None:
    rig.click(M, CTRL)
    assert rig.conversation.took() == [("mute", True)]
    rig.show(muted=True)
    rig.click(M, CTRL)
    assert rig.conversation.took() == [("mute", False)]


def test_the_keys_act_from_the_transcript_and_from_other_pages(rig: Rig) -> None:
    rig.window.talk.transcript.text.setFocus()
    rig.click(SPACE)
    rig.click(ESCAPE)
    assert rig.conversation.took() == [("hold", True), ("hold", False), ("stop_speaking",)]
    rig.window.go_to(3)
    rig.window.tabs.setFocus()
    rig.click(SPACE)
    rig.click(ESCAPE)
    rig.click(M, CTRL)
    assert rig.conversation.took() == [("hold", True), ("hold", False), ("stop_speaking",), ("mute", True)]


def test_a_button_keeps_its_space(rig: Rig) -> None:
    rig.window.talk.controls.mute.setFocus()
    rig.click(SPACE)
    assert rig.conversation.took() == [("mute", True)]
    rig.window.talk.controls.restart.setFocus()
    rig.click(SPACE)
    assert rig.conversation.took() == [("restart",)]


def test_the_hold_button_is_held_by_space_and_let_go_when_the_focus_leaves(rig: Rig) -> None:
    rig.window.talk.controls.hold.setFocus()
    rig.press(SPACE)
    assert rig.conversation.took() == [("hold", True)]
    rig.window.talk.controls.mute.setFocus()
    assert rig.conversation.took() == [("hold", False)]


def test_a_text_field_keeps_its_space_and_its_letters(rig: Rig) -> None:
    field = QLineEdit(rig.window)
    field.show()
    field.setFocus()
    rig.desk.change(mute_key="M")
    rig.conversation.took()
    rig.click(SPACE)
    rig.click(M)
    assert field.text() == " m"
    assert rig.conversation.took() == []


def test_a_list_and_a_choice_keep_their_keys(rig: Rig) -> None:
    rig.window.talk.listening.setFocus()
    rig.click(SPACE)
    assert rig.window.talk.listening.view().isVisible()
    rig.window.talk.listening.hidePopup()
    assert rig.conversation.took() == []


@pytest.mark.parametrize("phase", [Phase.IDLE, Phase.FETCHING, Phase.LOADING, Phase.FAILED])
def test_without_a_conversation_only_mute_acts(rig: Rig, phase: Phase) -> None:
    rig.show(phase=phase)
    rig.click(SPACE)
    rig.click(ESCAPE)
    assert rig.conversation.took() == []
    rig.click(M, CTRL)
    assert rig.conversation.took() == [("mute", True)]


def test_keys_are_rebound_in_settings(rig: Rig) -> None:
    rig.window.go_to(4)
    edit = rig.window.settings.keys["stop_key"]
    edit.setKeySequence(QKeySequence("F9"))
    edit.editingFinished.emit()
    assert rig.file.settings.stop_key == "F9"
    rig.window.go_to(0)
    rig.window.talk.cadence.meter.setFocus()
    rig.conversation.took()
    rig.click(ESCAPE)
    assert rig.conversation.took() == []
    rig.click(Qt.Key.Key_F9)
    assert rig.conversation.took() == [("stop_speaking",)]
    assert "F9" in rig.window.talk.controls.stop_speaking.text()


@pytest.mark.parametrize("taken", ["Ctrl+M", "Tab", "Return", "Left", "Ctrl+1"])
def test_a_key_that_is_taken_is_refused_and_the_old_one_stays(rig: Rig, taken: str) -> None:
    rig.window.go_to(4)
    edit = rig.window.settings.keys["stop_key"]
    edit.setKeySequence(QKeySequence(taken))
    edit.editingFinished.emit()
    assert rig.file.settings.stop_key == "Esc"
    assert edit.keySequence() == QKeySequence("Esc")
    assert rig.window.settings.key_says.isVisible()
    rig.window.settings.usual_keys.click()
    assert not rig.window.settings.key_says.isVisible()
