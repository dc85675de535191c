"""Conversations as they may stand, made up: what screenshots show and tests look at."""

import random
from dataclasses import replace
from pathlib import Path

from app.audio.state import StreamState
from app.live.snapshot import SHOWN_UNITS, Line, Phase, Progress, Running, Snapshot
from engine.cadence import measure
from engine.timing import Fault, UnitRecord
from tests.made_up_sessions import conversation, header

MICROPHONE = StreamState("Headset microphone", "ALSA", 48_000, 21.3, 0.31, 0.09, drift_ppm=12.0)
SPEAKER = StreamState("Headset", "ALSA", 48_000, 203.0, 0.42, 0.14, drift_ppm=-7.0)

_TALK = (
    ("user", "heard", "What is the capital of France?"),
    ("agent", "said", "The capital of France is Paris."),
    ("user", "heard", "Tell me about rain."),
    ("agent", "said", "Rain is water that falls from clouds in drops."),
    ("agent", "unsaid", "It is a part of the water cycle."),
    ("user", "heard", "Stop. What time is it?"),
    ("agent", "said", "It is ten past seven."),
    ("user", "heard", "How is your cadence?"),
    ("agent", "said", "Every second so far was finished before the next one arrived."),
)


def lines(count: int = len(_TALK)) -> tuple[Line, ...]:
    """A transcript."""
    return tuple(Line(number, 4 + 5 * number, *_TALK[number % len(_TALK)]) for number in range(count))


def talking(seconds: int = 64, *, overruns: bool = False, sounding: bool = True) -> Snapshot:
    """In the middle of a conversation."""
    records = conversation(seconds, seed=4 if overruns else 3, overruns=overruns, speed=1.25 if overruns else 0.9)
    units = tuple(record for record in records if isinstance(record, UnitRecord))
    last = units[-1]
    index = last.index + 1
    arrival_ns = last.deadline_ns
    faults = ()
    if overruns:
        faults = (Fault(index=55, at_ns=55_400_000_000, stage=None, message="the speaker lacked samples"),) * 3
    paths = random.Random(1)
    return Snapshot(
        phase=Phase.TALKING,
        now_ns=arrival_ns + 420_000_000,
        header=header(),
        units=units[-SHOWN_UNITS:],
        figures=measure([*records, *faults]),
        running=Running(
            index,
            arrival_ns,
            arrival_ns + 1_000_000_000,
            arrival_ns + 300_000,
            stages={"voice_activity": 41.0, "words": 212.0},
            stage="voice",
            stage_start_ns=arrival_ns + 260_000_000,
        ),
        lines=lines(),
        faults=faults,
        paths={"eager": 300 + paths.randrange(90)},
        sounding=sounding,
        hearing=True,
        microphone=MICROPHONE,
        speaker=SPEAKER,
        log=Path("session.jsonl"),
    )


def fetching() -> Snapshot:
    """Weights come."""
    told = Progress("Fetching the words' weights", 0.42, "41.2 of 98.0 MB, 6.3 MB/s, 9 s left")
    return Snapshot(phase=Phase.FETCHING, progress=told)


def loading() -> Snapshot:
    """The model loads."""
    return Snapshot(phase=Phase.LOADING, progress=Progress("Loading hearing, words and voice", None))


def device_lost() -> Snapshot:
    """In the middle of a conversation the microphone went."""
    return replace(
        talking(sounding=False),
        phase=Phase.PAUSED,
        message="Headset microphone is gone; connect it, or choose another, and look again",
        hearing=False,
        running=None,
        microphone=StreamState("Headset microphone", "ALSA", 48_000, lost=True),
        faults=(Fault(index=60, at_ns=60_000_000_000, stage=None, message="the microphone was lost"),),
    )


def failed() -> Snapshot:
    """It could not begin."""
    return Snapshot(
        phase=Phase.FAILED,
        message="there is no microphone; needed: one; connect one and look again",
    )
