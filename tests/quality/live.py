"""Minutes of live talk on a virtual sound card: the real app hears questions and answers them; every sample is sought.

    python -m tests.quality.live [--minutes 30] [--no-window] [--json FILE] [--keep FOLDER]

Says a conversation of spoken questions into the card's microphone, two minutes of `tests.quality.conversation` over and
over, and records its speaker. What the app's own stereo recording holds is compared with what was said and with what
sounded; the response delay is measured between the two sides of that recording, the replies are transcribed and judged.
Counts, memory and the stalls of the window's loop come from `tests.quality.live_watch`. A process on the same machine
plays the card, the user and the listener: the load average stands beside the figures.
"""

import argparse
import json
import os
import platform
import re
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import soundfile
import soxr

from engine.cadence import Statistics
from engine.cadence import measure as measure_log
from engine.models.pocket.hearing import StockHearing
from engine.models.weights import locate
from engine.timing import Fault
from engine.timing.reader import read_log
from tests.app_on_card import AppOnCard
from tests.quality.conversation import LONG_ANSWER, LOUD, RATE_HZ, REPLY_HZ, SECONDS, Asked, Audio, recording
from tests.quality.conversation import measure as measure_sound
from tests.quality.questions import Question, questions, understand
from tests.virtual_card import VirtualCard

NOISE = 2e-4  # of a room: exact zeros would be taken for a muted microphone
SETTLE_S = 20  # PulseAudio changes its ways as the user's voice is connected
PAUSE_S = 0.6  # of silence that parts two utterances
LEAST_S = 0.7  # of an utterance that is sought
NEAR_S = 0.5  # how far from where it should lie
BEGINS_S = 60  # in which the clocks of both sides come to be known
HOURS = ("what_time_is_it.wav", "todays_date.wav")  # right at another time


@dataclass(frozen=True)
class Found:
    """A sound sought in another, an utterance at a time: where they lie.

    Args:
        offset_s: How much later, in the middle.
        begins_ms: How far from there the farthest of the first minute lay: the server changes its ways as a voice
            connects, and the session's clock follows.
        drift_ppm: How much the offset grows, from then on: the card's clock against the session's.
        wander_ms: From the least to the most offset beside that, from then on: a hole would show here.
        alike: The least likeness, from then on.
        utterances: How many were sought in all.
    """

    offset_s: float
    begins_ms: float
    drift_ppm: float
    wander_ms: float
    alike: float
    utterances: int


def user_side(minutes: float) -> tuple[Audio, list[Asked]]:
    """What is said, and when: blocks of two minutes, whose questions take turns."""
    names = [question.file for question in questions()[0] if question.file not in (LONG_ANSWER, *HOURS)]
    blocks, asked = [np.zeros(SETTLE_S * RATE_HZ, np.float32)], list[Asked]()
    for block in range(max(1, round(minutes * 60 / SECONDS))):
        audio, told = recording([*names[block % len(names) :], *names[: block % len(names)]])
        shift_s = SETTLE_S + block * SECONDS
        asked += [replace(one, start_s=one.start_s + shift_s, end_s=one.end_s + shift_s) for one in told]
        blocks.append(audio)
    whole = np.concatenate(blocks)
    noise = NOISE * np.random.default_rng(4).standard_normal(len(whole), np.float32)
    return whole + noise, asked


def utterances(sound: Audio, rate_hz: int) -> list[tuple[float, float]]:
    """Where it sounds, from second to second."""
    loud = np.flatnonzero(np.abs(sound) > LOUD) / rate_hz
    groups = np.split(loud, np.flatnonzero(np.diff(loud) > PAUSE_S) + 1)
    return [(float(group[0]), float(group[-1])) for group in groups if len(group) and group[-1] - group[0] > LEAST_S]


def find(part: Audio, among: Audio) -> tuple[int, float]:
    """Where a stretch lies among other sound, in samples, and how alike it is there."""
    size = 1 << (len(part) + len(among)).bit_length()
    alike = np.fft.irfft(np.fft.rfft(among, size) * np.conj(np.fft.rfft(part, size)), size)[: len(among)]
    at = int(np.argmax(alike))
    energy = float(np.linalg.norm(part) * np.linalg.norm(among[at : at + len(part)]))
    return at, float(alike[at]) / energy if energy else 0.0


