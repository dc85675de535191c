"""Two minutes of talk, second by second: ten turns that end at ten phases of a second, two of them cut short.

    python -m tests.quality.conversation [--runtime cadence] [--as-fast-as-it-goes] [--keep FOLDER]

Builds the recording from the spoken questions, holds it through the app's own wiring, and measures from outside: the
response delay between the question's last loud sample and the reply's first, the silence after a barge-in, and memory.
The log's own figures stand beside them.
"""

import argparse
import json
import sys
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import soundfile
from numpy.typing import NDArray

from app.__main__ import main as duplexcadence

QUESTIONS = Path(__file__).parents[2] / "assets" / "questions"
RATE_HZ = 16000
REPLY_HZ = 24000
SECONDS = 120
LOUD = 0.02
TURN_S = 11.0  # from one question's end to the next one's
BARGE_INS = (3, 7)  # the turns, by number, whose answers are interrupted
BARGE_IN_AFTER_S = 3.2  # from the end of a question to the voice that cuts its answer short

Audio = NDArray[np.float32]


@dataclass(frozen=True)
class Asked:
    """A question in the recording: where its voice starts and ends, in seconds of the recording."""

    name: str
    start_s: float
    end_s: float
    barges_in: bool = False


def loud_span(audio: Audio, rate_hz: int, level: float = LOUD) -> tuple[float, float]:
    """Seconds at which audio first and last is louder than `level`."""
    loud = np.flatnonzero(np.abs(audio) > level)
    return float(loud[0]) / rate_hz, float(loud[-1] + 1) / rate_hz


def recording(long_answers: tuple[str, ...], others: tuple[str, ...]) -> tuple[Audio, list[Asked]]:
    """The user's side of the conversation, and what is asked when."""
    out, asked = np.zeros(SECONDS * RATE_HZ, np.float32), list[Asked]()

    def ask(name: str, end_s: float | None = None, start_s: float | None = None, *, barges_in: bool = False) -> None:
        audio, rate_hz = soundfile.read(QUESTIONS / name, dtype="float32")
        assert rate_hz == RATE_HZ
        first_s, last_s = loud_span(audio, RATE_HZ)
        at = round(((end_s - last_s) if end_s is not None else (start_s or 0) - first_s) * RATE_HZ)
        out[at : at + len(audio)] += audio
        asked.append(Asked(name, at / RATE_HZ + first_s, at / RATE_HZ + last_s, barges_in))

    for turn in range(10):
        phase = turn / 10
        end_s = 4.0 + np.floor(turn * TURN_S) + phase
        if turn in BARGE_INS:
            ask(long_answers[BARGE_INS.index(turn) % len(long_answers)], end_s=end_s)
            ask(others[turn % len(others)], start_s=end_s + BARGE_IN_AFTER_S, barges_in=True)
        else:
            ask(others[turn % len(others)], end_s=end_s)
    return out, asked


@dataclass(frozen=True)
class Measured:
    """What the conversation came to, measured from outside and told by its log."""

    units: int
    overruns: int
    slack_p5_s: float
    slack_min_s: float
    delays_s: tuple[float, ...]
    logged_delays_s: tuple[float, ...]
    unanswered: tuple[str, ...]
    silent_after_s: tuple[float, ...]
    rss_max_bytes: int
    rss_slope_bytes_a_minute: float


