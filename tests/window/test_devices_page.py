"""Devices are chosen by name, tried, and found again; a test that cannot be had ends; what was chosen is kept."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.audio.devices import FOLLOW_DEFAULT, DeviceChoice
from app.audio.state import EchoMode
from app.live.settings import SettingsFile
from app.live.snapshot import Phase, Trial
from app.window.devices_page import DevicesPage
from tests.window import scenes
from tests.window.fake_conversation import DEVICES, SPEAKERS, WEBCAM
from tests.window.rig import Rig


@pytest.fixture
def rig(qtbot: QtBot, tmp_path: Path) -> Iterator[Rig]:
    rig = Rig(tmp_path)
    rig.window.go_to(3)
    rig.settle()
    rig.conversation.took()
    yield rig
    rig.close()


def page(rig: Rig) -> DevicesPage:
    return rig.window.devices


def choose(rig: Rig, box: str, choice: DeviceChoice) -> None:
    device_box = getattr(page(rig).panel, box)
    index = next(index for index in range(device_box.count()) if device_box.itemData(index) == choice)
    device_box.setCurrentIndex(index)
    device_box.activated.emit(index)
    rig.settle()


def test_following_the_default_says_what_that_is_now(rig: Rig) -> None:
    box = page(rig).panel.microphone
    assert box.currentData() == FOLLOW_DEFAULT
    assert "Headset microphone" in box.currentText()


def test_a_choice_is_kept_by_name_and_driver_and_the_conversation_follows(rig: Rig) -> None:
    choose(rig, "microphone", WEBCAM.choice)
    choose(rig, "speaker", SPEAKERS.choice)
    assert rig.conversation.took("apply") == [("apply",), ("apply",)]
    kept = SettingsFile(rig.file.path).settings.sound
    assert (kept.microphone.name, kept.microphone.api) == ("Webcam", "ALSA")
    assert kept.speaker.name == "Built-in speakers"


def test_a_device_that_is_gone_stays_chosen_and_is_said_to_be(rig: Rig) -> None:
    choose(rig, "microphone", WEBCAM.choice)
    rig.conversation.there = replace(DEVICES, all=tuple(each for each in DEVICES.all if each is not WEBCAM))
    page(rig).panel.list_everything(False)
    rig.settle()
    assert page(rig).panel.microphone.currentText() == "Webcam (ALSA), not connected"
    page(rig).panel.rescan_button.click()
    assert rig.conversation.took("rescan") == [("rescan",)]


def test_the_microphone_is_tried_and_given_back_when_the_page_is_left(rig: Rig) -> None:
    panel = page(rig).panel
    panel.try_button.click()
    rig.show(microphone=scenes.MICROPHONE, trial=Trial())
    assert panel._microphone_says.text() == "You are heard."
    rig.show(microphone=replace(scenes.MICROPHONE, clipped=True, peak=1.0))
    assert panel._microphone_says.text().startswith("Too loud")
    rig.window.go_to(0)
    assert rig.conversation.took("try_sound") == [("try_sound", True), ("try_sound", False)]


def test_a_test_that_cannot_be_had_ends_and_can_be_asked_for_again(rig: Rig) -> None:
    panel = page(rig).panel
    panel.play_button.click()
    rig.show(trial=Trial())
    rig.show(trial=None, message="the microphone 'Webcam' cannot be opened")
    assert not panel.try_button.isChecked()
    assert panel.try_button.text() == "Test the microphone"
    assert panel.play_button.isEnabled()
    assert rig.window.status.message.text() == "The microphone 'Webcam' cannot be opened"
    rig.conversation.took()
    panel.try_button.click()
    assert rig.conversation.took("try_sound") == [("try_sound", True)]


def test_a_conversation_that_begins_ends_the_test(rig: Rig) -> None:
    panel = page(rig).panel
    panel.try_button.click()
    rig.show(trial=Trial(), microphone=scenes.MICROPHONE)
    rig.show(phase=Phase.TALKING, trial=None)
    assert not panel.try_button.isChecked()
    assert not panel.try_button.isEnabled()
    assert not panel.play_button.isEnabled()


def test_an_echo_that_is_heard_comes_with_a_way_out(rig: Rig) -> None:
    panel = page(rig).panel
    panel.play_button.click()
    rig.show(microphone=scenes.MICROPHONE, speaker=scenes.SPEAKER, trial=Trial())
    assert ("play_test",) in rig.conversation.took()
    rig.show(trial=Trial(playing=True))
    assert not panel.play_button.isEnabled()
    rig.show(trial=Trial(heard_db=14.0))
    assert "14 decibels" in panel._echo_says.text()
    panel.use_button.click()
    rig.settle()
    assert rig.desk.settings.sound.echo is EchoMode.CANCELLER
    assert not panel.use_button.isVisible()
    rig.show(trial=Trial(heard_db=1.0))
    assert "does not hear the speaker" in panel._echo_says.text()


def test_a_test_that_tells_nothing_says_why_and_recommends_nothing(rig: Rig) -> None:
    panel = page(rig).panel
    panel.play_button.click()
    rig.show(microphone=scenes.MICROPHONE, speaker=scenes.SPEAKER, trial=Trial(heard_db=14.0))
    assert panel.use_button.isVisible()
    rig.show(trial=Trial(untold="a device was lost while the test sounded"))
    assert panel._echo_says.text() == "The test tells nothing: a device was lost while the test sounded."
    assert not panel.use_button.isVisible()


def test_a_mode_that_helps_against_an_echo_that_is_heard_is_not_talked_out_of(rig: Rig) -> None:
    panel = page(rig).panel
    panel.play_button.click()
    rig.show(echo=EchoMode.HALF_DUPLEX, trial=Trial(heard_db=14.0))
    assert "Taking turns, which is chosen, keeps it from being answered." in panel._echo_says.text()
    assert not panel.use_button.isVisible()


def test_volume_and_latency_are_heard_at_once_and_kept(rig: Rig) -> None:
    for value in range(100, 29, -10):
        page(rig).volume.setValue(value)
    assert rig.desk.settings.sound.volume == pytest.approx(0.3)
    page(rig).latency.activated.emit(0)
    rig.settle()
    kept = SettingsFile(rig.file.path).settings.sound
    assert kept.volume == pytest.approx(0.3)
    assert kept.output_latency_s == page(rig).latency.itemData(0)
    assert len(rig.conversation.took("apply")) == 8
