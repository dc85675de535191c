"""The fifteen spoken questions, put to the whole of Pocket in one conversation.

    python -m tests.quality.questions [--runtime cadence|library|stock] [--keep FOLDER]

Each is asked once what was said before has sounded, on a clock that stands still while Pocket works: what counts is
what it says, whatever else the machine has to do (`tests.quality.conversation` measures its time). What a listener
hears of the reply is cut from the conversation's WAV, transcribed by Whisper tiny.en as its library runs it by default,
and matched with the accepted answers of `assets/questions/questions.toml`. The bar is 13 right.
"""

import argparse
import re
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import numpy as np
import soundfile
import soxr
from numpy.typing import NDArray

from app import wiring
from app.audio_file import ReplyFile
from engine.chunk import Chunk
from engine.clock import Clock
from engine.models.pocket.build import build
from engine.models.pocket.hearing import StockHearing
from engine.models.weights import locate
from engine.session import Session
from engine.step import Said
from tests.quality.normalise import normalise

FOLDER = Path(__file__).parents[2] / "assets" / "questions"
BAR, BY_MODEL_BAR = 13, 8
MUST = ("capital_of_france.wav", "tell_me_about_rain.wav")
HEARD_HZ, REPLY_HZ = 16_000, 24_000
PATIENCE_S = 30


@dataclass(frozen=True)
class Question:
    """A spoken question and what is right."""

    file: str
    text: str
    by: str
    accepted: tuple[str, ...]


@dataclass(frozen=True)
class Turn:
    """What became of a question: the session's seconds that it took, and what was told in them."""

    start_s: int
    end_s: int
    told: tuple[Said, ...]


@dataclass(frozen=True)
class Result:
    """A question, its turn, and what a listener understood of the reply."""

    question: Question
    turn: Turn
    understood: str

    @property
    def right(self) -> bool:
        """Whether the reply, as understood, is an accepted answer."""
        return any(re.search(accepted, self.understood) for accepted in self.question.accepted)

    @property
    def source(self) -> str:
        """Who answered: "intent", "model", or nobody."""
        return next((line.source for line in self.turn.told if line.who == "agent"), "")


class PatientClock:
    """Time that passes only where someone waits for it: work takes none."""

    def __init__(self) -> None:
        self._now_ns = 0

    def now_ns(self) -> int:
        return self._now_ns

    def sleep_until_ns(self, when_ns: int) -> None:
        self._now_ns = max(self._now_ns, when_ns)


def questions() -> tuple[list[Question], datetime]:
    """The fifteen, and the wall clock that the session is given."""
    declared = tomllib.loads((FOLDER / "questions.toml").read_text(encoding="utf-8"))
    asked = [Question(one["file"], one["text"], one["by"], tuple(one["accepted"])) for one in declared["question"]]
    return asked, declared["context"]["now"]


def put(runtime: str, reply: Path) -> list[Result]:
    """Ask them all, and judge the replies.

    Args:
        runtime: "cadence", "library" or "stock".
        reply: The WAV to write: what a listener hears of the whole conversation.
    """
    asked, now = questions()
    built = build(runtime, now=lambda: now)
    built.model.prepare()
    clock, file = PatientClock(), ReplyFile(reply, REPLY_HZ)
    with wiring.headless(
        built, clock, reply=file, log=None, source="questions", realtime=False, transcript=True, tell=sys.stderr.write
    ) as held:
        origin_ns = clock.now_ns()
        held.session.begin(origin_ns)
        held.speaker.begin(origin_ns)
        turns = list(_turns(held.session, clock, asked))
        held.speaker.advance(held.session.arrival_ns(turns[-1].end_s))
    file.close()
    heard, rate_hz = soundfile.read(reply, dtype="float32")
    assert rate_hz == REPLY_HZ
    judge = StockHearing(locate("pocket-whisper"))
    return [
        Result(one, turn, understand(judge, heard[turn.start_s * REPLY_HZ : turn.end_s * REPLY_HZ]))
        for one, turn in zip(asked, turns, strict=True)
    ]


def _turns(session: Session, clock: Clock, asked: list[Question]) -> Iterator[Turn]:
    index = 0
    for question in asked:
        audio, rate_hz = soundfile.read(FOLDER / question.file, dtype="float32")
        assert rate_hz == HEARD_HZ
        spoken = np.pad(audio, (0, -len(audio) % HEARD_HZ)).reshape(-1, HEARD_HZ)
        silence = np.zeros((PATIENCE_S, HEARD_HZ), np.float32)
        start, told = index, list[Said]()
        for at, samples in enumerate([*spoken, *silence]):
            if at > len(spoken) and session.idle:
                break
            clock.sleep_until_ns(session.arrival_ns(index))
            told += session.run_unit(Chunk(index, index * HEARD_HZ, samples)).outcome.transcript
            index += 1
        yield Turn(start, index, tuple(told))


def understand(judge: StockHearing, reply: NDArray[np.float32]) -> str:
    """What a listener understands, normalised; empty where nothing sounds."""
    sounding = np.flatnonzero(reply)
    if not len(sounding):
        return ""
    voice = reply[sounding[0] : sounding[-1] + 1]
    return normalise(judge.transcribe(soxr.resample(voice, REPLY_HZ, HEARD_HZ)).text)


def table(results: list[Result]) -> str:
    """A paragraph a question, then the count."""
    lines = []
    for one in results:
        heard = " ".join(line.text for line in one.turn.told if line.kind == "heard")
        said = " ".join(
            f"{line.text}{' [unsaid]' * (line.kind == 'unsaid')}" for line in one.turn.told if line.who == "agent"
        )
        lines.append(
            f"{'right' if one.right else 'WRONG'}  {one.question.file}  by {one.source or 'nobody'}"
            f"{'' if one.source == one.question.by else f', meant for {one.question.by}'}\n"
            f"       asked       {one.question.text}\n       heard       {heard}\n"
            f"       said        {said}\n       understood  {one.understood}"
        )
    right = [one for one in results if one.right]
    by_model = sum(one.source == "model" for one in right)
    lines.append(
        f"{len(right)} of {len(results)} right (bar: {BAR}), {by_model} of them by the model (bar: {BY_MODEL_BAR})"
    )
    return "\n".join(lines)


def main() -> None:
    """Put them and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runtime", default="cadence", choices=("cadence", "library", "stock"))
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep the conversation's WAV there")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = arguments.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        sys.stdout.write(table(put(arguments.runtime, folder / "questions.wav")) + "\n")


if __name__ == "__main__":
    main()
