"""Settings come back as they were kept, and whatever is in the file, the program starts and says what it let go."""

import json
import os
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from app.audio.devices import DeviceChoice
from app.audio.state import LATENCIES_S, EchoMode, SoundSettings
from app.live.settings import Settings, SettingsFile, Theme
from app.live.snapshot import Listening
from engine.errors import NoRoom
from engine.models import registry
from engine.runtime import RUNTIMES

text = some.text(some.characters(exclude_categories=("Cs",)), max_size=20)
choices = some.builds(DeviceChoice, name=text, api=text)
sounds = some.builds(
    SoundSettings,
    microphone=choices,
    speaker=choices,
    output_latency_s=some.sampled_from(LATENCIES_S),
    echo=some.sampled_from(EchoMode),
    volume=some.floats(0, 1),
)
all_settings = some.builds(
    Settings,
    sound=sounds,
    listening=some.sampled_from(Listening),
    talk_key=text,
    theme=some.sampled_from(Theme),
    record=some.booleans(),
    model=some.sampled_from([entry.name for entry in registry.entries() if entry.runs]),
    runtime=some.sampled_from(RUNTIMES),
)
json_values = some.recursive(
    some.none() | some.booleans() | some.integers() | some.floats() | text,
    lambda inner: some.lists(inner, max_size=3) | some.dictionaries(text, inner, max_size=3),
    max_leaves=8,
)


def kept(path: Path, value: object) -> SettingsFile:
    path.write_text(json.dumps(value))
    return SettingsFile(path)


def as_changes(value: Settings) -> dict[str, Any]:
    return {field.name: getattr(value, field.name) for field in fields(Settings)}


@given(all_settings)
@settings(max_examples=40, deadline=None)
def test_what_was_kept_comes_back(tmp_path_factory: pytest.TempPathFactory, wanted: Settings) -> None:
    path = tmp_path_factory.mktemp("s") / "deep" / "settings.json"
    SettingsFile(path).change(**as_changes(wanted))
    again = SettingsFile(path)
    assert again.settings == wanted
    assert again.remark == ""
    assert os.listdir(path.parent) == ["settings.json"]


def is_no_object(found: bytes) -> bool:
    try:
        return not isinstance(json.loads(found), dict)
    except ValueError:
        return True


@given(some.binary(max_size=200).filter(is_no_object))
@settings(max_examples=40, deadline=None)
def test_any_bytes_are_survived(tmp_path_factory: pytest.TempPathFactory, found: bytes) -> None:
    path = tmp_path_factory.mktemp("s") / "settings.json"
    path.write_bytes(found)
    file = SettingsFile(path)
    assert file.settings == Settings()
    assert path.with_name("settings.json.bad").read_bytes() == found
    assert "\n" not in file.remark
    assert "settings.json.bad" in file.remark
    file.change(record=True)
    assert SettingsFile(path).settings == Settings(record=True)
    assert path.with_name("settings.json.bad").read_bytes() == found


@given(some.dictionaries(some.sampled_from([field.name for field in fields(Settings)]) | text, json_values, max_size=6))
@settings(max_examples=80, deadline=None)
def test_one_odd_value_costs_that_value(tmp_path_factory: pytest.TempPathFactory, found: dict[str, object]) -> None:
    path = tmp_path_factory.mktemp("s") / "settings.json"
    file = kept(path, {**found, "announce": False})
    assert not file.settings.announce
    file.change(first_start_done=True)
    again = SettingsFile(path)
    assert again.settings == file.settings
    assert again.remark == ""  # what was wrong is not written again


def test_a_wrong_value_is_its_default_and_is_named(tmp_path: Path) -> None:
    file = kept(tmp_path / "settings.json", {"theme": "mauve", "record": True, "listening": "hold"})
    assert file.settings == Settings(record=True, listening=Listening.HOLD)
    assert "theme" in file.remark
    assert "record" not in file.remark


@pytest.mark.parametrize("model", ["nope", "moshi", "", "pocket\n"])
def test_a_model_that_this_version_cannot_run_costs_that_choice_and_is_named(tmp_path: Path, model: str) -> None:
    file = kept(tmp_path / "settings.json", {"model": model, "first_start_done": True})
    assert file.settings == Settings(first_start_done=True)
    assert "model" in file.remark
    assert json.loads((tmp_path / "settings.json.bad").read_text())["model"] == model


def test_a_runtime_that_there_is_not_costs_that_choice(tmp_path: Path) -> None:
    file = kept(tmp_path / "settings.json", {"runtime": "magic", "record": True})
    assert file.settings == Settings(record=True)
    assert "runtime" in file.remark


@pytest.mark.skipif(sys.platform == "win32", reason="no such files there")
def test_a_pipe_in_the_files_place_keeps_nobody_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "settings.json")
    file = SettingsFile(tmp_path / "settings.json")
    assert file.settings == Settings()
    assert "it is no plain file" in file.remark
    with pytest.raises(NoRoom):
        file.change(record=True)


def test_numbers_are_brought_to_where_they_mean_something(tmp_path: Path) -> None:
    sound = kept(tmp_path / "settings.json", {"sound": {"volume": 7.0, "output_latency_s": 0.0}}).settings.sound
    assert (sound.volume, sound.output_latency_s) == (1.0, min(LATENCIES_S))
    odd = kept(tmp_path / "settings.json", {"sound": {"volume": float("nan"), "output_latency_s": float("inf")}})
    assert odd.settings.sound == SoundSettings()


def test_a_newer_versions_keys_stay(tmp_path: Path) -> None:
    file = kept(tmp_path / "settings.json", {"hologram": {"on": True}})
    assert file.remark == ""
    file.change(theme=Theme.DARK)
    found = json.loads(file.path.read_text())
    assert found["hologram"] == {"on": True}
    assert found["theme"] == "dark"


def test_what_is_lent_holds_until_the_program_ends_unless_the_user_chooses_it(tmp_path: Path) -> None:
    file = SettingsFile(tmp_path / "settings.json")
    file.lend(runtime="stock", record=True)
    assert (file.settings.runtime, file.settings.record) == ("stock", True)
    file.change(theme=Theme.DARK)
    assert SettingsFile(file.path).settings == Settings(theme=Theme.DARK)
    file.change(record=True)
    assert SettingsFile(file.path).settings == Settings(theme=Theme.DARK, record=True)
    assert file.settings.runtime == "stock"


def test_the_first_start_has_no_file_and_nothing_to_say(tmp_path: Path) -> None:
    file = SettingsFile(tmp_path / "settings.json")
    assert (file.settings, file.remark) == (Settings(), "")


def test_settings_that_cannot_be_written_hold_and_are_said(tmp_path: Path) -> None:
    (tmp_path / "config").write_text("a file in the folder's place")
    file = SettingsFile(tmp_path / "config" / "settings.json")
    with pytest.raises(NoRoom, match="until the program ends"):
        file.change(record=True)
    assert file.settings.record


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="root and Windows read every file")
def test_a_file_that_may_not_be_read_is_said(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text("{}")
    path.chmod(0)
    assert "cannot be read" in SettingsFile(path).remark
