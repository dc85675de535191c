"""The devices page: microphone and speaker with their tests, echo, latency and volume [ui]."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QCheckBox, QComboBox, QLabel, QSlider

from app.audio.devices import Direction
from app.audio.state import LATENCIES_S, OUTPUT_LATENCY_S, EchoMode
from app.live.snapshot import Snapshot
from app.window import words
from app.window.desk import Desk
from app.window.layouts import Card, Page, heading, row, text
from app.window.sound_panel import SoundPanel, change_sound
from engine.phrases import spoken


class DevicesPage(Page):
    """Everything about sound.

    Args:
        desk: What is commanded and changed.
    """

    def __init__(self, desk: Desk) -> None:
        super().__init__()
        self._desk = desk
        self.panel = SoundPanel(desk)
        self.everything = QCheckBox("List every driver's name of a device")
        self.panel.under(self.everything)
        self.everything.toggled.connect(self.panel.list_everything)
        self.column.addWidget(heading("Devices", "title"))
        self.column.addWidget(self.panel)
        self.column.addWidget(self._echo_card())
        self.column.addWidget(self._playing_card())
        self.column.addStretch(1)
        desk.changed.connect(self._show_settings)
        self._show_settings()

    def leave(self) -> None:
        """The page is gone from view."""
        self.panel.leave()

    def show_snapshot(self, snapshot: Snapshot) -> None:
        """Show how the sound stands."""
        self.panel.show_snapshot(snapshot)
        devices = self._desk.conversation.devices()
        repeated = len(devices.listed(Direction.INPUT, everything=True)) > len(devices.listed(Direction.INPUT))
        self.everything.setVisible(repeated or self.everything.isChecked())
        real = f"The device has {spoken(snapshot.speaker.latency_ms)}." if snapshot.speaker.device else ""
        if real != self._real_latency.text():
            self._real_latency.setText(real)

    def _echo_card(self) -> Card:
        card = Card("Echo")
        self.echo = QComboBox()
        for mode in EchoMode:
            self.echo.addItem(words.ECHO_MODES[mode], mode)
        self._echo_says = text(name="faint")
        card.labelled("&Mode", self.echo, row(self.echo, 1))
        self.echo.setAccessibleName("What keeps the agent from hearing itself")
        card.under(self._echo_says)
        self.echo.activated.connect(lambda index: change_sound(self._desk, echo=self.echo.itemData(index)))
        return card

    def _playing_card(self) -> Card:
        card = Card("Playing")
        self.volume = QSlider(Qt.Orientation.Horizontal)
        self.volume.setRange(0, 100)
        self.volume.setPageStep(10)
        self._volume_says = QLabel()
        self._volume_says.setMinimumWidth(self._volume_says.fontMetrics().horizontalAdvance("100%") + 4)
        card.labelled("&Volume", self.volume, row(self.volume, self._volume_says))
        self.latency = QComboBox()
        for latency_s in LATENCIES_S:
            usual = " (usual)" if latency_s == OUTPUT_LATENCY_S else ""
            self.latency.addItem(f"{latency_s:.2f} s{usual}", latency_s)
        self._real_latency = QLabel()
        self._real_latency.setObjectName("faint")
        card.labelled("&Output latency", self.latency, row(self.latency, self._real_latency, 1))
        card.under(text("Lower answers sooner; too low crackles on a busy machine.", "faint"))
        self.volume.valueChanged.connect(self._change_volume)
        self.latency.activated.connect(
            lambda index: change_sound(self._desk, output_latency_s=self.latency.itemData(index))
        )
        return card

    def _show_settings(self) -> None:
        sound = self._desk.settings.sound
        self.echo.setCurrentIndex(list(EchoMode).index(sound.echo))
        self._echo_says.setText(words.ECHO_EXPLANATIONS[sound.echo])
        nearest = min(range(len(LATENCIES_S)), key=lambda index: abs(LATENCIES_S[index] - sound.output_latency_s))
        self.latency.setCurrentIndex(nearest)
        if not self.volume.isSliderDown():
            self.volume.setValue(round(sound.volume * 100))
        self._volume_says.setText(f"{round(sound.volume * 100)}%")

    def _change_volume(self, value: int) -> None:
        change_sound(self._desk, volume=value / 100)
