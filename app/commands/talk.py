"""`duplexcadence talk`: the main job. Where nobody can speak or listen, the bundled question's conversation is held."""

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

import platformdirs

import assets
from app.audio.devices import Direction
from app.audio.portaudio import PortAudio
from app.commands.run import add_session_arguments, hold_recording
from app.streams import say
from app.terminal import TerminalProgress
from engine.errors import CadenceError, NoRoom
from engine.models import registry, weights

QUESTION = Path(assets.__file__).parent / "questions" / "capital_of_france.wav"


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "talk",
        help="talk with a model",
        description="Fetches the model where it is not here yet, and talks. This version has no window yet: it "
        "holds the conversation of the bundled spoken question and shows how every second of it fared.",
    )
    add_session_arguments(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    entry = registry.find(args.model)
    entry.require_runs()
    for line in what_lacks():
        say(line)
    say(f"so the bundled question is heard instead: {QUESTION.name}\n")
    store = weights.open_store()
    weights.fetch(store.manifest.of_model(entry.name), progress=TerminalProgress())
    with _session_folder() as folder:
        return hold_recording(
            QUESTION, args, reply=folder / "reply.wav", log=folder / "session.jsonl", picture=folder / "meter.png"
        )


@contextmanager
def _session_folder() -> Iterator[Path]:
    """A fresh folder for this session's files, among the user's data; it goes again where none came to be."""
    sessions = platformdirs.user_data_path("duplexcadence", appauthor=False) / "sessions"
    folder = sessions / datetime.now().strftime("%Y-%m-%d %H-%M-%S.%f")[:-3]
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise NoRoom(
            f"{folder} cannot be made ({error.strerror})", "a place for the session's files", "set XDG_DATA_HOME to one"
        ) from None
    try:
        yield folder
    finally:
        with suppress(OSError):  # it is not empty
            folder.rmdir()


def what_lacks() -> list[str]:
    """Why nobody can talk live, a line for each reason."""
    lines = []
    if sys.platform == "linux" and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        lines.append("no display here (neither DISPLAY nor WAYLAND_DISPLAY is set)")
    try:
        found = PortAudio().devices()
    except CadenceError:
        lines.append("no PortAudio library here that works, so no microphone and no speaker")
    else:
        lines += [f"no {direction} here" for direction in Direction if found.default(direction) is None]
    lines.append("talking live, through a window, a microphone and a speaker, is not in this version yet")
    return lines
