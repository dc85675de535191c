"""Sound devices as a user knows them: by name and host API, never by a number, which a replug moves. Any thread.

Knows no library: `portaudio` lists what there is.
"""

import sys
from dataclasses import dataclass
from enum import StrEnum

from engine.errors import CadenceError

# Windows lists every device once per host API; this one is the system's own and takes the device's own rate.
PREFERRED_APIS = {"win32": "Windows WASAPI"}


class Direction(StrEnum):
    """Which way sound goes."""

    INPUT = "microphone"
    OUTPUT = "speaker"


@dataclass(frozen=True)
class DeviceChoice:
    """What a user chose and settings keep.

    Args:
        name: The device's; empty: follow the system's default, as it is whenever devices are looked for.
        api: Its host API.
    """

    name: str = ""
    api: str = ""

    @property
    def follows_default(self) -> bool:
        return not self.name


FOLLOW_DEFAULT = DeviceChoice()


@dataclass(frozen=True)
class AudioDevice:
    """A device, known by name and host API.

    Args:
        name: As the system tells it; of several alike the second is named "... #2".
        api: Its host API.
        inputs: Channels that it hears.
        outputs: Channels that it sounds.
        rate_hz: Its own rate.
        low_input_latency_s: The lowest that it offers; zero where it does not hear.
        low_output_latency_s: Likewise, where it sounds.
    """

    name: str
    api: str
    inputs: int
    outputs: int
    rate_hz: int
    low_input_latency_s: float = 0.0
    low_output_latency_s: float = 0.0

    @property
    def choice(self) -> DeviceChoice:
        """What settings keep of it."""
        return DeviceChoice(self.name, self.api)

    def channels(self, direction: Direction) -> int:
        """How many it has of one kind."""
        return self.inputs if direction is Direction.INPUT else self.outputs


@dataclass(frozen=True)
class Devices:
    """What there is.

    Args:
        apis: Host APIs, in the library's order.
        all: Every device of every host API.
        defaults: By host API and direction, the library's own choice under an empty name; where there is none, none.
        platform: `sys.platform` of the machine that they are of.
    """

    apis: tuple[str, ...] = ()
    all: tuple[AudioDevice, ...] = ()
    defaults: tuple[tuple[str, Direction, AudioDevice], ...] = ()
    platform: str = sys.platform

    def listed(self, direction: Direction | None = None, *, everything: bool = False) -> tuple[AudioDevice, ...]:
        """Those to choose from: of one host API where the system repeats them, unless asked for `everything`."""
        preferred = None if everything else self._preferred_api
        return tuple(
            device
            for device in self.all
            if (preferred is None or device.api == preferred) and (direction is None or device.channels(direction))
        )

    def default(self, direction: Direction) -> AudioDevice | None:
        """The system's own choice; the first there is where it has made none; None where there is no device."""
        api = self._preferred_api or ""
        for of_api, of_direction, device in self.defaults:
            if (of_api, of_direction) == (api, direction):
                return device
        return next(iter(self.listed(direction)), None)

    def find(self, choice: DeviceChoice, direction: Direction) -> AudioDevice:
        """The device that was chosen.

        Raises:
            CadenceError: It is not there now, or there is none at all.
        """
        if choice.follows_default:
            device = self.default(direction)
            if device is None:
                raise CadenceError(f"there is no {direction}", "one", "connect one and look again")
            return device
        for device in self.all:
            if device.choice == choice and device.channels(direction):
                return device
        there = ", ".join(device.name for device in self.listed(direction)) or "none"
        raise CadenceError(
            f"the {direction} '{choice.name}' ({choice.api}) is not there",
            f"one of those that are: {there}",
            "connect it and look again, or choose another",
        )

    @property
    def _preferred_api(self) -> str | None:
        preferred = PREFERRED_APIS.get(self.platform)
        return preferred if preferred in self.apis else None
