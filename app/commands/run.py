"""`duplexcadence run`: hold a recorded conversation; the reply, the timing log and the meter come out."""

import argparse
import sys
import time
from pathlib import Path

from app import wiring
from app.audio_file import ReplyFile, SpeechFile
from app.headless import hold
from engine import cadence
from engine.clock import SkippingClock, WallClock
from engine.errors import AskedWrongly
from engine.runtime import RUNTIMES
from engine.session import Unit
from engine.timing import UnitRecord


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "run",
        help="hold a recorded conversation",
        description="Hold a recorded conversation: the recording is heard one second at a time and answered in speech.",
    )
    parser.add_argument("recording", type=Path, metavar="IN.wav", help="the user's side; any rate, channels and format")
    parser.add_argument("--out", type=Path, metavar="OUT.wav", help="write what is heard of the agent (24 kHz mono)")
    parser.add_argument("--log", type=Path, metavar="LOG.jsonl", help="write the timing log (JSON Lines, schema 1)")
    parser.add_argument("--picture", type=Path, metavar="P.png", help="draw the meter as a page (.png or .svg)")
    add_session_arguments(parser)
    parser.set_defaults(run=run)


def add_session_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what every command that runs a session takes."""
    parser.add_argument("--model", default="pocket", help="a name from `models list` (default: pocket)")
    parser.add_argument(
        "--runtime", choices=RUNTIMES, default="cadence", help="whose stages run (default: cadence, this engine's)"
    )
    parser.add_argument("--words", type=Path, metavar="FOLDER", help="a local causal language model in place of Pocket's")
    parser.add_argument(
        "--realtime",
        action="store_true",
        help="feed a second each second; without it the next is fed as soon as the last is done",
    )
    parser.add_argument("--log-transcript", action="store_true", help="put what was said into the log too")


def run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    if arguments.out is not None:
        _check_folder(arguments.out, "--out")
    if arguments.log is not None:
        _check_folder(arguments.log, "--log")
    hold_recording(
        arguments.recording,
        arguments,
        reply=arguments.out,
        log=arguments.log,
        picture=arguments.picture,
    )
    return 0


def hold_recording(
    path: Path, arguments: argparse.Namespace, *, reply: Path | None, log: Path | None, picture: Path | None
) -> list[UnitRecord]:
    """Hold the conversation recorded in `path`, telling it on standard output as it goes.

    Raises:
        CadenceError: Of the recording, the weights, or what cannot be written.
    """
    began = time.monotonic()
    clock = WallClock() if arguments.realtime else SkippingClock()
    model, arena = wiring.model(arguments.model, arguments.runtime, words=arguments.words)
    recording = SpeechFile(path, model.input_rate_hz)
    tell(f"loading {arguments.model} ({arguments.runtime})")
    model.prepare()
    tell(f"ready in {time.monotonic() - began:.1f} s; {path.name} lasts {recording.seconds:.1f} s")
    records: list[UnitRecord] = []

    def on_unit(unit: Unit) -> None:
        records.append(unit.record)
        for line in unit.outcome.transcript:
            print(f"{unit.record.index:4d} s  {wiring.transcript_line(line)}", flush=True)

    out = ReplyFile(reply, model.output_rate_hz) if reply is not None else None
    try:
        with wiring.session(
            model, arena, arguments.runtime, clock, reply=out, log=log, source=path.name,
            realtime=arguments.realtime, transcript=arguments.log_transcript,
        ) as (session, speaker):  # fmt: skip
            hold(session, recording, speaker, clock, on_unit=on_unit)
    except BaseException:
        if out is not None:
            out.discard()
        raise
    if out is not None:
        out.close()
    for remark in recording.remarks:
        tell(remark)
    print()
    print(cadence.text_meter(records))
    print()
    print(cadence.verdict(records))
    for name, written in (("reply", reply), ("log", log), ("picture", picture)):
        if written is not None:
            print(f"{name:8s} {written}")
    return records


def tell(line: str) -> None:
    """A line for whoever watches, beside the output."""
    print(line, file=sys.stderr, flush=True)


def _check_folder(path: Path, option: str) -> None:
    if path.is_dir() or not path.parent.is_dir():
        raise AskedWrongly(f"{option} {path} cannot be written", "a file in a folder that exists", "name another")
