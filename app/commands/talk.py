"""`duplexcadence talk`: the main job. Where there is neither window nor sound, the bundled question is talked over."""

import argparse
import os
import shutil
import sys
import time
from pathlib import Path

import assets
from app.audio.devices import Direction
from app.audio.portaudio import PortAudio
from app.audio.state import EchoMode
from app.commands.run import add_session_arguments, hold_recording
from app.live.sessions import LOG, Sessions, session_folder, sessions_path
from app.live.settings import Settings, SettingsFile, settings_path
from app.live.snapshot import Conversation, Listening, Phase
from app.stopping import Stopped
from app.streams import say, tell
from app.talk_lines import TalkLines
from app.terminal import TerminalProgress
from engine.cadence import MeterStyle
from engine.errors import CadenceError
from engine.models import registry, weights

QUESTION = Path(assets.__file__).parent / "questions" / "capital_of_france.wav"
LOOK_EVERY_S = 0.1
RESCAN_EVERY_S = 5.0


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "talk",
        help="talk with a model",
        description="Opens the window to talk with a model, which is fetched where it is not here yet. Without a "
        "display (or, with --no-window, without a microphone or a speaker) it holds the conversation of a bundled "
        "spoken question instead, and shows how every second of it fared. Options hold for this time; the window's "
        "settings stay. With --no-window the microphone is always heard: a terminal has no key to hold.",
    )
    add_session_arguments(parser)
    parser.add_argument("--no-window", action="store_true", help="talk in this terminal; Ctrl-C stops")
    parser.add_argument("--record", action="store_true", help="record both sides as one stereo WAV")
    parser.set_defaults(run=run, model=None, runtime=None)


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    settings = SettingsFile(settings_path())
    asked = {
        "model": args.model,
        "runtime": args.runtime,
        "record": args.record or None,
        "log_transcript": args.log_transcript or None,
    }
    settings.lend(**{name: value for name, value in asked.items() if value is not None})
    entry = registry.find(settings.settings.model)
    entry.require_runs()
    args.model, args.runtime = entry.name, settings.settings.runtime
    if lacks := what_lacks(needs_display=not args.no_window):
        for line in lacks:
            say(line)
        return _hold_the_question(args)
    options = {"words": args.words} if args.words is not None else {}
    from app import wiring

    if args.no_window:
        for line in what_differs(settings.settings):
            tell(line)
        settings.lend(listening=Listening.OPEN)
        return in_lines(wiring.live(settings, **options))
    from app.window import main

    return main.run(wiring.live(settings, **options), settings, Sessions(sessions_path()))


def what_lacks(*, needs_display: bool) -> list[str]:
    """Why nobody can talk live, a line for each reason.

    A window that can be shown lacks nothing: it says itself which devices are missing, and looks for them again.
    """
    shown = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY") or os.environ.get("QT_QPA_PLATFORM")
    unseen = needs_display and sys.platform == "linux" and not shown
    if needs_display and not unseen:
        return []
    try:
        found = PortAudio().devices()
        unheard = [f"no {side} here" for side in Direction if found.default(side) is None]
    except CadenceError as error:
        unheard = [str(error)]
    lines = ["no display here (neither DISPLAY nor WAYLAND_DISPLAY is set)"] if unseen else []
    if unseen and not unheard:
        lines.append("in a terminal alone: duplexcadence talk --no-window")
    return lines + unheard


def what_differs(settings: Settings) -> list[str]:
    """What the window's settings keep from being heard, or would if they held in a terminal; a line for each."""
    lines = []
    if settings.listening is not Listening.OPEN:
        lines.append("the microphone is always heard here; the window's setting, by a key, needs the window")
    if settings.sound.echo is EchoMode.HALF_DUPLEX:
        lines.append("the microphone is closed while the agent speaks, as set in the window")
    if settings.sound.volume == 0:
        lines.append("the agent is silent: its volume is at zero, as set in the window")
    return lines


def in_lines(conversation: Conversation) -> int:
    """Talk in the terminal until Ctrl-C; returns the exit code: 1 where it could not go on.

    Raises:
        Stopped: The system wants the program to end; the conversation has ended in order.
    """
    columns, _ = shutil.get_terminal_size()
    ascii_only = "utf" not in (sys.stdout.encoding or "").lower()
    style = MeterStyle(width=columns, colour=sys.stdout.isatty(), ascii=ascii_only)
    lines, looked_s = TalkLines(say, tell, style, time.monotonic), time.monotonic()
    try:
        conversation.start()
        while True:
            now = conversation.snapshot()
            lines.show(now)
            if now.phase is Phase.FAILED:
                return 1
            if now.phase is Phase.PAUSED and time.monotonic() - looked_s > RESCAN_EVERY_S:
                looked_s = time.monotonic()
                conversation.rescan()
            time.sleep(LOOK_EVERY_S)
    except KeyboardInterrupt as stop:
        if isinstance(stop, Stopped):
            raise
        return 0
    finally:
        conversation.close()
        lines.show(conversation.snapshot())
        lines.conclude()


def _hold_the_question(args: argparse.Namespace) -> int:
    say(f"so the bundled question is heard instead: {QUESTION.name}\n")
    store = weights.open_store()
    weights.fetch(store.manifest.of_model(args.model), progress=TerminalProgress())
    with session_folder(sessions_path()) as folder:
        return hold_recording(
            QUESTION, args, reply=folder / "reply.wav", log=folder / LOG, picture=folder / "meter.png"
        )
