"""`duplexcadence devices`: which microphones and speakers there are, and what they can do."""

import argparse

from app.audio.devices import AudioDevice, Direction
from app.audio.portaudio import PortAudio
from app.streams import say


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "devices",
        help="list microphones and speakers",
        description="Lists audio devices by host API: channels, default rate in Hz, default latency in milliseconds; "
        "> marks the default input, < the default output. On Windows, where every host API lists every device again, "
        "those of WASAPI.",
    )
    parser.add_argument("--all", action="store_true", help="those of every host API")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Run the command; 0 also where there is no device, since that is an answer."""
    found = PortAudio().devices()
    listed = found.listed(everything=args.all)
    if not listed:
        say("no audio device: recorded conversations work, a microphone and a speaker do not")
        return 0
    heard, sounded = found.default(Direction.INPUT), found.default(Direction.OUTPUT)
    for api in found.apis:
        of_api = [device for device in listed if device.api == api]
        if of_api:
            say(api)
        for device in of_api:
            say(f"  {'>' if device is heard else ' '}{'<' if device is sounded else ' '} {_described(device)}")
    return 0


def _described(device: AudioDevice) -> str:
    latency_ms = 1e3 * max(device.low_input_latency_s, device.low_output_latency_s)
    return f"{device.name}: {device.inputs} in, {device.outputs} out, {device.rate_hz} Hz, {latency_ms:.0f} ms"