def compare(sound: Audio, other: Audio, rate_hz: int) -> Found:
    """Seek a sound's utterances in another sound, in the first minute wherever it is, from then on where it must be."""
    near_s, found = None, list[tuple[float, float, float]]()
    for start_s, end_s in utterances(sound, rate_hz):
        part = sound[round(start_s * rate_hz) : round(end_s * rate_hz)]
        first, last = (
            (0, 150 * rate_hz)
            if near_s is None
            else (
                max(0, round((start_s + near_s - NEAR_S) * rate_hz)),
                round((end_s + near_s + NEAR_S) * rate_hz),
            )
        )
        at, alike = find(part, other[first:last])
        near_s = (first + at) / rate_hz - start_s
        found.append((start_s, near_s, alike))
    at_s, offsets, alikes = np.array(found).T
    settled = at_s > at_s[0] + BEGINS_S
    assert np.count_nonzero(settled) > 2, "too little was said to tell a clock from a hole"
    drift = np.polyfit(at_s[settled], offsets[settled], 1)
    beside = offsets[settled] - np.polyval(drift, at_s[settled])
    middle_s = float(np.median(offsets))
    return Found(
        offset_s=middle_s,
        begins_ms=1e3 * float(np.abs(offsets[~settled] - middle_s).max()),
        drift_ppm=1e6 * float(drift[0]),
        wander_ms=1e3 * float(np.ptp(beside)),
        alike=float(alikes[settled].min()),
        utterances=len(found),
    )


def judge(asked: list[Asked], reply: Audio, later_s: float) -> tuple[int, int, list[str]]:
    """How many replies were right, of how many; answers that were cut short are not judged."""
    listener, known = StockHearing(locate("pocket-whisper")), {one.file: one for one in questions()[0]}
    right, judged, wrong = 0, 0, list[str]()
    ends = [one.start_s for one in asked[1:]] + [asked[-1].end_s + 8]
    for one, until_s in zip(asked, ends, strict=True):
        if one.name == LONG_ANSWER:
            continue
        judged += 1
        span = slice(*(max(0, round((at_s + later_s) * REPLY_HZ)) for at_s in (one.end_s + 0.9, until_s + 0.9)))
        understood = understand(listener, reply[span])
        fits = _right(known[one.name], understood)
        right += fits
        if not fits:
            wrong.append(f"{one.name}: '{understood}'")
    return right, judged, wrong


def _right(question: Question, understood: str) -> bool:
    return any(re.search(accepted, understood) for accepted in question.accepted)


def account(look: dict[str, Any], in_hz: int) -> dict[str, float]:
    """Where every sample went, and what is left over: frames that only wait, and samples that nobody can explain."""
    counts, rate_hz = look["counts"], look["microphone"]["rate_hz"]
    waiting = counts["captured_frames"] - sum(counts[f"{name}_frames"] for name in ("placed", "unplaced", "unread"))
    explained = counts["placed_frames"] * in_hz / rate_hz + counts["filled"] - counts["skipped"]
    return {
        **counts,
        "waiting_frames": waiting,
        "beyond_nominal_ppm": 1e6 * (counts["heard"] - explained) / max(1, counts["heard"]),
    }


def machine() -> dict[str, Any]:
    """What it ran on; no name of its own."""
    models = re.findall(r"(?m)^model name\s*: (.+)$", Path("/proc/cpuinfo").read_text())
    return {
        "processor": models[0] if models else platform.machine(),
        "cores": os.cpu_count(),
        "memory_gib": round(psutil.virtual_memory().total / 2**30, 1),
        "system": f"{platform.system()} {platform.release().split('-')[0]}",
        "python": platform.python_version(),
    }


