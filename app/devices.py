"""The sound cards, by way of PortAudio, or in one line why there are none to ask for. Any thread."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine.errors import CadenceError


@dataclass(frozen=True)
class Devices:
    """What PortAudio found.

    Args:
        apis: Host APIs, as `sounddevice.query_hostapis` gives them.
        all: Devices, as `sounddevice.query_devices` gives them.
        default_input: The number of one of them; negative where there is none.
        default_output: Likewise.
    """

    apis: Sequence[Mapping[str, Any]]
    all: Sequence[Mapping[str, Any]]
    default_input: int
    default_output: int

    @property
    def can_hear(self) -> bool:
        """Whether there is a microphone."""
        return any(device["max_input_channels"] for device in self.all)

    @property
    def can_sound(self) -> bool:
        """Whether there is a speaker."""
        return any(device["max_output_channels"] for device in self.all)


def check() -> Devices:
    """Ask PortAudio.

    Raises:
        CadenceError: It is not here, or does not work.
    """
    try:
        import sounddevice

        default_input, default_output = sounddevice.default.device
        return Devices(sounddevice.query_hostapis(), sounddevice.query_devices(), default_input, default_output)
    except Exception as error:  # noqa: BLE001  its own error has no name before it is imported, and the import raises it
        raise CadenceError(
            f"PortAudio cannot be used ({' '.join(str(error).split())})", "the system's PortAudio library", _remedy()
        ) from None


def _remedy() -> str:
    return {
        "linux": "install it: apt-get install libportaudio2 (Debian, Ubuntu), or its like elsewhere",
        "darwin": "install it: brew install portaudio",
    }.get(sys.platform, "install sounddevice again: pip install --force-reinstall sounddevice")
