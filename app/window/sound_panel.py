"""Choose microphone and speaker, and try both: what first start and the devices page have in common [ui]."""

from dataclasses import replace

from PySide6.QtCore import QSignalBlocker, Signal, SignalInstance
from PySide6.QtGui import QAccessible
from PySide6.QtWidgets import QComboBox, QLabel, QPushButton

from app.audio.devices import FOLLOW_DEFAULT, DeviceChoice, Devices, Direction
from app.live.snapshot import Phase, Snapshot
from app.window import sound_advice, words
from app.window.desk import Desk
from app.window.layouts import Card, row, text
from app.window.level_meter import LevelMeter

_LOOK_EVERY = 20  # snapshots between two looks at the list of devices


class DeviceBox(QComboBox):
    """A choice of devices by name and host API, with "follow the default" first.

    Args:
        direction: Microphones or speakers.
    """

    chosen: SignalInstance = Signal(object)  # type: ignore[assignment]

    def __init__(self, direction: Direction) -> None:
        super().__init__()
        self._direction = direction
        self._listed: tuple[Devices, DeviceChoice, bool] | None = None
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.setMinimumContentsLength(24)
        self.activated.connect(lambda index: self.chosen.emit(self.itemData(index)))

    def list(self, devices: Devices, choice: DeviceChoice, *, everything: bool = False) -> None:
        """Show what there is, and what is chosen, though it be gone."""
        if self._listed == (devices, choice, everything) or self.view().isVisible():
            return
        self._listed = (devices, choice, everything)
        with QSignalBlocker(self):
            self.clear()
            self.addItem(words.default_device(devices, self._direction), FOLLOW_DEFAULT)
            for device in devices.listed(self._direction, everything=everything):
                self.addItem(words.device(device.choice), device.choice)
            if words.missing(devices, choice, self._direction) or self._index(choice) < 0:
                self.addItem(f"{words.device(choice)}, not connected", choice)
            self.setCurrentIndex(self._index(choice))

    def _index(self, choice: DeviceChoice) -> int:
        return next((index for index in range(self.count()) if self.itemData(index) == choice), -1)


class SoundPanel(Card):
    """Both devices, their levels, and a test of each.

    Args:
        desk: What is commanded and changed.
    """

    def __init__(self, desk: Desk) -> None:
        super().__init__("Microphone and speaker")
        self._desk = desk
        self._looks, self._trying, self._tried, self._play_when_open = 0, False, False, False
        self._trial = sound_advice.MicrophoneTrial()
        self._everything = False
        self.microphone, self.speaker = DeviceBox(Direction.INPUT), DeviceBox(Direction.OUTPUT)
        self.heard, self.sounded = LevelMeter("Microphone level"), LevelMeter("Speaker level")
        self.try_button = QPushButton("Test the microphone")
        self.try_button.setCheckable(True)
        self.play_button = QPushButton("Play a test sound")
        self.rescan_button = QPushButton("Look again")
        self.rescan_button.setToolTip("Look for devices that were connected since")
        self.rescan_button.setAccessibleName("Look for devices again")
        self.use_button = QPushButton()
        self.use_button.hide()
        self._microphone_says, self._speaker_says, self._echo_says = text(name="faint"), text(name="faint"), text()
        self.labelled("&Microphone", self.microphone)
        self.under(self.heard)
        self.under(self._microphone_says)
        self.labelled("&Speaker", self.speaker)
        self.under(self.sounded)
        self.under(self._speaker_says)
        self.under(row(self.try_button, self.play_button, self.rescan_button, 1))
        self.under(self._echo_says)
        self.under(row(self.use_button, 1))
        self.reader_says = text(sound_advice.SCREEN_READER, "strong")
        self.wide(self.reader_says)
        self._advice = sound_advice.Advice()
        self.microphone.chosen.connect(lambda choice: self._choose(microphone=choice))
        self.speaker.chosen.connect(lambda choice: self._choose(speaker=choice))
        self.try_button.toggled.connect(self.try_sound)
        self.play_button.clicked.connect(self._play)
        self.rescan_button.clicked.connect(desk.conversation.rescan)
        self.use_button.clicked.connect(self._use)
        self.show_snapshot(Snapshot())

    def list_everything(self, everything: bool) -> None:
        """Whether every host API's names of a device are listed."""
        self._everything, self._looks = everything, 0

    def leave(self) -> None:
        """Its page is gone from view: give the devices back."""
        self.try_button.setChecked(False)

    def try_sound(self, trying: bool) -> None:
        """Open the devices without a model, or close them."""
        if trying == self._trying:
            return
        self._trying, self._tried, self._play_when_open = trying, False, False
        self._trial = sound_advice.MicrophoneTrial()
        self._desk.conversation.try_sound(trying)

    def show_snapshot(self, snapshot: Snapshot) -> None:
        """Show levels, devices, and what the tests say."""
        if self._looks % _LOOK_EVERY == 0:
            devices, sound = self._desk.conversation.devices(), self._desk.settings.sound
            self.microphone.list(devices, sound.microphone, everything=self._everything)
            self.speaker.list(devices, sound.speaker, everything=self._everything)
            self.reader_says.setVisible(QAccessible.isActive())
        self._looks += 1
        self.heard.show_stream(snapshot.microphone)
        self.sounded.show_stream(snapshot.speaker)
        free = snapshot.phase.at_rest
        ended = self._tried and snapshot.trial is None  # a device could not be had, which the status line says
        self._tried = self._trying and snapshot.trial is not None
        if self._trying and (ended or not free):  # or a conversation has begun
            self._trying = self._play_when_open = False
            self.leave()
        self.try_button.setEnabled(free)
        self.try_button.setText("End the test" if self._trying else "Test the microphone")
        advice = self._trial.see(snapshot.microphone) if self._trying else sound_advice.Advice()
        self._say(self._microphone_says, advice.text or words.stream(snapshot.microphone))
        self._say(self._speaker_says, words.stream(snapshot.speaker))
        self._show_trial(snapshot, free)

    def _show_trial(self, snapshot: Snapshot, free: bool) -> None:
        trial = snapshot.trial
        playing = trial is not None and trial.playing
        self.play_button.setEnabled(free and not playing and not self._play_when_open)
        if self._play_when_open and snapshot.speaker.device:
            self._play_when_open = False
            self._desk.conversation.play_test()
        if snapshot.phase is Phase.FAILED:
            self._play_when_open = False
        if trial is None:
            self._say(self._echo_says, "")
            self.use_button.hide()
            return
        advice = sound_advice.echo(trial, snapshot.echo, QAccessible.isActive())
        said = "The test sound plays." if playing else advice.text
        self._say(self._echo_says, said)
        self._advice = sound_advice.Advice() if playing else advice
        recommended = self._advice.echo
        if recommended is not None:
            self.use_button.setText(f"Use: {words.ECHO_MODES[recommended]}")
        self.use_button.setVisible(recommended not in (None, self._desk.settings.sound.echo))

    def _play(self) -> None:
        self.try_button.setChecked(True)
        self._play_when_open = True

    def _use(self) -> None:
        if self._advice.echo is not None:
            self._choose(echo=self._advice.echo)

    def _choose(self, **changes: object) -> None:
        change_sound(self._desk, **changes)
        self._looks = 0

    @staticmethod
    def _say(label: QLabel, line: str) -> None:
        if label.text() != line:
            label.setText(line)
        label.setVisible(bool(line))


def change_sound(desk: Desk, **changes: object) -> None:
    """Change some of the sound's settings."""
    desk.change(sound=replace(desk.settings.sound, **changes))  # type: ignore[arg-type]
