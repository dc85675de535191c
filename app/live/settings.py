"""What a user has chosen, kept in one file that a crash, a full disk or a careless edit cannot make unusable.

Knows no window and opens no device. A value that cannot be read is its default again, the file as it was stays beside
as `.bad`, and `remark` says so in a line. Keys that this version does not know stay in the file. [ui] changes settings;
any thread reads `SettingsFile.settings`, which is frozen and replaced whole.
"""

import json
import math
import os
import shutil
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

import msgspec
import platformdirs

from app.audio.state import LATENCIES_S, SoundSettings
from app.live.snapshot import Listening
from engine.errors import AskedWrongly, CadenceError, NoRoom
from engine.models import registry
from engine.part_file import PartFile
from engine.plain_file import open_plain
from engine.runtime import RUNTIMES

MAX_BYTES = 1 << 20  # no settings file of ours is longer


class Theme(StrEnum):
    """How the window looks."""

    SYSTEM = "system"  # as the desktop does
    LIGHT = "light"
    DARK = "dark"
    CONTRAST = "contrast"  # as much of it as can be had


@dataclass(frozen=True)
class Settings:
    """All of it.

    Args:
        sound: Devices, latency, echo mode and volume.
        listening: When the microphone is heard.
        talk_key: Held or pressed to talk, where `listening` is not open; keys as Qt writes them in its portable form.
        mute_key: Closes and opens the microphone.
        stop_key: Lets the agent fall silent.
        theme: How the window looks.
        announce: Whether changes are announced to a screen reader.
        record: Whether both sides are recorded.
        log_transcript: Whether the timing log holds what was said.
        model: A name of `engine.models.registry`.
        runtime: Whose stages run.
        first_start_done: Whether the user has seen what this is, and has tried the devices.
        window: The window's place and size, in its own words.
    """

    sound: SoundSettings = field(default_factory=SoundSettings)
    listening: Listening = Listening.OPEN
    talk_key: str = "Space"
    mute_key: str = "Ctrl+M"
    stop_key: str = "Esc"
    theme: Theme = Theme.SYSTEM
    announce: bool = True
    record: bool = False
    log_transcript: bool = False
    model: str = "pocket"
    runtime: str = "cadence"
    first_start_done: bool = False
    window: str = ""


def settings_path() -> Path:
    """Where each system keeps settings."""
    return platformdirs.user_config_path("duplexcadence", appauthor=False) / "settings.json"


class SettingsFile:
    """The settings as they stand, and their file.

    Args:
        path: The file; it need not exist yet.

    Attributes:
        settings: As they stand [any].
        remark: One line for the user where the file could not be read whole; empty where it could.
    """

    settings: Settings
    remark: str

    def __init__(self, path: Path) -> None:
        self.path = path
        self._unknown: dict[str, Any] = {}
        self._kept: dict[str, Any] = {}  # what the file goes on saying of fields that are lent
        self.settings, self.remark = Settings(), ""
        try:
            self._read()
        except FileNotFoundError:
            pass  # the first start
        except OSError as error:
            self.remark = f"the settings in {path} cannot be read ({error.strerror}): the defaults hold"

    def change(self, **changes: Any) -> None:
        """Replace fields of the settings, and write them.

        Args:
            changes: Field to value.

        Raises:
            NoRoom: They cannot be written; they hold all the same, until the program ends.
        """
        self.settings = replace(self.settings, **changes)
        self._kept = {name: value for name, value in self._kept.items() if name not in changes}
        self._write()

    def lend(self, **changes: Any) -> None:
        """Replace fields until the program ends, as a command's options do; the file goes on as it was."""
        self._kept = {name: getattr(self.settings, name) for name in changes} | self._kept
        self.settings = replace(self.settings, **changes)

    def _read(self) -> None:
        with open_plain(self.path) as file:
            text = file.read(MAX_BYTES + 1)
        try:
            found = json.loads(text) if len(text) <= MAX_BYTES else None
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            self._put_aside(f"the settings in {self.path.name} are damaged: the defaults hold")
            return
        known, refused = {each.name: type(getattr(Settings(), each.name)) for each in fields(Settings)}, list[str]()
        values = dict[str, Any]()
        for key, value in found.items():
            if key not in known:
                self._unknown[key] = value
                continue
            try:
                values[key] = _within_reason(key, msgspec.convert(value, known[key]))
            except (msgspec.ValidationError, AskedWrongly):
                refused.append(key)
        self.settings = Settings(**values)
        if refused:
            what = ", ".join(refused)
            self._put_aside(f"what {self.path.name} says of {what} cannot be used: the default holds")

    def _put_aside(self, why: str) -> None:
        """Keep the file as it is beside its place, so that what a user wrote is not lost to the next change."""
        kept = self.path.with_name(self.path.name + ".bad")
        with suppress(OSError):
            shutil.copyfile(self.path, kept)
        self.remark = f"{why}; the file as it was is kept as {kept.name}"

    def _write(self) -> None:
        plain = {**self._unknown, **msgspec.to_builtins(replace(self.settings, **self._kept))}
        text = json.dumps(plain, indent=2, ensure_ascii=False) + "\n"
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            part = PartFile(self.path)
            try:
                with part.path.open("wb") as file:
                    file.write(text.encode("utf-8", "replace"))
                    file.flush()
                    os.fsync(file.fileno())
                part.finish()
            finally:
                part.drop()
        except (OSError, CadenceError) as error:
            why = error.strerror if isinstance(error, OSError) else error.came
            raise NoRoom(
                f"the settings cannot be kept in {self.path} ({why})",
                "a folder with room and leave to write",
                "they hold until the program ends",
            ) from None


def _within_reason(field: str, value: Any) -> Any:
    """A value of the right type, with numbers brought to where they mean something.

    Raises:
        AskedWrongly: It names what this version has not.
    """
    if isinstance(value, SoundSettings):
        usual = SoundSettings()
        latency_s = _within(value.output_latency_s, min(LATENCIES_S), max(LATENCIES_S), usual.output_latency_s)
        return replace(value, volume=_within(value.volume, 0.0, 1.0, usual.volume), output_latency_s=latency_s)
    if field == "model":
        entry = registry.find(value)
        entry.require_runs()
        return entry.name
    if field == "runtime" and value not in RUNTIMES:
        raise AskedWrongly(f"there is no runtime named {value!r}", f"one of {', '.join(RUNTIMES)}")
    return value


def _within(number: float, least: float, most: float, usual: float) -> float:
    return min(max(number, least), most) if math.isfinite(number) else usual
