"""`duplexcadence devices`: which microphones and speakers there are, and what they can do."""

import argparse
import sys

from app.terminal import say
from engine.errors import CadenceError


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "devices",
        help="list microphones and speakers",
        description="Lists audio devices by host API: channels, default rate in Hz, default latency in milliseconds; "
        "> marks the default input, < the default output.",
    )
    parser.set_defaults(run=run)


def run(_: argparse.Namespace) -> int:
    """Run the command; 0 also where there is no device, since that is an answer."""
    try:
        import sounddevice
    except OSError as error:  # its wheels for Linux carry no PortAudio
        raise CadenceError(
            f"PortAudio cannot be loaded ({error})", "the system's PortAudio library", _portaudio_remedy()
        ) from None
    found = sounddevice.query_devices()
    if not len(found):
        say("no audio device: recorded conversations work, a microphone and a speaker do not")
        return 0
    default_in, default_out = sounddevice.default.device
    for index, api in enumerate(sounddevice.query_hostapis()):
        say(api["name"])
        for number, device in enumerate(found):
            if device["hostapi"] != index:
                continue
            mark = (">" if number == default_in else " ") + ("<" if number == default_out else " ")
            latency_ms = 1e3 * max(device["default_low_input_latency"], device["default_low_output_latency"])
            say(
                f"  {mark} {device['name']}: {device['max_input_channels']} in, {device['max_output_channels']} out, "
                f"{device['default_samplerate']:.0f} Hz, {latency_ms:.0f} ms"
            )
    return 0


def _portaudio_remedy() -> str:
    return {
        "linux": "install it: apt-get install libportaudio2 (Debian, Ubuntu), or its like elsewhere",
        "darwin": "install it: brew install portaudio",
    }.get(sys.platform, "install sounddevice again: pip install --force-reinstall sounddevice")
