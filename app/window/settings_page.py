"""The settings page: looks, listening, keys, and what this program is [ui]."""

from PySide6.QtCore import QSignalBlocker, Signal, SignalInstance
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QCheckBox, QComboBox, QKeySequenceEdit, QLineEdit, QPushButton

from app import __version__
from app.live.settings import Settings, Theme
from app.live.snapshot import Listening, Snapshot
from app.window import keys, words
from app.window.desk import Desk
from app.window.layouts import Card, Page, heading, row, text

THEMES = {
    Theme.SYSTEM: "As the system",
    Theme.LIGHT: "Light",
    Theme.DARK: "Dark",
    Theme.CONTRAST: "High contrast",
}
KEYS = {"talk_key": "&Talk", "mute_key": "&Mute", "stop_key": "&Stop speaking"}


class KeyEdit(QKeySequenceEdit):
    """One key, with or without Ctrl and its kin; the Tab key goes on to the next control.

    Args:
        field: Whose key, as settings name it.
    """

    def __init__(self, field: str) -> None:
        super().__init__()
        self.field = field
        self.setMaximumSequenceLength(1)
        self.setClearButtonEnabled(False)

    def name(self, name: str) -> None:
        """For a screen reader, of which some tell the field within."""
        for widget in (self, *self.findChildren(QLineEdit)):
            widget.setAccessibleName(name)


class SettingsPage(Page):
    """What holds for the whole program.

    Args:
        desk: Whose settings are changed.
    """

    first_start: SignalInstance = Signal()  # type: ignore[assignment]  # the user wants to see it again

    def __init__(self, desk: Desk) -> None:
        super().__init__()
        self._desk = desk
        self.column.addWidget(heading("Settings", "title"))
        for card in (self._looks(), self._listening(), self._keys(), self._about()):
            self.column.addWidget(card)
        self.column.addStretch(1)
        desk.changed.connect(self._show_settings)
        self._show_settings()

    def leave(self) -> None:
        """The page is gone from view."""

    def show_snapshot(self, snapshot: Snapshot) -> None:
        """Nothing here depends on a conversation."""

    def _looks(self) -> Card:
        card = Card("Looks")
        self.theme = QComboBox()
        for theme, name in THEMES.items():
            self.theme.addItem(name, theme)
        card.labelled("T&heme", self.theme, row(self.theme, 1))
        self.announce = QCheckBox("Tell a screen reader of changes")
        card.under(self.announce)
        card.under(text("What can wait is told when the agent is silent.", "faint"))
        self.theme.activated.connect(lambda index: self._desk.change(theme=self.theme.itemData(index)))
        self.announce.toggled.connect(lambda checked: self._desk.change(announce=checked))
        return card

    def _listening(self) -> Card:
        card = Card("Listening")
        self.listening = QComboBox()
        for mode in Listening:
            self.listening.addItem(words.LISTENING[mode], mode)
        card.labelled("&When", self.listening, row(self.listening, 1))
        self.listening.setAccessibleName("When the microphone is heard")
        card.under(text("Hold or press to talk suits loud rooms, speakers and screen readers.", "faint"))
        self.listening.activated.connect(lambda index: self._desk.change(listening=self.listening.itemData(index)))
        return card

    def _keys(self) -> Card:
        card = Card("Keys")
        self.keys = {field: KeyEdit(field) for field in KEYS}
        for field, edit in self.keys.items():
            edit.name(f"Key: {KEYS[field].replace('&', '')}")
            card.labelled(KEYS[field], edit, row(edit, 1))
            edit.editingFinished.connect(lambda edit=edit: self._rebind(edit))
        self.key_says = text(name="alarm")
        self.key_says.hide()
        self.usual_keys = QPushButton("Usual keys")
        self.usual_keys.setAccessibleName("Go back to the usual keys")
        self.usual_keys.clicked.connect(self._usual_keys)
        card.under(row(self.usual_keys, 1))
        card.under(self.key_says)
        card.under(text("A control that has the focus and uses such a key keeps it.", "faint"))
        return card

    def _about(self) -> Card:
        card = Card("About")
        card.wide(
            text(
                f"DuplexCadence {__version__}. Nothing you say leaves this computer. Apache-2.0; weights have licences "
                "of their own. Qt and PySide6 are used under the LGPL."
            )
        )
        again = QPushButton("Show the first start again")
        again.clicked.connect(self.first_start)
        self.again = again
        card.wide(row(again, 1))
        return card

    def _show_settings(self) -> None:
        settings = self._desk.settings
        self.theme.setCurrentIndex(list(THEMES).index(settings.theme))
        self.listening.setCurrentIndex(list(Listening).index(settings.listening))
        self.announce.setChecked(settings.announce)
        for field, edit in self.keys.items():
            with QSignalBlocker(edit):
                edit.setKeySequence(QKeySequence(getattr(settings, field)))

    def _rebind(self, edit: KeyEdit) -> None:
        wanted = edit.keySequence().toString(QKeySequence.SequenceFormat.PortableText)
        problem = self._problem(edit.field, wanted)
        self.key_says.setText(problem)
        self.key_says.setVisible(bool(problem))
        if problem or not wanted:
            self._show_settings()
        else:
            self._desk.change(**{edit.field: wanted})

    def _problem(self, field: str, wanted: str) -> str:
        """Why a key cannot be had; empty where it can."""
        if wanted in keys.RESERVED:
            return f"{keys.shown(wanted)} moves about or presses controls: choose another."
        for other, name in KEYS.items():
            if other != field and wanted and getattr(self._desk.settings, other) == wanted:
                return f"{keys.shown(wanted)} is taken by: {name.replace('&', '')}. Choose another."
        return ""

    def _usual_keys(self) -> None:
        usual = Settings()
        self.key_says.hide()
        self._desk.change(**{field: getattr(usual, field) for field in KEYS})
