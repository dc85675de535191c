"""A conversation that stands as a test says, and notes what it is told to do."""

from dataclasses import replace
from typing import Any

from app.audio.devices import AudioDevice, Devices, Direction
from app.live.snapshot import Snapshot, Track

HEADSET_IN = AudioDevice("Headset microphone", "ALSA", 1, 0, 48_000)
WEBCAM = AudioDevice("Webcam", "ALSA", 2, 0, 32_000)
HEADSET_OUT = AudioDevice("Headset", "ALSA", 0, 2, 48_000)
SPEAKERS = AudioDevice("Built-in speakers", "ALSA", 0, 2, 44_100)

DEVICES = Devices(
    apis=("ALSA",),
    all=(HEADSET_IN, WEBCAM, HEADSET_OUT, SPEAKERS),
    defaults=(("", Direction.INPUT, HEADSET_IN), ("", Direction.OUTPUT, HEADSET_OUT)),
    platform="linux",
)


class FakeConversation:
    """Its snapshot is set by hand."""

    def __init__(self, snapshot: Snapshot = Snapshot(), devices: Devices = DEVICES) -> None:  # noqa: B008 - frozen
        self.now, self.there = snapshot, devices
        self.told: list[tuple[Any, ...]] = []
        self.polls = 0

    def show(self, **changes: Any) -> None:
        """Stand otherwise from the next poll on."""
        self.now = replace(self.now, **changes)

    def took(self, *names: str) -> list[tuple[Any, ...]]:
        """What it was told, of these commands, since the last time; the rest is forgotten too."""
        told, self.told = self.told, []
        return [command for command in told if command[0] in names or not names]

    def snapshot(self) -> Snapshot:
        self.polls += 1
        return self.now

    def devices(self) -> Devices:
        return self.there

    def start(self) -> None:
        self.told.append(("start",))

    def stop(self) -> None:
        self.told.append(("stop",))

    def restart(self) -> None:
        self.told.append(("restart",))

    def mute(self, muted: bool) -> None:
        self.told.append(("mute", muted))

    def hold(self, held: bool) -> None:
        self.told.append(("hold", held))

    def stop_speaking(self) -> None:
        self.told.append(("stop_speaking",))

    def apply(self) -> None:
        self.told.append(("apply",))

    def rescan(self) -> None:
        self.told.append(("rescan",))

    def try_sound(self, trying: bool) -> None:
        self.told.append(("try_sound", trying))

    def play_test(self) -> None:
        self.told.append(("play_test",))

    def listen(self, track: Track | None) -> None:
        self.told.append(("listen", track))

    def close(self) -> None:
        self.told.append(("close",))