def hold(folder: Path, minutes: float, *, window: bool) -> dict[str, Any]:
    """Talk for so many minutes, and measure."""
    said, asked = user_side(minutes)
    soundfile.write(folder / "user.wav", said, RATE_HZ, subtype="PCM_16")
    load = [os.getloadavg()[0]]
    card = VirtualCard(folder).start()
    arguments = [str(folder / "watch.json"), "--record", "--log-transcript", *([] if window else ["--no-window"])]
    module = ["tests.quality.live_watch"]
    try:
        with AppOnCard(card, *arguments, module=module, environment={"QT_QPA_PLATFORM": "offscreen"}) as app:
            _wait_for_recording(app)
            with card.recording(REPLY_HZ) as heard:
                time.sleep(1.0)
                speaking = card.play(folder / "user.wav")
                while speaking.poll() is None:
                    time.sleep(10.0)
                    load.append(os.getloadavg()[0])
                time.sleep(6.0)
            code = app.end(signal.SIGTERM)
            said_by_app = [line for _, line in app.lines]
    finally:
        card.kill()
    watched = json.loads((folder / "watch.json").read_text())
    both, rate_hz = soundfile.read(app.recording, dtype="float32")
    assert rate_hz == RATE_HZ
    records = list(read_log(app.log).records())
    figures = measure_log(records)
    reply = heard.samples
    user, agent = compare(said, both[:, 0], RATE_HZ), compare(_at(both[:, 1], RATE_HZ, REPLY_HZ), reply, REPLY_HZ)
    sound = measure_sound(asked, _at(both[:, 1], RATE_HZ, REPLY_HZ), figures, -user.offset_s)
    right, judged, wrong = judge(asked, reply, user.offset_s + agent.offset_s)
    looks = watched["looks"]
    second_half = looks[len(looks) // 2 :]
    return {
        "minutes": minutes,
        "window": window,
        "date": datetime.now().astimezone().isoformat(timespec="minutes"),
        "machine": machine(),
        "versions": read_log(app.log).header.versions,
        "load_average": {"before": load[0], "mean": float(np.mean(load)), "most": max(load)},
        "exit_code": code,
        "log": _figures(figures),
        "faults": sorted({record.message for record in records if isinstance(record, Fault)}),
        "samples": account(looks[-1], RATE_HZ),
        "recorded_samples": len(both),
        "user_found": vars(user),
        "agent_found": vars(agent),
        "voice": looks[-1]["voice"],
        "drift_ppm": [looks[-1][side]["drift_ppm"] for side in ("microphone", "speaker")],
        "response_delay_s": _spread(sound.delays_s),
        "unanswered": sound.unanswered,
        "old_answer_after_barge_in_s": _spread(sound.silent_after_s),
        "answers": {"right": right, "judged": judged, "wrong": wrong},
        "rss_slope_mib_a_minute": _slope([(look["at_s"] / 60, look["rss"] / 2**20) for look in second_half]),
        "rss_mib": looks[-1]["rss"] / 2**20,
        "threads": [min(look["threads"] for look in second_half), max(look["threads"] for look in second_half)],
        "cores_used": (looks[-1]["cpu_s"] - looks[0]["cpu_s"]) / (looks[-1]["at_s"] - looks[0]["at_s"]),
        "longest_stall_ms": watched["stalls_ms"],
        "reached_s": watched["reached_s"],
        "said": said_by_app if code not in (0, 143) else [],
    }


def _wait_for_recording(app: AppOnCard) -> None:
    """A window says nothing: that it talks is seen by its recording, which grows."""
    end = time.monotonic() + 60
    while not (app.sessions and app.recording.is_file() and app.recording.stat().st_size > 4 * RATE_HZ):
        assert app.process.poll() is None, app.said
        assert time.monotonic() < end, f"it does not talk:\n{app.said}"
        time.sleep(0.1)


def _figures(figures: Statistics) -> dict[str, Any]:
    assert figures.slack_ms is not None, "a unit has run"
    return {
        "units": figures.units,
        "events": figures.events,
        "overruns": figures.overruns,
        "slack_ms": vars(figures.slack_ms),
        "response_delay_ms": vars(figures.response_delay_ms) if figures.response_delay_ms else None,
        "underflows": figures.underflows,
        "gap_ms": figures.gap_ms,
        "overflows": figures.overflows,
        "dropped_ms": figures.dropped_ms,
        "dead_air_ms": figures.dead_air_ms,
        "faults": figures.faults,
    }


def _at(samples: Audio, rate_hz: int, other_hz: int) -> Audio:
    resampled: Audio = soxr.resample(np.ascontiguousarray(samples), rate_hz, other_hz)
    return resampled


def _found(found: dict[str, float]) -> str:
    return (
        f"{found['utterances']} utterances, at first {found['begins_ms']:.1f} ms off, then "
        f"{found['drift_ppm']:+.1f} ppm, wander {found['wander_ms']:.2f} ms, likeness {found['alike']:.3f}"
    )


def _spread(values: Sequence[float]) -> dict[str, float]:
    if not values:
        return {"count": 0}
    return {
        "count": len(values),
        "median": float(np.median(values)),
        "p95": float(np.quantile(values, 0.95)),
        "worst": max(values),
    }


def _slope(points: list[tuple[float, float]]) -> float:
    return float(np.polyfit(*np.array(points).T, 1)[0]) if len(points) > 2 else 0.0


def table(told: dict[str, Any]) -> str:
    """A line a figure, beside the bar that it is held to."""
    log, samples, delays = told["log"], told["samples"], told["response_delay_s"]
    user, agent, load = told["user_found"], told["agent_found"], told["load_average"]
    rows = [
        ("talked", f"{told['minutes']:g} minutes, {log['units']} units, {'window' if told['window'] else 'lines'}", ""),
        ("load average (before, mean, most)", f"{load['before']:.2f} {load['mean']:.2f} {load['most']:.2f}", ""),
        ("overruns", f"{log['overruns']}", "0"),
        (
            "slack: median, p95 keep, least",
            " ".join(f"{log['slack_ms'][k]:.0f} ms" for k in ("median", "p95", "worst")),
            "",
        ),
        (
            "response delay: median, p95, worst",
            " ".join(f"{delays.get(k, 0):.2f} s" for k in ("median", "p95", "worst")),
            "",
        ),
        (
            "answers right, judged; unanswered",
            f"{told['answers']['right']} of {told['answers']['judged']}; {len(told['unanswered'])}",
            "",
        ),
        (
            "old answer after a barge-in, worst",
            f"{told['old_answer_after_barge_in_s'].get('worst', 0):.2f} s",
            "<= 2 s",
        ),
        (
            "frames captured = placed + unplaced +",
            f"{samples['captured_frames']} = {samples['placed_frames']} + {samples['unplaced_frames']} +",
            "",
        ),
        ("  unread + waiting", f"{samples['unread_frames']} + {samples['waiting_frames']}", "0 unread"),
        (
            "samples heard, filled, skipped",
            f"{samples['heard']} {samples['filled']} {samples['skipped']}",
            "0 filled, 0 skipped",
        ),
        ("driver's overflows, underflows", f"{samples['overflows']} {samples['underflows']}", "0 0"),
        ("voice: gaps, gap time", f"{log['underflows']}, {log['gap_ms']:.0f} ms", "0"),
        ("microphone lost", f"{log['dropped_ms']:.0f} ms", "0"),
        (
            "the user's side, found in the recording",
            _found(user),
            "wander < 2 ms",
        ),
        (
            "the agent's, found at the speaker",
            _found(agent),
            "wander < 2 ms",
        ),
        ("drift: microphone, speaker", " ".join(f"{ppm:+.1f} ppm" for ppm in told["drift_ppm"]), ""),
        (
            "resident memory, its slope",
            f"{told['rss_mib']:.0f} MiB, {told['rss_slope_mib_a_minute']:+.3f} MiB a minute",
            "0",
        ),
        ("threads, least and most", " ".join(map(str, told["threads"])), "equal"),
        (
            "started: phases after so many seconds",
            ", ".join(f"{what} {at_s:.1f}" for what, at_s in told["reached_s"].items()) or "-",
            "loading 3, talking 8",
        ),
        ("cores used", f"{told['cores_used']:.2f}", ""),
        (
            "longest stall of the window's loop",
            ", ".join(f"{phase} {ms:.0f} ms" for phase, ms in told["longest_stall_ms"].items()) or "-",
            "talking 50, loading 150",
        ),
        ("faults", "; ".join(told["faults"]) or "none", "none"),
    ]
    return "\n".join(f"{name:40s} {value:56s} {bar}".rstrip() for name, value, bar in rows)


def main() -> None:
    """Talk, print the table, write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=30, help="in steps of two")
    parser.add_argument("--no-window", action="store_true", help="in lines, in place of the window, offscreen")
    parser.add_argument("--json", type=Path, help="where the figures go")
    parser.add_argument(
        "--keep", type=Path, metavar="FOLDER", help="keep the sounds, the log and the watch's looks there"
    )
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="live"))  # short: a socket's path must be
    try:
        told = hold(folder, arguments.minutes, window=not arguments.no_window)
        told["command"] = (
            f"python -m tests.quality.live --minutes {arguments.minutes:g}{' --no-window' * arguments.no_window}"
        )
    finally:
        if arguments.keep is not None:
            shutil.copytree(
                folder,
                arguments.keep,
                dirs_exist_ok=True,
                symlinks=True,
                ignore=shutil.ignore_patterns("native", ".asoundrc"),
            )
        shutil.rmtree(folder, ignore_errors=True)
    if arguments.json is not None:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(told, indent=1) + "\n")
    sys.stdout.write(table(told) + "\n")


if __name__ == "__main__":
    main()
