"""The window: pages, the status line, keys, and a timer that hands one frozen snapshot to whatever is in view.

Nothing here waits: commands return at once, and files are read elsewhere. [ui]
"""

from PySide6.QtCore import QByteArray, QEvent, Qt, QTimer
from PySide6.QtGui import QCloseEvent, QKeyEvent, QKeySequence, QShortcut
from PySide6.QtWidgets import QStackedWidget, QTabBar, QVBoxLayout, QWidget

from app.live.snapshot import Listening, Snapshot
from app.window import keys
from app.window.announcements import Announcer, announce
from app.window.compare_page import ComparePage
from app.window.desk import Desk
from app.window.devices_page import DevicesPage
from app.window.first_start import FirstStart, Look, weight_lines
from app.window.sessions_page import SessionsPage
from app.window.settings_page import SettingsPage
from app.window.status_line import StatusLine
from app.window.talk_page import TalkPage

POLL_MS = 50
HIDDEN_POLL_MS = 250  # minimised: for announcements alone
NAMES = ("Talk", "Sessions", "Compare", "Devices", "Settings")
MINIMUM = (720, 480)
USUAL = (1180, 760)


class MainWindow(QWidget):
    """The program's one window.

    Args:
        desk: Everything that it shows and commands.
        look: Tells a model's weights to the first start; slow.
    """

    def __init__(self, desk: Desk, look: Look = weight_lines) -> None:
        super().__init__()
        self._desk = desk
        self._announcer = Announcer()
        self.setWindowTitle("DuplexCadence")
        self.setMinimumSize(*MINIMUM)
        self.resize(*USUAL)
        self.talk, self.sessions = TalkPage(desk), SessionsPage(desk)
        self.compare = ComparePage(desk)
        self.devices, self.settings = DevicesPage(desk), SettingsPage(desk)
        self.first_start = FirstStart(desk, look)
        self.status = StatusLine(desk)
        self.tabs = QTabBar()
        self.tabs.setAccessibleName("Pages")
        self.tabs.setExpanding(False)
        self.tabs.setDrawBase(False)
        self.tabs.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.pages = QStackedWidget()
        self._pages = (self.talk, self.sessions, self.compare, self.devices, self.settings, self.first_start)
        for page in self._pages:
            self.pages.addWidget(page)
        for index, name in enumerate(NAMES):
            self.tabs.addTab(name)
            self.tabs.setTabToolTip(index, f"Ctrl+{index + 1}")
            QShortcut(QKeySequence(f"Ctrl+{index + 1}"), self, lambda index=index: self._by_shortcut(index))
        QShortcut(QKeySequence(QKeySequence.StandardKey.Quit), self, self.close)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        top = QVBoxLayout()
        top.setContentsMargins(14, 0, 14, 0)
        top.addWidget(self.tabs)
        layout.addLayout(top)
        layout.addWidget(self.pages, 1)
        layout.addWidget(self.status)

        self._talk_key = keys.TalkKey(desk.conversation.hold)
        self._snapshot = Snapshot()
        self.tabs.currentChanged.connect(self.go_to)
        self.first_start.finished.connect(lambda: self.go_to(0))
        self.first_start.told.connect(lambda line: self._announcer.say("step", line))
        self.settings.first_start.connect(self.show_first_start)
        desk.notice.connect(lambda line: self._announcer.say("notice", line))
        self._timer = QTimer(self, interval=POLL_MS)
        self._timer.timeout.connect(self.poll)
        if desk.settings.first_start_done:
            self.go_to(0)
            self.talk.controls.talk.setFocus()
        else:
            self.show_first_start()
        self.restoreGeometry(QByteArray.fromBase64(desk.settings.window.encode("ascii", "replace")))

    @property
    def parts(self) -> list[QWidget]:
        """All that it shows; what is in view comes first."""
        return sorted((*self._pages, self.tabs, self.status), key=lambda part: not part.isVisible())

    def begin(self) -> None:
        """Poll from now on."""
        self._timer.start()
        self.poll()

    def poll(self) -> None:
        """Take one snapshot, and show it."""
        self._snapshot = snapshot = self._desk.conversation.snapshot()
        page = self._pages[self.pages.currentIndex()]
        if not self.isMinimized():
            self.status.show_snapshot(snapshot, progress=page is not self.first_start)
            page.show_snapshot(snapshot)
        for announcement in self._announcer.see(snapshot):
            if self._desk.settings.announce:
                announce(self, announcement)
        self._timer.setInterval(HIDDEN_POLL_MS if self.isMinimized() else POLL_MS)

    def go_to(self, index: int) -> None:
        """Show another page."""
        before, page = self._pages[self.pages.currentIndex()], self._pages[index]
        self.tabs.setVisible(page is not self.first_start)
        if page is not self.first_start:
            self.tabs.setCurrentIndex(index)
        self.pages.setCurrentIndex(index)
        if before is not page:
            before.leave()
        if page is self.sessions or page is self.compare:
            page.enter()
        page.show_snapshot(self._snapshot)

    def show_first_start(self) -> None:
        """Show what this is, from its first step."""
        self.first_start.go_to(0)
        self.go_to(self._pages.index(self.first_start))
        self.first_start.next.setFocus()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Keys that no control has used."""
        settings, conversation = self._desk.settings, self._desk.conversation
        live = self._snapshot.phase.live
        if keys.matches(event, settings.mute_key):
            if not event.isAutoRepeat():
                conversation.mute(not conversation.snapshot().muted)
        elif keys.matches(event, settings.talk_key):
            if live and settings.listening is not Listening.OPEN:
                self._talk_key.press(event)
        elif keys.matches(event, settings.stop_key):
            if live and not event.isAutoRepeat():
                conversation.stop_speaking()
        else:
            super().keyPressEvent(event)

    def closeEvent(self, event: QCloseEvent) -> None:
        """Keep the window's place; whoever runs the window ends the conversation."""
        self._talk_key.release()
        self._timer.stop()
        self._pages[self.pages.currentIndex()].leave()
        self.compare.close_course()
        self._desk.keep(window=bytes(self.saveGeometry().toBase64().data()).decode("ascii"))
        super().closeEvent(event)

    def changeEvent(self, event: QEvent) -> None:
        """Poll at once when it comes back into view."""
        super().changeEvent(event)
        if event.type() is QEvent.Type.WindowStateChange and self._timer.isActive() and not self.isMinimized():
            self.poll()

    def _by_shortcut(self, index: int) -> None:
        if self._pages[self.pages.currentIndex()] is not self.first_start:
            self.go_to(index)
