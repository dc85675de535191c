"""`duplexcadence run`: hold a recorded conversation; the reply, the timing log and the meter come out."""

import argparse
import shutil
import sys
import time
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from app.streams import say, tell
from app.targets import check_ending, check_targets
from engine.cadence import MeterStyle, measure, summary, text_meter
from engine.clock import SkippingClock, WallClock
from engine.errors import AskedWrongly
from engine.export import write_picture
from engine.export.picture import KINDS
from engine.models import registry
from engine.phrases import printable
from engine.runtime import RUNTIMES
from engine.timing import Fault, UnitRecord
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
        choices=RUNTIMES,
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
    if args.picture is not None:
        check_ending("--picture", args.picture, KINDS)
        if args.log is None:
            raise AskedWrongly("--picture without --log", "a log to draw the picture from", "name one with --log")
    outputs = {"--out": args.out, "--log": args.log, "--picture": args.picture}
    check_targets({"the recording": args.recording}, outputs)
    return hold_recording(args.recording, args, reply=args.out, log=args.log, picture=args.picture)


def hold_recording(
    path: Path, args: argparse.Namespace, *, reply: Path | None, log: Path | None, picture: Path | None
) -> int:
    """Hold the conversation recorded in `path`, and tell it as it goes.

    Returns:
        The exit code: 1 where a stage failed, or where the log was cut short.

    Raises:
        CadenceError: The recording, the weights, or what cannot be written.
    """
    # These load torch and the audio libraries, which takes seconds, and which other commands do without.
    from app import wiring
    from app.audio_file import ReplyFile, SpeechFile
    from app.headless import hold

    began_s = time.monotonic()
    clock = WallClock() if args.realtime else SkippingClock()
    entry = registry.find(args.model)
    entry.require_runs()
    recording = SpeechFile(path, entry.input_rate_hz)
    tell(f"loading {entry.name}, {args.runtime} runtime")
    built = entry.build(args.runtime, words=args.words)
    for line in built.remarks:
        tell(line)
    built.model.prepare()
    tell(f"ready after {time.monotonic() - began_s:.1f} s; {path.name} lasts {recording.seconds:.1f} s")
    records: list[UnitRecord | Fault] = []

    def on_unit(unit: "Unit") -> None:
        for fault in unit.faults:
            tell(f"fault in second {fault.index}, {fault.stage or 'no stage'}: {fault.message}")
        records.extend([*unit.faults, unit.record])
        for line in unit.outcome.transcript:
            say(printable(transcript_line(unit.record, line)))

    out = ReplyFile(reply, built.model.output_rate_hz) if reply is not None else None
    try:
        with (
            out or nullcontext(),
            wiring.headless(
                built,
                clock,
                reply=out,
                log=log,
                source=path.name,
                realtime=args.realtime,
                transcript=args.log_transcript,
                tell=tell,
            ) as held,
        ):
            finished = hold(held.session, recording, held.speaker, clock, on_unit=on_unit)
    except BaseException:
        for kept in (reply if out is not None and out.kept else None, log if records else None):
            if kept is not None:
                tell(f"kept as far as it came: {kept}")
        raise
    for remark in recording.remarks:
        tell(remark)
    if not finished:
        tell("the answer had no end: it is cut off where patience with it ended")
    cut_short = held.log is not None and held.log.lost is not None
    _conclude(records, reply, log, picture, cut_short=cut_short)
    return int(cut_short or any(isinstance(record, Fault) for record in records))


def transcript_line(record: UnitRecord, line: "Said") -> str:
    """A line of the transcript, with the second in which it was told."""
    who = {"heard": "you", "said": "agent", "unsaid": "(unsaid)"}[line.kind]
    source = f"  [{line.source}]" if line.source else ""
    return f"{record.arrival_ns / 1e9:6.0f} s  {who:9s} {line.text}{source}"


def _conclude(
    records: list[UnitRecord | Fault], reply: Path | None, log: Path | None, picture: Path | None, *, cut_short: bool
) -> None:
    figures = measure(records)
    units = [record for record in records if isinstance(record, UnitRecord)]
    columns, _ = shutil.get_terminal_size()
    colour = sys.stdout.isatty()
    ascii_only = "utf" not in (sys.stdout.encoding or "").lower()
    say("\n" + text_meter(units, figures, MeterStyle(width=columns, colour=colour, ascii=ascii_only)))
    say("\n" + summary(figures) + "\n")
    if picture is not None and log is not None:
        write_picture(read_log(log), picture)
    for name, path in (("reply", reply), ("log", log), ("picture", picture)):
        if path is not None:
            say(f"{name:8s} {printable(str(path))}{' (cut short)' if cut_short and path is log else ''}")
