"""Holds the conversation on one runtime: once in real time, and again as fast as it goes. In a process of its own.

So each runtime has the machine's memory and libraries for itself, and none inherits what another loaded.
"""

import time
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from app.demo.files import log_path, reply_path
from app.streams import tell


@dataclass(frozen=True)
class Part:
    """What one process is to do.

    Args:
        model: A name from the registry.
        runtime: Whose stages.
        recording: The user's side.
        folder: Takes a log a round, and the first round's reply.
        rounds: How often at most; the first in real time.
        patience_s: No further round is begun once so much time has gone: a report is worth more than a repeat.
    """

    model: str
    runtime: str
    recording: Path
    folder: Path
    rounds: int
    patience_s: float = 60.0


def hold_rounds(part: Part) -> None:
    """Build the model, and hold the conversation so many times, or as often as patience lasts.

    Raises:
        CadenceError: The recording, the weights, or what cannot be written.
    """
    # These load torch and the audio libraries, which takes seconds; this process alone needs them.
    from app import wiring
    from app.audio_file import ReplyFile, SpeechFile
    from app.headless import hold
    from engine.clock import SkippingClock, WallClock
    from engine.models import registry
    from engine.stage import Lifetime

    began_s = time.monotonic()
    _no_progress_bars()
    entry = registry.find(part.model)
    built = entry.build(part.runtime)
    for line in built.remarks:
        tell(line)
    built.model.prepare()
    for number in range(1, part.rounds + 1):
        realtime = number == 1
        if not realtime and time.monotonic() - began_s > part.patience_s:
            return
        clock = WallClock() if realtime else SkippingClock()
        built.arena.reset(Lifetime.TURN)  # of the round before
        reply = ReplyFile(reply_path(part.folder, part.runtime), built.model.output_rate_hz) if realtime else None
        with (
            reply or nullcontext(),
            wiring.headless(
                built,
                clock,
                reply=reply,
                log=log_path(part.folder, part.runtime, number),
                source=part.recording.name,
                realtime=realtime,
                transcript=True,  # the bundled questions' own
                tell=tell,
            ) as held,
        ):
            recording = SpeechFile(part.recording, entry.input_rate_hz)
            hold(held.session, recording, held.speaker, clock, on_unit=lambda _: None)
        if held.log is not None and held.log.lost is not None:
            raise held.log.lost


def _no_progress_bars() -> None:
    """Bars of a library that loads weights would run into our own lines."""
    from transformers.utils import logging

    logging.disable_progress_bar()
