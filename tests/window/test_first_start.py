"""The first start says what this is, tries the sound, fetches, can be cancelled and gone on with, and then talks."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from app.live.settings import SettingsFile
from app.live.snapshot import Listening, Phase, Snapshot, Trial
from app.window.first_start import WHAT_IT_IS, FirstStart
from tests.window import scenes
from tests.window.rig import Rig


@pytest.fixture
def rig(qtbot: QtBot, tmp_path: Path) -> Iterator[Rig]:
    rig = Rig(tmp_path, first_start_done=False)
    yield rig
    rig.close()


def page(rig: Rig) -> FirstStart:
    return rig.window.first_start


def says(rig: Rig) -> str:
    return "\n".join(label.text() for label in page(rig).findChildren(QLabel) if label.isVisible())


def to_the_model(rig: Rig) -> None:
    for _ in range(2):
        page(rig).next.click()
    rig.settle()


def test_it_opens_first_and_says_what_it_is(rig: Rig) -> None:
    assert page(rig).isVisible()
    assert not rig.window.tabs.isVisible()
    assert WHAT_IT_IS in says(rig)
    assert "English only" in WHAT_IT_IS
    assert "Nothing you say leaves this computer" in WHAT_IT_IS
    assert rig.focused is page(rig).next


def test_by_keyboard_alone_from_the_first_step_to_talking(rig: Rig) -> None:
    for _ in range(3):
        rig.click(Qt.Key.Key_Space)
        rig.settle()
    assert rig.conversation.took("start") == [("start",)]
    rig.show(phase=Phase.FETCHING, progress=scenes.fetching().progress)
    assert rig.focused is page(rig).progress.cancel, "the next key must not be lost"
    rig.show(phase=Phase.LOADING)
    rig.show(**{"phase": Phase.TALKING, "progress": None})
    assert rig.window.talk.isVisible()
    assert SettingsFile(rig.file.path).settings.first_start_done


def test_the_sound_is_tried_and_given_back(rig: Rig) -> None:
    page(rig).next.click()
    page(rig).panel.try_button.click()
    page(rig).panel.play_button.click()
    opened = Snapshot(microphone=scenes.MICROPHONE, speaker=scenes.SPEAKER, trial=Trial())
    rig.show(**{name: getattr(opened, name) for name in ("microphone", "speaker", "trial")})
    assert rig.conversation.took("try_sound", "play_test") == [("try_sound", True), ("play_test",)]
    assert "You are heard." in says(rig)
    rig.show(trial=Trial(heard_db=20.0))
    assert "The microphone hears the speaker (20 decibels" in says(rig)
    page(rig).next.click()
    assert rig.conversation.took("try_sound") == [("try_sound", False)]


def test_holding_a_key_is_offered(rig: Rig) -> None:
    page(rig).next.click()
    page(rig).hold.click()
    assert rig.desk.settings.listening is Listening.HOLD
    page(rig).hold.click()
    assert rig.desk.settings.listening is Listening.OPEN


def test_what_is_fetched_is_said_with_its_size_and_licence(rig: Rig) -> None:
    to_the_model(rig)
    said = says(rig)
    assert "at most 238.9 MB to download" in said, "what is here already is not counted"
    assert "Apache-2.0" in said
    assert "research only" in said
    assert page(rig).next.text() == "Fetch and talk"


def test_fetching_shows_how_far_it_is_is_cancelled_and_gone_on_with(rig: Rig) -> None:
    to_the_model(rig)
    page(rig).next.click()
    fetching = scenes.fetching()
    rig.show(phase=fetching.phase, progress=fetching.progress)
    assert page(rig).progress.bar.value() == 42
    assert "41.2 of 98.0 MB" in says(rig)
    assert not page(rig).next.isEnabled()
    page(rig).progress.cancel.click()
    assert rig.conversation.took("start", "stop") == [("start",), ("stop",)]
    rig.show(phase=Phase.IDLE, progress=None)
    assert page(rig).isVisible()
    assert page(rig).next.isEnabled()
    assert not page(rig).progress.isVisible()
    page(rig).next.click()
    assert rig.conversation.took("start") == [("start",)]


def test_what_failed_is_said_and_tried_again(rig: Rig) -> None:
    to_the_model(rig)
    page(rig).next.click()
    rig.conversation.now = replace(scenes.failed(), message="the network is not there")
    rig.settle()
    assert "The network is not there" in says(rig)
    assert page(rig).next.text() == "Try again"


def test_all_of_it_can_be_skipped_and_seen_again(rig: Rig) -> None:
    page(rig).skip.click()
    assert rig.window.talk.isVisible()
    rig.window.go_to(3)
    rig.window.settings.again.click()
    assert page(rig).isVisible()
    assert page(rig).step == 0
