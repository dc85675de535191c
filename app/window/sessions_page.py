"""The sessions page: the conversations that were held; open, take away, delete; what is kept of the next ones.

Reading and writing files is done in the background. [ui]
"""

from functools import partial
from pathlib import Path

from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import (
    QCheckBox,
    QFileDialog,
    QHeaderView,
    QMenu,
    QPushButton,
    QStackedWidget,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from app.live.sessions import EXPORTS, PastSession
from app.live.snapshot import Phase, Snapshot
from app.window import words
from app.window.asking import ask_to_delete
from app.window.desk import Desk
from app.window.layouts import Card, heading, row, text
from app.window.replay_view import ReplayView
from engine.phrases import printable, spoken

COLUMNS = ("Began", "Length", "Late seconds", "Median slack", "Model", "Runtime", "Remarks")
WIDEST = 260  # of a column in pixels: a name from a log may be of any length
EXPORT_NAMES = {
    "jsonl": "Timing log (JSON Lines)",
    "csv": "Table (CSV)",
    "trace": "Trace (Perfetto)",
    "picture": "Picture (PNG)",
}


def described(session: PastSession) -> tuple[str, ...]:
    """A session's cells."""
    slack = "" if session.median_slack_ms is None else spoken(session.median_slack_ms)
    late = f"{session.overruns} of {session.units}" if session.overruns else "none"
    remarks = [part for part in ("recorded" if session.recording else "", session.caveat) if part]
    known = (
        ("", "", "", "", "")
        if session.damage
        else (
            words.length(session.seconds),
            late,
            slack,
            session.model,
            session.runtime,
        )
    )
    return tuple(printable(cell) for cell in (words.began(session.began), *known, "; ".join(remarks)))


class SessionsPage(QStackedWidget):
    """The list, or one session replayed.

    Args:
        desk: Whose sessions they are.
    """

    def __init__(self, desk: Desk) -> None:
        super().__init__()
        self._desk = desk
        self._sessions: list[PastSession] = []
        self._under_way: Path | None = None  # the log of the conversation that is held right now
        self.replay = ReplayView(desk)
        self.addWidget(self._list_view())
        self.addWidget(self.replay)
        self.replay.closed.connect(self._close_replay)
        desk.changed.connect(self._show_settings)
        self._show_settings()
        self._show_choice()

    def enter(self) -> None:
        """The page comes into view: look at the folder again."""
        self._desk.background.run(self._desk.sessions.list, self._show_sessions, self._desk.fail)

    def leave(self) -> None:
        """The page is gone from view."""
        self.replay.pause()

    def show_snapshot(self, snapshot: Snapshot) -> None:
        """Move on what is replayed."""
        under_way = snapshot.log if snapshot.phase.live or snapshot.phase is Phase.STOPPING else None
        if under_way != self._under_way:
            self._under_way = under_way
            self._show_choice()
        if self.currentIndex() == 1:
            self.replay.tick()

    @property
    def chosen(self) -> PastSession | None:
        """The session that buttons act on."""
        index = self.list.currentIndex().row()
        return self._sessions[index] if 0 <= index < len(self._sessions) else None

    def _list_view(self) -> QWidget:
        view = QWidget()
        self.list = QTreeWidget()
        self.list.setAccessibleName("Past sessions")
        self.list.setHeaderLabels(COLUMNS)
        self.list.setRootIsDecorated(False)
        self.list.setUniformRowHeights(True)
        self.list.setAllColumnsShowFocus(True)
        self.list.setAlternatingRowColors(True)
        self.list.setMinimumHeight(120)
        self.list.header().setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        self.list.header().setMaximumSectionSize(WIDEST)
        self.list.header().setResizeContentsPrecision(100)  # rows that a column's width goes by
        self.list.header().setStretchLastSection(True)
        self.list.setTabKeyNavigation(False)
        self.empty = text("No session yet. Talk, and each conversation's timing is listed here.", "faint")
        self.open = QPushButton("Open in the meter")
        self.export = QPushButton("Export")
        menu = QMenu(self.export)
        self.exports = {}
        for kind in EXPORTS:
            self.exports[kind] = menu.addAction(EXPORT_NAMES[kind])
            self.exports[kind].triggered.connect(partial(self._ask_where, kind))
        self.export.setMenu(menu)
        self.delete = QPushButton("Delete…")
        self.folder = QPushButton("Open folder")
        self.folder.setToolTip("Show the session's files in the file manager")
        self.record = QCheckBox("Record both sides of conversations, as one stereo WAV")
        self.log_transcript = QCheckBox("Keep the words in the timing log")
        keep = Card("What is kept of the next conversations")
        keep.wide(self.record)
        keep.wide(self.log_transcript)
        keep.wide(text("Off by default. Files stay in this computer's sessions folder until you delete them.", "faint"))
        layout = QVBoxLayout(view)
        layout.setContentsMargins(16, 16, 16, 16)
        layout.setSpacing(12)
        layout.addWidget(heading("Sessions", "title"))
        layout.addWidget(self.empty)
        layout.addWidget(self.list, 1)
        layout.addLayout(row(self.open, self.export, self.delete, 1, self.folder))
        layout.addWidget(keep)
        self.list.currentItemChanged.connect(self._show_choice)
        self.list.itemActivated.connect(self._open)
        self.open.clicked.connect(self._open)
        self.delete.clicked.connect(self._ask_to_delete)
        self.folder.clicked.connect(self._open_folder)
        self.record.toggled.connect(lambda checked: self._desk.change(record=checked))
        self.log_transcript.toggled.connect(lambda checked: self._desk.change(log_transcript=checked))
        return view

    def _show_settings(self) -> None:
        self.record.setChecked(self._desk.settings.record)
        self.log_transcript.setChecked(self._desk.settings.log_transcript)

    def _show_sessions(self, sessions: list[PastSession]) -> None:
        chosen = self.chosen
        self._sessions = sessions
        items = [QTreeWidgetItem(described(session)) for session in sessions]
        for item in items:
            for column in (1, 2, 3):
                item.setTextAlignment(column, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.list.clear()
        self.list.addTopLevelItems(items)
        kept = next((index for index, each in enumerate(sessions) if chosen and each.log == chosen.log), 0)
        self.list.setCurrentIndex(self.list.model().index(kept, 0))
        self.empty.setVisible(not sessions)
        self._show_choice()

    def _show_choice(self) -> None:
        chosen = self.chosen
        damaged = "Its log cannot be read" if chosen is not None and chosen.damage else ""
        for button in (self.open, self.export):
            button.setEnabled(chosen is not None and not damaged)
            button.setToolTip(damaged)
        goes_on = chosen is not None and (chosen.log == self._under_way or chosen.held)
        self.delete.setEnabled(chosen is not None and not goes_on)
        self.delete.setToolTip("It goes on, here or in another window: stop it first" if goes_on else "")

    def _open(self) -> None:
        if (session := self.chosen) is not None and not session.damage:
            self.setCurrentWidget(self.replay)
            self.replay.open(session)

    def _close_replay(self) -> None:
        self.setCurrentIndex(0)
        self.list.setFocus()

    def _ask_where(self, kind: str) -> None:
        if (session := self.chosen) is None:
            return
        ending = EXPORTS[kind][1]
        dialog = QFileDialog(self, f"Export: {EXPORT_NAMES[kind]}")
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setNameFilter(f"{EXPORT_NAMES[kind]} (*{ending})")
        dialog.setDefaultSuffix(ending.removeprefix("."))
        dialog.selectFile(f"{session.folder.name}{ending}")
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(lambda path: self.export_to(session, kind, Path(path)))
        dialog.open()

    def export_to(self, session: PastSession, kind: str, path: Path) -> None:
        """Take a session away, and say so."""
        sessions = self._desk.sessions
        self._desk.say(f"Exporting to {path.name} …")
        self._desk.background.run(
            lambda: sessions.export(session, kind, path),
            lambda _: self._desk.say(f"Exported to {path}."),
            self._desk.fail,
        )

    def _ask_to_delete(self) -> None:
        if (session := self.chosen) is None:
            return
        recording = " with its recording" if session.recording else ""
        ask_to_delete(self, f"the session of {words.began(session.began)}{recording}", lambda: self._delete(session))

    def _delete(self, session: PastSession) -> None:
        self._desk.background.run(
            lambda: self._desk.sessions.delete(session), lambda _: self.enter(), self._failed_to_delete
        )

    def _failed_to_delete(self, error: object) -> None:
        self._desk.say(str(error))
        self.enter()

    def _open_folder(self) -> None:
        session = self.chosen
        folder = session.folder if session is not None else self._desk.sessions.folder
        if not folder.is_dir() or not QDesktopServices.openUrl(QUrl.fromLocalFile(str(folder))):
            self._desk.say(f"No file manager could show {folder}.")
