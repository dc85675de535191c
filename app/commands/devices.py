"""`duplexcadence devices`: which microphones and speakers there are, and what they can do."""

import argparse

from app import devices
from app.streams import say


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
    found = devices.check()
    if not len(found.all):
        say("no audio device: recorded conversations work, a microphone and a speaker do not")
        return 0
    for index, api in enumerate(found.apis):
        say(api["name"])
        for number, device in enumerate(found.all):
            if device["hostapi"] != index:
                continue
            mark = (">" if number == found.default_input else " ") + ("<" if number == found.default_output else " ")
            latency_ms = 1e3 * max(device["default_low_input_latency"], device["default_low_output_latency"])
            say(
                f"  {mark} {device['name']}: {device['max_input_channels']} in, {device['max_output_channels']} out, "
                f"{device['default_samplerate']:.0f} Hz, {latency_ms:.0f} ms"
            )
    return 0
