"""Sessions that were held on machines that are not here, and ship: real logs, what they are, and how they were made.

A set is a folder under `assets/sessions` with an `about.toml` and a log a session. Where weights are random the voice
is noise: then a licensed speech track is cut by the logged gaps, and whoever hears it is told exactly that. Any thread.
"""

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Literal

import msgspec

import assets
from app.demo.sounds import cut_speech, flac, read_track
from engine.comparison import Measured, measured
from engine.comparison.session import nobody_waits
from engine.errors import AskedWrongly
from engine.export.report import Report, Shown, Sound
from engine.timing import Log, read_log

ROOT = Path(assets.__file__).parent
SESSIONS = ROOT / "sessions"
ABOUT = "about.toml"
METHOD = (
    "These sessions were not held on this machine: their logs were, by the commands below, and ship with this program. "
    "Every figure is worked out from them anew. Lateness is finish minus deadline by the monotonic clock; a gap is "
    "counted by the playout; voices are compared by the hashes that each session wrote into its own log."
)
RANDOM = (
    "The weights of these sessions are random: times, memory and bits are true, but the voice is noise, and you do not "
    "hear it. What you hear is a speech track ({source}, {licence}), heard where the log says that the voice was, and "
    "silent where the log says that it was due and missing. The model spoke none of its words."
)
RELEASED = "What is heard is the agent's voice as it came, gaps where they fell."

Text = Annotated[str, msgspec.Meta(min_length=1)]


class Described(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One session of a set.

    Args:
        name: What it is called: "released", "pinned", "cadence".
        what: What that is, in a sentence.
        log: Its log, in the set's folder.
        change: What differs from the session before it; empty for the first.
        sound: What was heard of it, from the session's start, in the set's folder; empty where weights are random.
    """

    name: Text
    what: Text
    log: Text
    change: str = ""
    sound: str = ""


class Speech(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A speech track that stands in for a voice that is noise.

    Args:
        files: One after the other, from the assets' folder.
        source: Whose it is.
        licence: Its licence.
    """

    files: Annotated[tuple[Text, ...], msgspec.Meta(min_length=1)]
    source: Text
    licence: Text


class About(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a set says of itself.

    Args:
        schema: 1.
        title: A line.
        held: What was held, in a sentence: script, scripted or free, how long.
        machine: On what.
        made: When, as a date.
        commands: What made the logs.
        weights: "random" or "released".
        licence: Of the logs.
        session: Two to six; the first is what the others are held against.
        speech: Where weights are random.
    """

    schema: Literal[1]
    title: Text
    held: Text
    machine: Text
    made: Text
    commands: Annotated[tuple[Text, ...], msgspec.Meta(min_length=1)]
    weights: Literal["random", "released"]
    licence: Text
    session: Annotated[tuple[Described, ...], msgspec.Meta(min_length=2, max_length=6)]
    speech: Speech | None = None


class Recorded(msgspec.Struct, frozen=True):
    """A set that is here.

    Args:
        name: The folder's.
        folder: Where it is.
        about: What it says of itself.
    """

    name: str
    folder: Path
    about: About

    def logs(self) -> list[Log]:
        """Its logs, opened.

        Raises:
            BadLog: One is none of ours.
        """
        return [read_log(self.folder / each.log) for each in self.about.session]


def recorded_sets(sessions: Path = SESSIONS) -> list[Recorded]:
    """All that ship, by name.

    Raises:
        AskedWrongly: One's description is not right; says what in it.
    """
    if not sessions.is_dir():
        return []
    return [_read(about.parent) for about in sorted(sessions.glob(f"*/{ABOUT}"))]


def find_recorded(name: str, sessions: Path = SESSIONS) -> Recorded:
    """The set of that name.

    Raises:
        AskedWrongly: There is none, or its description is not right.
    """
    there = recorded_sets(sessions)
    for each in there:
        if each.name == name:
            return each
    named = ", ".join(each.name for each in there)
    raise AskedWrongly(
        f"there is no recorded set {name!r}", f"one of {named}" if named else "one that ships; none does"
    )


def recorded_report(
    recorded: Recorded, command: str, *, root: Path = ROOT, tick: Callable[[], None] = nobody_waits
) -> Report:
    """A report of a set, its figures worked out anew.

    Args:
        recorded: The set.
        command: What makes the report again.
        root: What the speech track's files are found from.
        tick: As `measured`.

    Raises:
        BadLog: A log cannot be read.
    """
    about = recorded.about
    sessions = [measured(log, each.name, tick=tick) for log, each in zip(recorded.logs(), about.session, strict=True)]
    versions = sessions[0].header.versions
    return Report(
        title=about.title,
        lead=f"{about.held} Held on {about.machine}, {about.made}; weights: {about.weights}.",
        shown=tuple(
            Shown(each.what, (session,), sound_of(recorded, each, session, root))
            for each, session in zip(about.session, sessions, strict=True)
        ),
        changes=tuple(each.change for each in about.session[1:]),
        environment=(
            ("model", sessions[0].header.model),
            ("machine", about.machine),
            ("weights", about.weights),
            ("versions", ", ".join(f"{name} {version}" for name, version in versions.items())),
            ("made", about.made),
            ("licence of the logs", about.licence),
        ),
        method=METHOD,
        commands=(*about.commands, command),
    )


def sound_of(recorded: Recorded, described: Described, session: Measured, root: Path = ROOT) -> Sound:
    """What is heard of one session of a set, and what that is, in words."""
    about = recorded.about
    if about.speech is None:
        return Sound(flac(read_track([recorded.folder / described.sound])), 0.0, RELEASED)
    track = read_track([root / name for name in about.speech.files])
    words = RANDOM.format(source=about.speech.source, licence=about.speech.licence)
    return Sound(flac(cut_speech(track, session)), 0.0, words)


def _read(folder: Path) -> Recorded:
    path = folder / ABOUT
    try:
        about = msgspec.convert(tomllib.loads(path.read_text("utf-8")), About)
    except (OSError, ValueError, msgspec.ValidationError) as error:
        raise AskedWrongly(f"the recorded set {folder.name} cannot be read ({error})", f"a right {ABOUT}") from None
    if (about.weights == "random") != (about.speech is not None):
        raise AskedWrongly(
            f"the recorded set {folder.name} has {about.weights} weights and {'a' if about.speech else 'no'} speech "
            "track",
            "a speech track where weights are random, and there alone",
        )
    for each in about.session:
        if (about.weights == "released") != bool(each.sound):
            raise AskedWrongly(
                f"{each.name} of the recorded set {folder.name} has {'a' if each.sound else 'no'} sound",
                "a sound where weights are released, and there alone",
            )
    return Recorded(folder.name, folder, about)
