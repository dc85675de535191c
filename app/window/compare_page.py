"""The compare page: what to compare, or one comparison; and the comparison run on this computer [ui]."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QStackedWidget

from app.demo.candidates import Candidate, Group, from_file, groups, run_group
from app.demo.comparing import Course
from app.live.sessions import PastSession, Sessions
from app.live.snapshot import Snapshot
from app.window.compare_choice import FEWEST, ChoiceView
from app.window.compare_view import CompareView
from app.window.desk import Desk

TICK_MS = 200
CLOSE_S = 2.0


class ComparePage(QStackedWidget):
    """The page.

    Args:
        desk: Whose sessions they are.
        course: Runs the comparison; None: this computer's.
    """

    def __init__(self, desk: Desk, course: Course | None = None) -> None:
        super().__init__()
        self._desk = desk
        self.course = course or Course(desk.sessions.folder.parent / "comparisons")
        self._ended = self.course.state.number
        self.choice, self.view = ChoiceView(), CompareView(desk)
        self.addWidget(self.choice)
        self.addWidget(self.view)
        self.choice.asked.connect(lambda candidates: self.open(candidates))
        self.choice.added.connect(self._add)
        self.choice.deleted.connect(self._delete)
        self.view.closed.connect(self._close_view)
        self.choice.running.run.clicked.connect(self._run)
        self.choice.running.cancel.clicked.connect(lambda: self.course.cancel())
        self._timer = QTimer(self, interval=TICK_MS)
        self._timer.timeout.connect(self.tick)
        self.tick()

    def enter(self) -> None:
        """The page comes into view: look again at what there is."""
        sessions, runs = self._desk.sessions, self.course.runs
        self._desk.background.run(lambda: groups(sessions, runs), self.choice.show_groups, self._desk.fail)

    def leave(self) -> None:
        """The page is gone from view; a comparison that runs goes on."""
        self.view.leave()

    def show_snapshot(self, snapshot: Snapshot) -> None:
        """Show what sounds."""
        self.view.show_snapshot(snapshot)
        if not self._timer.isActive():
            self.tick()

    def open(self, candidates: Sequence[Candidate], beware: str = "") -> None:
        """Compare sessions; `beware` is what is known of them beside their logs."""
        self.setCurrentWidget(self.view)
        self.view.open(candidates, beware)

    def close_course(self) -> None:
        """The program ends."""
        self._timer.stop()
        self.course.close(CLOSE_S)

    def tick(self) -> None:
        """Look how the run stands: a conversation that begins ends it."""
        snapshot, state = self._desk.conversation.snapshot(), self.course.state
        free = snapshot.phase.at_rest
        if not free:
            self.course.cancel("Stopped, because a conversation began")
        why_not = "" if free else "Stop the conversation first: a comparison has the machine for itself."
        self.choice.running.show_state(state, why_not)
        if (state.progress is not None) != self._timer.isActive():
            (self._timer.start if state.progress is not None else self._timer.stop)()
        if state.number != self._ended:
            self._ended = state.number
            self._desk.say(f"The comparison: {state.message}.")
            self.enter()
            if state.folder is not None and state.held >= FEWEST:
                self._desk.background.run(partial(run_group, state.folder), self._show_run, self._desk.fail)

    def _run(self) -> None:
        self._desk.conversation.listen(None)
        self._desk.conversation.try_sound(False)
        self.course.start(self._desk.settings.model)
        self.tick()

    def _show_run(self, group: Group | None) -> None:
        """Show what the run has left, unless its user is at something else by now."""
        if group is not None and self.currentWidget() is self.choice and len(group.candidates) >= FEWEST:
            self.open(group.candidates, self.course.state.beware)

    def _add(self, path: Path) -> None:
        self._desk.background.run(lambda: from_file(path), self.choice.add_file, self._desk.fail)

    def _delete(self, session: PastSession) -> None:
        runs = Sessions(self.course.runs)
        self._desk.background.run(lambda: runs.delete(session), lambda _: self.enter(), self._desk.fail)

    def _close_view(self) -> None:
        self.setCurrentWidget(self.choice)
        self.choice.list.setFocus()