def measure(asked: list[Asked], reply: Audio, log: list[dict[str, object]], first_arrival_s: float = 1.0) -> Measured:
    """Measure a conversation. The reply starts with the first chunk's arrival, the recording a cadence before."""
    units = [line for line in log if line["type"] == "unit"]
    loud = np.abs(reply) > LOUD
    delays, unanswered, silent_after = [], [], []
    for index, question in enumerate(asked):
        from_s = question.end_s - first_arrival_s
        until_s = asked[index + 1].start_s - first_arrival_s if index + 1 < len(asked) else len(reply) / REPLY_HZ
        if question.barges_in:  # silence must follow its start; find the last loud sample of the old answer
            start = round((question.start_s - first_arrival_s) * REPLY_HZ)
            window = loud[start : start + 3 * REPLY_HZ // 2 + round((question.end_s - question.start_s) * REPLY_HZ)]
            answer_from = round((from_s + 0.9) * REPLY_HZ) - start
            old = np.flatnonzero(window[: max(0, answer_from)])
            silent_after.append(float(old[-1] + 1) / REPLY_HZ if len(old) else 0.0)
        sounds = np.flatnonzero(loud[max(0, round(from_s * REPLY_HZ)) : round(until_s * REPLY_HZ)])
        if question.barges_in:
            sounds = sounds[sounds > 0.9 * REPLY_HZ]
        if len(sounds):
            delays.append(float(sounds[0]) / REPLY_HZ)
        else:
            unanswered.append(question.name)
    slack = np.array([float(unit["slack_ms"]) for unit in units]) / 1e3  # type: ignore[arg-type]
    rss = np.array([float(unit["memory"]["rss"]) for unit in units])  # type: ignore[index]
    second_half = np.arange(len(rss)) >= len(rss) // 4
    slope = float(np.polyfit(np.flatnonzero(second_half) / 60, rss[second_half], 1)[0])
    return Measured(
        units=len(units),
        overruns=sum(bool(unit["overrun"]) for unit in units),
        slack_p5_s=float(np.percentile(slack, 5)),
        slack_min_s=float(slack.min()),
        delays_s=tuple(delays),
        logged_delays_s=tuple(float(u["response_delay_ms"]) / 1e3 for u in units if "response_delay_ms" in u),  # type: ignore[arg-type]
        unanswered=tuple(unanswered),
        silent_after_s=tuple(silent_after),
        rss_max_bytes=int(rss.max()),
        rss_slope_bytes_a_minute=slope,
    )


def hold(folder: Path, runtime: str, *, realtime: bool) -> Measured:
    """Build the recording, hold it through the command line, and measure."""
    names = [entry["file"] for entry in tomllib.loads((QUESTIONS / "questions.toml").read_text())["question"]]
    long_answers = ("tell_me_about_rain.wav",)
    quick = tuple(name for name in names if name not in long_answers)
    audio, asked = recording(long_answers, quick)
    soundfile.write(folder / "user.wav", audio, RATE_HZ, subtype="PCM_16")
    arguments = [
        "run",
        str(folder / "user.wav"),
        "--out",
        str(folder / "reply.wav"),
        "--log",
        str(folder / "log.jsonl"),
    ]
    arguments += ["--runtime", runtime, *(["--realtime"] if realtime else [])]
    code = duplexcadence(arguments)
    assert code == 0, f"exit code {code}"
    reply, rate_hz = soundfile.read(folder / "reply.wav", dtype="float32")
    assert rate_hz == REPLY_HZ
    log = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    return measure(asked, reply, log)


def table(measured: Measured) -> str:
    """The figures beside the bars of the issue they answer."""
    delays = np.array(measured.delays_s or (np.nan,))
    rows = [
        ("units", f"{measured.units}", ""),
        ("overruns", f"{measured.overruns}", "0"),
        ("slack, 95% of units have at least", f"{measured.slack_p5_s:.3f} s", ">= 0.2 s"),
        ("slack, least", f"{measured.slack_min_s:.3f} s", ""),
        ("response delay, median", f"{np.median(delays):.2f} s", "<= 2.2 s"),
        ("response delay, p95", f"{np.percentile(delays, 95):.2f} s", "<= 3.2 s"),
        ("response delays", " ".join(f"{delay:.2f}" for delay in measured.delays_s), ""),
        ("the log's own", " ".join(f"{delay:.2f}" for delay in measured.logged_delays_s), ""),
        ("unanswered", ", ".join(measured.unanswered) or "none", "none"),
        ("old answer heard after a barge-in began", " ".join(f"{s:.2f} s" for s in measured.silent_after_s), ""),
        ("resident memory, most", f"{measured.rss_max_bytes / 2**30:.2f} GiB", "<= 2.0 GiB"),
        ("its slope", f"{measured.rss_slope_bytes_a_minute / 2**20:+.2f} MiB a minute", "0"),
    ]  # fmt: skip
    return "\n".join(f"{name:42s} {value:44s} {bar}".rstrip() for name, value, bar in rows)


def main() -> None:
    """Hold it and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runtime", default="cadence")
    parser.add_argument("--as-fast-as-it-goes", action="store_true")
    parser.add_argument("--keep", type=Path, help="a folder for the recording, the reply and the log")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = arguments.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        measured = hold(folder, arguments.runtime, realtime=not arguments.as_fast_as_it_goes)
    sys.stdout.write(table(measured) + "\n")


if __name__ == "__main__":
    main()
