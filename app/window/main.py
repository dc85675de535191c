"""Opens the window and runs it until it is closed: the one place where the window's objects come to be and go [ui]."""

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QAccessible
from PySide6.QtWidgets import QApplication, QWidget

from app.live.sessions import Sessions
from app.live.settings import SettingsFile
from app.window import interfaces, theme
from app.window.crash import Crashes
from app.window.desk import Desk, LiveConversation
from app.window.main_window import MainWindow
from app.window.style import style_sheet


def run(conversation: LiveConversation, settings: SettingsFile, sessions: Sessions) -> int:
    """Show the window, and wait until it is closed; ends the conversation then.

    Args:
        conversation: What is watched and commanded; closed at the end.
        settings: The user's choices.
        sessions: The sessions that there were.

    Returns:
        The exit code: 1 where an error was met that nothing caught.

    Raises:
        KeyboardInterrupt: The program was asked to end, and has done so in order.
    """
    application = make_application()
    crashes = Crashes(conversation.stop)
    crashes.install()
    desk = Desk(conversation, settings, sessions)
    try:
        window = MainWindow(desk)
        dress(application, window, desk)
        crashes.parent_widget = window.status
        window.show()
        window.begin()
        code = application.exec()
        window.hide()
    finally:
        desk.background.close()
        conversation.close()
        crashes.uninstall()
    if crashes.interrupted is not None:
        raise crashes.interrupted
    return 1 if crashes.count else code


def make_application() -> QApplication:
    """The one application, with what makes painted widgets known to screen readers."""
    existing = QApplication.instance()
    application = existing if isinstance(existing, QApplication) else QApplication(["duplexcadence"])
    application.setApplicationName("duplexcadence")
    application.setApplicationDisplayName("DuplexCadence")
    application.setDesktopFileName("duplexcadence")
    application.setQuitOnLastWindowClosed(True)
    QAccessible.installFactory(interfaces.interface)
    return application


def dress(application: QApplication, window: MainWindow, desk: Desk) -> None:
    """Give the application and its window their looks, now and whenever the settings or the system change them.

    A style sheet is worn by each of the window's parts, whose dialogs and menus inherit it. The window's own takes
    45 ms to change, the application's four times as long: too long for a conversation that goes on. A part takes 10,
    and an event of its own.
    """
    worn: list[theme.Colours] = []
    waiting: list[QWidget] = []
    soon = QTimer(window, interval=0)

    def next_part() -> None:
        if waiting:
            waiting.pop(0).setStyleSheet(style_sheet(worn[0]))
        else:
            soon.stop()

    def again() -> None:
        theme.apply(application, desk.settings.theme)
        colours = theme.colours(application.palette())
        if worn != [colours]:
            worn[:], waiting[:] = [colours], window.parts
            next_part()
            soon.start()

    soon.timeout.connect(next_part)
    again()
    while waiting:  # nothing is in view yet, and nobody talks
        next_part()
    desk.changed.connect(again)
    application.styleHints().colorSchemeChanged.connect(again, Qt.ConnectionType.QueuedConnection)
