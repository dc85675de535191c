"""Sessions that can be set side by side: conversations, runs of the comparison on this computer, and what ships.

What each sounds like is told in words, and made into samples once somebody listens. Knows no window. Any thread but
[ui]: a disk may be slow.
"""

import io
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import soundfile

from app.audio_file import SpeechFile
from app.demo.files import CONVERSATION, log_path, reply_path
from app.demo.making import SOUND as BOTH_SIDES
from app.demo.recorded import RANDOM, RELEASED, SESSIONS, Described, Recorded, recorded_sets, sound_of
from app.demo.sounds import RATE_HZ, both_sides
from app.live.sessions import PastSession, Sessions, summary
from app.live.snapshot import Track
from engine.comparison import Measured
from engine.errors import AskedWrongly, BadLog
from engine.ring import Samples
from engine.runtime import RUNTIMES

ORDER = tuple(reversed(RUNTIMES))  # from before to after
RECORDED = "Both sides as they were recorded: you, and the agent as it really sounded, gaps where they fell."
NO_SOUND = "No sound was kept of this session."
MOST_RUNS = 20  # of the comparison that are listed

Blocks = Callable[[Measured], Iterable[Samples]]


@dataclass(frozen=True)
class Candidate:
    """A session that can be compared.

    Args:
        session: What a list tells of it.
        name: What it is called beside others of its set; empty where its runtime says it.
        what: What it is, in a sentence; may be empty.
        says: What is heard of it, exactly.
        blocks: Its sound at `RATE_HZ`; None where there is none.
        ahead: Whether that begins with the first chunk's sound, a cadence before the session does.
    """

    session: PastSession
    name: str = ""
    what: str = ""
    says: str = NO_SOUND
    blocks: Blocks | None = None
    ahead: bool = False

    @property
    def log(self) -> Path:
        """Its log, by which it is known."""
        return self.session.log

    def track(self, measured: Measured, from_ns: int) -> Track | None:
        """Its sound, to be listened to from a moment of it; None where there is none."""
        make = self.blocks
        if make is None:
            return None
        begins_ns = -round(measured.figures.cadence_ms * 1e6) if self.ahead else 0
        return Track(str(self.log), RATE_HZ, begins_ns, max(from_ns, begins_ns), lambda: make(measured))


@dataclass(frozen=True)
class Group:
    """Candidates that belong together.

    Args:
        title: A line.
        about: More of it; may be empty.
        candidates: In order.
        whole: Whether all of them, and no others, make a comparison.
        here: Whether it is a run on this computer.
        trouble: Why it cannot be shown; empty where it can.
    """

    title: str
    about: str
    candidates: tuple[Candidate, ...]
    whole: bool = False
    here: bool = False
    trouble: str = ""


def groups(sessions: Sessions, runs: Path, shipped: Path = SESSIONS) -> list[Group]:
    """All there is to compare: runs here with the newest first, what ships, and conversations.

    Args:
        sessions: Conversations.
        runs: The folder of the comparison's runs on this computer; it need not exist.
        shipped: The folder of what ships.
    """
    found = [*_runs(runs), *_shipped(shipped)]
    talks = tuple(_talk(session) for session in sessions.list() if not session.damage)
    return [*found, Group("Your conversations", "", talks)] if talks else found


def from_file(path: Path) -> Candidate:
    """A log from anywhere.

    Raises:
        BadLog: It is none of ours.
    """
    try:
        return Candidate(replace(_summary(path), recording=None), what=path.name)
    except (OSError, ValueError) as error:
        raise BadLog(f"{path} cannot be read ({error})", "a timing log (.jsonl)") from None


def run_group(folder: Path) -> Group | None:
    """A run of the comparison, as far as it came; None where nothing of it is there."""
    candidates = tuple(_run(folder))
    if not candidates:
        return None
    began = min(each.session.began for each in candidates)
    title = f"Run on this computer, {began.astimezone():%Y-%m-%d %H:%M}"
    return Group(title, "One recorded conversation, on one runtime after the other.", candidates, whole=True, here=True)


def _runs(runs: Path) -> Iterator[Group]:
    with suppress(OSError):  # none yet
        for folder in sorted(runs.iterdir(), reverse=True)[:MOST_RUNS]:
            if (group := run_group(folder)) is not None:
                yield group


def _run(folder: Path) -> Iterator[Candidate]:
    for runtime in ORDER:
        with suppress(OSError, BadLog, ValueError):  # it was not held, or called off
            session = _summary(log_path(folder, runtime, 1))
            reply, recording = reply_path(folder, runtime), folder / CONVERSATION
            heard = reply.is_file() and recording.is_file()
            yield Candidate(
                session,
                says=BOTH_SIDES if heard else NO_SOUND,
                blocks=partial(_both_sides, recording, reply) if heard else None,
                ahead=True,
            )


def _shipped(folder: Path) -> Iterator[Group]:
    try:
        sets = recorded_sets(folder)
    except AskedWrongly as error:
        yield Group("Recorded elsewhere", "", (), trouble=str(error))
        return
    for each in sets:
        about = f"{each.about.held} Held on {each.about.machine}, {each.about.made}; weights: {each.about.weights}."
        try:
            candidates = tuple(_recorded(each, described) for described in each.about.session)
        except (BadLog, ValueError) as error:
            yield Group(each.about.title, about, (), trouble=str(error))
        else:
            yield Group(each.about.title, about, candidates, whole=True)


def _recorded(recorded: Recorded, described: Described) -> Candidate:
    speech = recorded.about.speech
    says = RELEASED if speech is None else RANDOM.format(source=speech.source, licence=speech.licence)
    session = replace(_summary(recorded.folder / described.log), recording=None)
    return Candidate(session, described.name, described.what, says, partial(_of_set, recorded, described))


def _talk(session: PastSession) -> Candidate:
    if session.recording is None:
        return Candidate(session)
    return Candidate(session, says=RECORDED, blocks=partial(_recording, session.recording), ahead=True)


def _summary(path: Path) -> PastSession:
    return summary(path.parent, path)


def _both_sides(recording: Path, reply: Path, measured: Measured) -> Iterable[Samples]:
    yield _decoded(both_sides(recording, reply, measured.figures.cadence_ms / 1000))


def _of_set(recorded: Recorded, described: Described, measured: Measured) -> Iterable[Samples]:
    yield _decoded(sound_of(recorded, described, measured).flac)


def _recording(path: Path, measured: Measured) -> Iterable[Samples]:
    return SpeechFile(path, RATE_HZ).blocks()


def _decoded(flac: bytes) -> Samples:
    samples: Samples = soundfile.read(io.BytesIO(flac), dtype="float32")[0]
    return samples
