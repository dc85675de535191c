"""What a screen reader is told without being asked: changes of state, never ticks, and never while the agent speaks.

A screen reader's own speech would be heard by the microphone, or talk over the agent: what can wait does, until the
agent is silent, and of what has waited only the newest of its kind is told. Faults cannot wait, but for one another:
of a storm the newest is told once in a while, with how many there were. `Announcer` decides and knows no Qt; `announce`
hands on. [ui]
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent
from PySide6.QtWidgets import QWidget

from app.live.snapshot import Listening, Phase, Snapshot
from app.window import words
from engine.phrases import counted
from engine.timing import Fault

FAULTS_APART_S = 5.0

_URGENT = (Phase.PAUSED, Phase.FAILED)  # nothing goes on until the user does something
_PHASES = {
    Phase.FETCHING: "Fetching weights.",
    Phase.LOADING: "Loading the model.",
    Phase.TALKING: "Talking. Speak now.",
    Phase.STOPPING: "Stopping.",
}


@dataclass(frozen=True)
class Announcement:
    """Something to be said.

    Args:
        text: A short sentence.
        urgent: Whether it may talk over what is being said.
    """

    text: str
    urgent: bool = False


class Announcer:
    """Watches snapshots, and says which changes a listener must know.

    Args:
        now_s: The clock.
    """

    def __init__(self, now_s: Callable[[], float] = time.monotonic) -> None:
        self._now_s = now_s
        self._before = Snapshot()
        self._waiting: dict[str, str] = {}  # by kind, in the order that they came
        self._faults: tuple[Fault, ...] = ()  # as they were seen last
        self._newest = ""  # fault's message
        self._untold = 0  # faults since the last that was told
        self._fault_at_s: float | None = None  # when that was

    def see(self, snapshot: Snapshot) -> tuple[Announcement, ...]:
        """What to announce now."""
        before, self._before = self._before, snapshot
        urgent = self._urgent(before, snapshot)
        for kind, text in self._changes(before, snapshot):
            self.say(kind, text)
        calm: tuple[Announcement, ...] = ()
        if self._waiting and not snapshot.sounding:
            calm = tuple(Announcement(text) for text in self._waiting.values())
            self._waiting = {}
        return urgent + calm

    def say(self, kind: str, text: str) -> None:
        """Something that no snapshot tells; it is among what is announced next, once the agent is silent."""
        self._waiting.pop(kind, None)
        self._waiting[kind] = text

    def _urgent(self, before: Snapshot, now: Snapshot) -> tuple[Announcement, ...]:
        found = []
        if now.phase is not before.phase and now.phase in _URGENT:
            found.append(f"{words.PHASES[now.phase]}. {now.message}".strip())
        if fault := self._fault(now.faults):
            found.append(fault)
        return tuple(Announcement(text, urgent=True) for text in found)

    def _fault(self, faults: tuple[Fault, ...]) -> str:
        """What is to be told of faults; empty where that is nothing, or nothing yet."""
        if faults != self._faults:
            last = self._faults[-1] if self._faults else None
            known = max((place for place, fault in enumerate(faults) if fault == last), default=-1)
            self._untold += len(faults) - 1 - known
            self._faults, self._newest = faults, faults[-1].message if faults else self._newest
        now_s = self._now_s()
        if not self._untold or (self._fault_at_s is not None and now_s - self._fault_at_s < FAULTS_APART_S):
            return ""
        many = f" ({counted(self._untold, 'fault')})" if self._untold > 1 else ""
        self._untold, self._fault_at_s = 0, now_s
        return f"Fault: {self._newest}{many}"

    def _changes(self, before: Snapshot, now: Snapshot) -> list[tuple[str, str]]:
        found = []
        if now.phase is not before.phase:
            if now.phase is Phase.IDLE:
                ended = before.phase.live or before.phase is Phase.STOPPING
                found.append(("phase", "The conversation has ended." if ended else "Ready."))
            elif now.phase in _PHASES:
                found.append(("phase", _PHASES[now.phase]))
        with_phase = now.phase is not before.phase and now.phase in _URGENT
        if now.message and now.message != before.message and not with_phase:
            found.append(("message", now.message))
        if now.muted != before.muted:
            found.append(("muted", "Microphone muted." if now.muted else "Microphone open."))
        if self._toggled(before, now):
            found.append(("hearing", "Listening." if now.hearing else "Not listening."))
        if now.progress is not None and now.progress.done is not None:
            same = before.progress is not None and before.progress.what == now.progress.what
            quarter = words.percent(now.progress) // 25
            quarter_before = words.percent(before.progress) // 25 if same and before.progress else 0
            if not same and now.progress.what:
                found.append(("progress", f"{now.progress.what}."))
            elif 0 < quarter < 4 and quarter > quarter_before:
                found.append(("progress", f"{quarter * 25} percent."))
        return found

    @staticmethod
    def _toggled(before: Snapshot, now: Snapshot) -> bool:
        """Whether the user opened or closed the microphone with the talk key; half-duplex does so too, unheard."""
        both = (before, now)
        by_key = all(each.listening is Listening.TOGGLE and each.phase is Phase.TALKING for each in both)
        calm = not any(each.muted or each.sounding for each in both)
        return by_key and calm and now.hearing != before.hearing


def announce(source: QWidget, announcement: Announcement) -> None:
    """Hand an announcement to whoever listens; does nothing where nobody does."""
    if not QAccessible.isActive():
        return
    event = QAccessibleAnnouncementEvent(source, announcement.text)
    levels = QAccessible.AnnouncementPoliteness
    event.setPoliteness(levels.Assertive if announcement.urgent else levels.Polite)
    QAccessible.updateAccessibility(event)
