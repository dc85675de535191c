"""Two minutes of talk, second by second: ten turns that end at ten phases of a second, two of them cut short.

    python -m tests.quality.conversation [--runtime cadence] [--as-fast-as-it-goes] [--keep FOLDER]

Builds the recording from the spoken questions, holds it through the app's own wiring, and measures from outside: the
response delay between the question's last loud sample and the reply's first, the silence after a barge-in, and memory.
The log's own figures stand beside them.
"""

import argparse
import sys
import tempfile
import tomllib
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import soundfile
from numpy.typing import NDArray

from app import headless, wiring
from app.audio_file import ReplyFile, SpeechFile
from engine.cadence import Statistics
from engine.cadence import measure as measure_log
from engine.clock import Clock, SkippingClock, WallClock
from engine.models.pocket.build import build
from engine.runtime import RUNTIMES
from engine.timing.reader import read_log

QUESTIONS = Path(__file__).parents[2] / "assets" / "questions"
RATE_HZ = 16000
REPLY_HZ = 24000
SECONDS = 120
LOUD = 0.02
TURNS = 10
TURN_S = 11  # from one question's end to the next one's, but for the phase
LONG_ANSWER = "tell_me_about_rain.wav"
BARGE_INS = (3, 7)  # the turns, by number, whose answers are interrupted
SOONEST_S = 0.9  # no answer can be heard sooner after a question
BARGE_IN_AFTER_S = 3.2  # from the end of a question to the voice that cuts its answer short

Audio = NDArray[np.float32]


@dataclass(frozen=True)
class Asked:
    """A question in the recording: where its voice starts and ends, in seconds of the recording."""

    name: str
    start_s: float
    end_s: float
    barges_in: bool = False


def recording(others: list[str]) -> tuple[Audio, list[Asked]]:
    """The user's side of the conversation, and what is asked when; barge-ins cut the one long answer."""
    out, asked = np.zeros(SECONDS * RATE_HZ, np.float32), list[Asked]()

    def ask(name: str, *, end_s: float | None = None, start_s: float = 0.0) -> None:
        audio, rate_hz = soundfile.read(QUESTIONS / name, dtype="float32")
        assert rate_hz == RATE_HZ
        loud = np.flatnonzero(np.abs(audio) > LOUD) / RATE_HZ
        at_s = start_s - loud[0] if end_s is None else end_s - loud[-1]
        at = round(at_s * RATE_HZ)
        out[at : at + len(audio)] += audio
        asked.append(Asked(name, at_s + float(loud[0]), at_s + float(loud[-1]), barges_in=end_s is None))

    for turn in range(TURNS):
        end_s = 4.0 + turn * TURN_S + turn / TURNS  # ten phases of a second
        if turn in BARGE_INS:
            ask(LONG_ANSWER, end_s=end_s)
            ask(others[turn % len(others)], start_s=end_s + BARGE_IN_AFTER_S)
        else:
            ask(others[turn % len(others)], end_s=end_s)
    return out, asked


@dataclass(frozen=True)
class Measured:
    """What the conversation came to.

    Args:
        figures: As its log tells it.
        delays_s: Response delays measured from outside: the question's last loud sample to the reply's first.
        unanswered: Questions after which nothing was heard.
        silent_after_s: For each barge-in, how long the old answer was heard beside it.
    """

    figures: Statistics
    delays_s: tuple[float, ...]
    unanswered: tuple[str, ...]
    silent_after_s: tuple[float, ...]


def measure(asked: list[Asked], reply: Audio, figures: Statistics, first_arrival_s: float = 1.0) -> Measured:
    """Measure a conversation. The reply starts with the first chunk's arrival, the recording a cadence before."""
    loud = np.flatnonzero(np.abs(reply) > LOUD) / REPLY_HZ + first_arrival_s  # seconds of the recording
    delays, unanswered, silent_after = list[float](), list[str](), list[float]()
    for question, following in pairwise([*asked, None]):
        assert question is not None
        if question.barges_in:  # what is heard until it ends, and nobody can answer before, is the old answer
            old = loud[(loud >= question.start_s) & (loud < question.end_s + SOONEST_S)]
            silent_after.append(float(old[-1]) - question.start_s if len(old) else 0.0)
        until_s = following.start_s if following is not None else np.inf
        answer = loud[(loud >= question.end_s + SOONEST_S) & (loud < until_s)]
        if len(answer):
            delays.append(float(answer[0]) - question.end_s)
        else:
            unanswered.append(question.name)
    return Measured(figures, tuple(delays), tuple(unanswered), tuple(silent_after))


