"""A whole window over a conversation that stands as a test says, with settings and sessions in a folder of its own."""

import hashlib
import shutil
import wave
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from msgspec import structs
from PySide6.QtCore import QCoreApplication, QEvent, Qt
from PySide6.QtGui import QAccessible, QAccessibleInterface
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QWidget

from app.demo.files import CONVERSATION, log_path, reply_path
from app.live.sessions import LOG, RECORDING, Sessions
from app.live.settings import SettingsFile
from app.window.desk import Desk, LiveConversation
from app.window.first_start import WeightLine
from app.window.main import dress, make_application
from app.window.main_window import MainWindow
from engine.timing import UnitRecord
from tests.made_up_sessions import conversation, header, write
from tests.window.fake_conversation import FakeConversation

WEIGHTS = (
    WeightLine("hearing: Whisper tiny.en, 37.8 million parameters, float16", "MIT", 77_668_285, False),
    WeightLine("voice activity: Silero VAD at 16 kHz, float32", "MIT", 11_317_527, True),
    WeightLine("words: SmolLM2-135M, 4 bits", "Apache-2.0", 98_000_000, False),
    WeightLine(
        "voice, a stop-gap: Piper en_US joe medium, 15.7 million parameters, 22.05 kHz",
        "CC0-1.0 by its model card",
        63_200_000,
        False,
        "fine-tuned from the voice 'lessac', whose recordings are licensed for research only: for your own use",
    ),
)


class Rig:
    """The window and what it stands on.

    Args:
        folder: For settings and sessions.
        file: The settings as they are found; else the first start is done.
        live: A real conversation, in place of one that stands as a test says.
        settings: Of the user's, before the window opens.
    """

    def __init__(
        self,
        folder: Path,
        *,
        file: SettingsFile | None = None,
        live: LiveConversation | None = None,
        **settings: Any,
    ) -> None:
        self.application = make_application()
        self.conversation = FakeConversation()
        self.file = file or SettingsFile(folder / "settings.json")
        if file is None:
            self.file.change(**{"first_start_done": True, **settings})
        self.sessions_folder = folder / "sessions"
        self.desk = Desk(live or self.conversation, self.file, Sessions(self.sessions_folder))
        self.window = MainWindow(self.desk, look=lambda _: WEIGHTS)
        dress(self.application, self.window, self.desk)
        self.window.show()
        self.window.activateWindow()
        self.settle()

    def settle(self) -> None:
        """Poll, and let queued work and layouts come to rest."""
        for _ in range(6):
            self.window.poll()
            self.desk.background.wait()
            QCoreApplication.processEvents()
            QCoreApplication.sendPostedEvents(None, QEvent.Type.LayoutRequest)

    def show(self, **changes: Any) -> None:
        """Let the conversation stand otherwise, and the window see it."""
        self.conversation.show(**changes)
        self.settle()

    def press(self, key: Qt.Key, modifiers: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
        """A key goes down, on whatever has the focus."""
        QTest.keyPress(self.focused, key, modifiers)

    def release(self, key: Qt.Key, modifiers: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
        """A key comes up."""
        QTest.keyRelease(self.focused, key, modifiers)

    def click(self, key: Qt.Key, modifiers: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
        """Both."""
        self.press(key, modifiers)
        self.release(key, modifiers)

    @property
    def focused(self) -> QWidget:
        return QApplication.focusWidget() or self.window

    def close(self) -> None:
        """The window goes, and its thread."""
        self.window.close()
        self.desk.background.close()
        self.window.deleteLater()
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


def write_sessions(folder: Path) -> None:
    """Three of the past: one recorded, one late."""
    for day, seconds, overruns, recorded in ((1, 312, False, True), (2, 74, True, False), (3, 1290, False, False)):
        of_one = folder / f"2026-12-0{day} 1{day}-04-31.123"
        of_one.mkdir(parents=True)
        began = f"2026-12-0{day}T1{day}:04:31+00:00"
        head = msgspec.structs.replace(header(runtime="stock" if overruns else "cadence"), wall_clock=began)
        write(of_one / LOG, conversation(seconds, seed=day, overruns=overruns), head)
        if recorded:
            (of_one / RECORDING).write_bytes(b"")


def write_run(folder: Path) -> None:
    """A run of the comparison: stock late, the other two in time and equal to the bit, with what was heard of each."""
    folder.mkdir(parents=True)
    asked = write_tone(folder / CONVERSATION, 13.0)
    for runtime, speed in (("stock", 2.1), ("library", 1.0), ("cadence", 0.94)):
        records = conversation(21, seed=4, overruns=runtime == "stock", speed=speed)
        said = "other words" if runtime == "stock" else "the same words"
        voiced = [
            structs.replace(each, voice_sha256=hashlib.sha256(f"{said} {each.index}".encode()).hexdigest())
            if isinstance(each, UnitRecord) and each.event != "LISTEN"
            else each
            for each in records
        ]
        write(log_path(folder, runtime, 1), voiced, header(runtime=runtime))
        shutil.copyfile(asked, reply_path(folder, runtime))


def write_tone(path: Path, seconds: float) -> Path:
    """A sound that lasts so long."""
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(24_000)
        file.writeframes(b"\0\1" * round(24_000 * seconds))
    return path


@dataclass(frozen=True)
class Heard:
    """What a screen reader is told of one thing; plain values, for Qt ends interfaces with their widgets."""

    role: QAccessible.Role
    name: str
    value: str
    focusable: bool
    part_of: QAccessible.Role | None
    widget: str
    text: str


def heard(of: QWidget) -> list[Heard]:
    """Everything that a screen reader finds in a widget, in its order; what is not seen is left out."""
    found: list[Heard] = []

    def walk(interface: QAccessibleInterface, parent: QAccessible.Role | None) -> None:
        state, thing = interface.state(), interface.object()
        if state.invisible:
            return
        name, value = (interface.text(kind) for kind in (QAccessible.Text.Name, QAccessible.Text.Value))
        text = thing.text() if isinstance(thing, QLabel) else ""
        widget = "" if thing is None else f"{type(thing).__name__} {thing.objectName()}"
        found.append(Heard(interface.role(), name.strip(), value, bool(state.focusable), parent, widget, text))
        for index in range(interface.childCount()):
            child = interface.child(index)
            if child is not None:
                walk(child, interface.role())

    walk(QAccessible.queryAccessibleInterface(of), None)
    return found


def name_of(widget: QWidget) -> str:
    """As a screen reader calls it."""
    return QAccessible.queryAccessibleInterface(widget).text(QAccessible.Text.Name)
