"""What every page works with: the conversation, the settings, past sessions, slow work, and one line for the user.

Pages change settings here alone, so that each change is written, applied and told to the others. [ui]
"""

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
        self._file = settings
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
        """Change settings, write them, and let the conversation follow."""
        if all(getattr(self.settings, name) == value for name, value in changes.items()):
            return
        self.keep(**changes)
        self.conversation.apply()
        self.changed.emit()

    def keep(self, **changes: Any) -> None:
        """Change what only the window itself goes by, such as its place: written, and told to nobody."""
        try:
            self._file.change(**changes)
        except CadenceError as error:
            self.say(str(error))

    def say(self, line: str) -> None:
        """Show one line."""
        self.notice.emit(line)

    def fail(self, error: CadenceError) -> None:
        """Show what failed."""
        self.say(str(error))