def hold(folder: Path, runtime: str, clock: Clock, *, realtime: bool) -> Measured:
    """Build the recording, hold it, and measure.

    Args:
        folder: Where the recording, the reply and the log go.
        runtime: "cadence", "library" or "stock".
        clock: The session's time.
        realtime: What the log says of the clock.
    """
    names = [entry["file"] for entry in tomllib.loads((QUESTIONS / "questions.toml").read_text())["question"]]
    audio, asked = recording([name for name in names if name != LONG_ANSWER])
    soundfile.write(folder / "user.wav", audio, RATE_HZ, subtype="PCM_16")
    built = build(runtime)
    built.model.prepare()
    reply, log = ReplyFile(folder / "reply.wav", REPLY_HZ), folder / "log.jsonl"
    with wiring.headless(
        built, clock, reply=reply, log=log, source="user.wav", realtime=realtime, transcript=True, tell=sys.stderr.write
    ) as held:
        headless.hold(
            held.session, SpeechFile(folder / "user.wav", RATE_HZ), held.speaker, clock, on_unit=lambda _: None
        )
    reply.close()
    sound, rate_hz = soundfile.read(folder / "reply.wav", dtype="float32")
    assert rate_hz == REPLY_HZ
    return measure(asked, sound, measure_log(read_log(log).records()))


def table(measured: Measured) -> str:
    """The figures beside the bars of the issue they answer."""
    figures, delays = measured.figures, np.array(measured.delays_s or (np.nan,))
    assert figures.slack_ms is not None
    slope = "-" if figures.rss_slope is None else f"{figures.rss_slope / 2**20:+.2f} MiB a minute"
    rows = [
        ("units", f"{figures.units}", ""),
        ("overruns", f"{figures.overruns}", "0"),
        ("slack that 95% of units kept", f"{figures.slack_ms.p95 / 1e3:.3f} s", ">= 0.2 s"),
        ("slack, least", f"{figures.slack_ms.worst / 1e3:.3f} s", ""),
        ("response delay, median", f"{np.median(delays):.2f} s", "<= 2.2 s"),
        ("response delay, p95", f"{np.percentile(delays, 95):.2f} s", "<= 3.2 s"),
        ("response delays", " ".join(f"{delay:.2f}" for delay in measured.delays_s), ""),
        ("unanswered", ", ".join(measured.unanswered) or "none", "none"),
        ("old answer heard beside a barge-in", " ".join(f"{s:.2f} s" for s in measured.silent_after_s), "<= 2 s"),
        ("resident memory, most", f"{(figures.peak_rss or 0) / 2**30:.2f} GiB", "<= 2.0 GiB"),
        ("its slope over the second half", slope, "0"),
    ]
    return "\n".join(f"{name:36s} {value:60s} {bar}".rstrip() for name, value, bar in rows)


def main() -> None:
    """Hold it and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runtime", default="cadence", choices=RUNTIMES)
    parser.add_argument("--as-fast-as-it-goes", action="store_true")
    parser.add_argument("--keep", type=Path, help="a folder for the recording, the reply and the log")
    arguments = parser.parse_args()
    clock: Clock = SkippingClock() if arguments.as_fast_as_it_goes else WallClock()
    with tempfile.TemporaryDirectory() as scratch:
        folder = arguments.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        measured = hold(folder, arguments.runtime, clock, realtime=not arguments.as_fast_as_it_goes)
    sys.stdout.write(table(measured) + "\n")


if __name__ == "__main__":
    main()
