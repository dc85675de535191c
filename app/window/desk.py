"""What every page works with: the conversation, the settings, past sessions, slow work, and one line for the user.

Pages change settings here alone, so that each change is written, applied and told to the others. [ui]
"""

from collections import deque
from typing import Any, Protocol

from PySide6.QtCore import QObject, Signal, SignalInstance

from app.live.sessions import Sessions
from app.live.settings import Settings, SettingsFile
from app.live.snapshot import Conversation, DeviceTrials
from app.window.background import Background
from engine.errors import CadenceError


class LiveConversation(Conversation, DeviceTrials, Protocol):
    """A conversation whose devices can be tried before it begins."""


class Desk(QObject):
    """All that pages share.

    Args:
        conversation: What is watched and commanded.
        settings: The user's choices and their file.
        sessions: The sessions that there were.
    """

    changed: SignalInstance = Signal()  # type: ignore[assignment]  # the settings are others now
    notice: SignalInstance = Signal(str)  # type: ignore[assignment]  # one line for the user

    def __init__(self, conversation: LiveConversation, settings: SettingsFile, sessions: Sessions) -> None:
        super().__init__()
        self.conversation, self.sessions = conversation, sessions
        self._file, self._on_disk = settings, SettingsFile(settings.path)
        self._unwritten: deque[dict[str, Any]] = deque()  # changes that are not on the disk yet
        self.background = Background()

    @property
    def settings(self) -> Settings:
        """As they stand."""
        return self._file.settings

    @property
    def remark(self) -> str:
        """What the user must know of the settings' file."""
        return self._file.remark

    def change(self, **changes: Any) -> None:
        """Change settings, and let the conversation follow; they are written in the background."""
        if all(getattr(self.settings, name) == value for name, value in changes.items()):
            return
        self.keep(**changes)
        self.conversation.apply()
        self.changed.emit()

    def keep(self, **changes: Any) -> None:
        """Change what only the window itself goes by, such as its place: written, and told to nobody.

        A disk may take its time: what holds now is lent to the settings that everybody reads, and the file is changed
        by a second pair of hands, in the order in which it was asked.
        """
        self._file.lend(**changes)
        self._unwritten.append(changes)
        self.background.run(self._write, lambda _: None, self.fail)

    def _write(self) -> None:
        """Write what has gathered since the last time [background]."""
        gathered: dict[str, Any] = {}
        while self._unwritten:
            gathered |= self._unwritten.popleft()
        if gathered:
            self._on_disk.change(**gathered)

    def say(self, line: str) -> None:
        """Show one line."""
        self.notice.emit(line)

    def fail(self, error: CadenceError) -> None:
        """Show what failed."""
        self.say(str(error))
