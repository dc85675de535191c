"""`duplexcadence run`: hold a recorded conversation; the reply, the timing log and the meter come out."""

import argparse
import shutil
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from app.audio_file import ReplyFile, SpeechFile
from app.terminal import say
from engine.cadence import MeterStyle, measure, summary, text_meter
from engine.clock import SkippingClock, WallClock
from engine.errors import AskedWrongly
from engine.export import write_picture
from engine.models import registry
from engine.timing import UnitRecord
from engine.timing.reader import read_log

if TYPE_CHECKING:
    from engine.session import Unit
    from engine.step import Said


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "run",
        help="hold a recorded conversation",
        description="Holds a recorded conversation: the recording is heard one second at a time and answered in "
        "speech. Prints what was heard and said, the cadence meter (times in seconds) and a verdict.",
    )
    parser.add_argument("recording", type=Path, metavar="IN.wav", help="the user's side; any rate, channels and format")
    parser.add_argument("--out", type=Path, metavar="OUT.wav", help="write what is heard of the agent (24 kHz mono)")
    parser.add_argument("--log", type=Path, metavar="LOG.jsonl", help="write the timing log (JSON Lines, schema 1)")
    parser.add_argument("--picture", type=Path, metavar="P.png", help="draw the session on a page (needs --log)")
    add_session_arguments(parser)
    parser.set_defaults(run=run)


def add_session_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what every command that runs a session takes."""
    parser.add_argument("--model", default="pocket", metavar="M", help="a name from `models list` (default: pocket)")
    parser.add_argument(
        "--runtime",
        choices=("cadence", "library", "stock"),
        default="cadence",
        help="whose stages run: this engine's (default), the libraries' on the same windows, or the libraries alone",
    )
    parser.add_argument(
        "--words", type=Path, metavar="FOLDER", help="a transformers causal language model (safetensors) for the words"
    )
    parser.add_argument(
        "--realtime",
        action="store_true",
        help="feed a second of audio each second; without it the next is fed as soon as the last is done",
    )
    parser.add_argument("--log-transcript", action="store_true", help="put what was said into the log too")


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    for option, path in (("--out", args.out), ("--log", args.log), ("--picture", args.picture)):
        if path is not None and (path.is_dir() or not path.parent.is_dir()):
            raise AskedWrongly(f"{option} {path}", "a file in a folder that exists", "name another, or make the folder")
    if args.picture is not None and args.log is None:
        raise AskedWrongly("--picture without --log", "a log to draw the picture from", "name one with --log")
    hold_recording(args.recording, args, reply=args.out, log=args.log, picture=args.picture)
    return 0


def hold_recording(
    path: Path, args: argparse.Namespace, *, reply: Path | None, log: Path | None, picture: Path | None
) -> None:
    """Hold the conversation recorded in `path`, and tell it as it goes.

    Raises:
        CadenceError: The recording, the weights, or what cannot be written.
    """
    from app import wiring  # these load torch, which takes seconds and which other commands do without
    from app.headless import hold

    began_s = time.monotonic()
    clock = WallClock() if args.realtime else SkippingClock()
    entry = registry.find(args.model)
    recording = SpeechFile(path, entry.input_rate_hz)
    _tell(f"loading {args.model}, {args.runtime} runtime")
    built = entry.build(args.runtime, words=args.words)
    for line in built.remarks:
        _tell(line)
    built.model.prepare()
    _tell(f"ready after {time.monotonic() - began_s:.1f} s; {path.name} lasts {recording.seconds:.1f} s")
    records: list[UnitRecord] = []

    def on_unit(unit: "Unit") -> None:
        records.append(unit.record)
        for line in unit.outcome.transcript:
            say(transcript_line(unit.record, line))
            sys.stdout.flush()

    out = ReplyFile(reply, built.model.output_rate_hz) if reply is not None else None
    try:
        with wiring.headless(
            built,
            clock,
            reply=out,
            log=log,
            source=path.name,
            realtime=args.realtime,
            transcript=args.log_transcript,
            tell=_tell,
        ) as held:
            hold(held.session, recording, held.speaker, clock, on_unit=on_unit)
    except BaseException:
        if out is not None:
            out.discard()
        raise
    if out is not None:
        out.close()
    for remark in recording.remarks:
        _tell(remark)
    _conclude(records, reply, log, picture)


def transcript_line(record: UnitRecord, line: "Said") -> str:
    """A line of the transcript, with the second in which it was told."""
    who = {"heard": "you", "said": "agent", "unsaid": "(unsaid)"}[line.kind]
    source = f"  [{line.source}]" if line.source else ""
    return f"{record.arrival_ns / 1e9:6.0f} s  {who:9s} {line.text}{source}"


def _conclude(records: list[UnitRecord], reply: Path | None, log: Path | None, picture: Path | None) -> None:
    figures = measure(records)
    columns, _ = shutil.get_terminal_size()
    colour = sys.stdout.isatty()
    ascii_only = "utf" not in (sys.stdout.encoding or "").lower()
    say("\n" + text_meter(records, figures, MeterStyle(width=columns, colour=colour, ascii=ascii_only)))
    say("\n" + summary(figures) + "\n")
    if picture is not None and log is not None:
        write_picture(read_log(log), picture)
    for name, path in (("reply", reply), ("log", log), ("picture", picture)):
        if path is not None:
            say(f"{name:8s} {path}")


def _tell(line: str) -> None:
    """A line for whoever watches, beside the output."""
    sys.stderr.write(line + "\n")
    sys.stderr.flush()
