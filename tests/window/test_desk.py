"""Settings hold at once, are written in the background, and survive a file that is damaged or cannot be written."""

from collections.abc import Iterator
from pathlib import Path
from threading import get_ident

import pytest
from pytestqt.qtbot import QtBot

from app.live.settings import SettingsFile, Theme
from tests.window.rig import Rig


@pytest.fixture
def rig(qtbot: QtBot, tmp_path: Path) -> Iterator[Rig]:
    rig = Rig(tmp_path)
    yield rig
    rig.close()


def test_a_change_holds_before_it_is_written_and_the_ui_thread_writes_nothing(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    writers: list[int] = []
    write = SettingsFile._write

    def noted(file: SettingsFile) -> None:
        writers.append(get_ident())
        write(file)

    monkeypatch.setattr(SettingsFile, "_write", noted)
    rig.desk.change(theme=Theme.DARK)
    assert rig.file.settings.theme is Theme.DARK
    for volume in range(20):
        rig.desk.keep(window=f"place {volume}")
    rig.settle()
    assert writers
    assert get_ident() not in writers
    kept = SettingsFile(rig.file.path).settings
    assert (kept.theme, kept.window) == (Theme.DARK, "place 19")


def test_what_a_command_has_lent_is_not_kept(rig: Rig) -> None:
    rig.file.lend(record=True)
    rig.desk.change(theme=Theme.LIGHT)
    rig.settle()
    assert rig.file.settings.record
    assert not SettingsFile(rig.file.path).settings.record


def test_where_they_cannot_be_written_they_hold_and_that_is_said(rig: Rig) -> None:
    rig.file.path.unlink()
    rig.file.path.mkdir()
    rig.desk.change(theme=Theme.DARK)
    rig.settle()
    assert rig.desk.settings.theme is Theme.DARK
    assert "cannot be kept" in rig.window.status.notice.text()
    assert rig.window.status.notice.isVisible()
    rig.window.status.dismiss.click()
    assert not rig.window.status.notice.isVisible()


def test_the_last_change_is_on_the_disk_though_the_window_closes_at_once(rig: Rig) -> None:
    rig.desk.change(theme=Theme.DARK)
    rig.window.close()
    rig.desk.background.close()
    rig.desk.background._pool.shutdown(wait=True)  # as the program's end does
    kept = SettingsFile(rig.file.path).settings
    assert kept.theme is Theme.DARK
    assert kept.window


DAMAGED = {
    "cut": "{",
    "another thing": "[]",
    "a model that is not there": '{"first_start_done": true, "model": "nope"}',
    "odd values": '{"theme": "purple", "window": "!!!", "talk_key": 3}',
    "zeros": "\0" * 40,
}


@pytest.mark.parametrize("text", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_file_costs_the_settings_and_not_the_window(qtbot: QtBot, tmp_path: Path, text: str) -> None:
    (tmp_path / "settings.json").write_text(text)
    rig = Rig.__new__(Rig)
    rig = Rig(tmp_path, file=SettingsFile(tmp_path / "settings.json"))
    assert rig.window.isVisible()
    assert "settings.json" in rig.window.status.notice.text()
    assert rig.desk.settings.theme is Theme.SYSTEM
    assert (tmp_path / "settings.json.bad").read_text() == text
    rig.close()
