"""A listener is told every change of state once, never while the agent speaks, faults excepted."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from app.audio.state import EchoMode
from app.live.snapshot import Listening, Phase, Progress, Snapshot
from app.window.announcements import FAULTS_APART_NS, Announcer
from engine.timing import Fault

TALKING = Snapshot(phase=Phase.TALKING, hearing=True)

phases = some.sampled_from(list(Phase))
snapshots = some.builds(
    Snapshot,
    phase=phases,
    sounding=some.booleans(),
    muted=some.booleans(),
    hearing=some.booleans(),
    message=some.sampled_from(["", "the microphone is gone", "weights are missing"]),
    progress=some.none() | some.builds(Progress, some.just("words"), some.none() | some.floats(0, 1)),
    listening=some.sampled_from(list(Listening)),
    faults=some.lists(some.integers(0, 20).map(lambda second: faulty(second)), max_size=3).map(tuple),
)


def faulty(second: int, message: str = "the speaker lacked samples") -> Fault:
    return Fault(index=second, at_ns=second * 1_000_000_000, stage=None, message=message)


def told(announcer: Announcer, *seen: Snapshot) -> list[str]:
    return [announcement.text for snapshot in seen for announcement in announcer.see(snapshot)]


@given(some.lists(snapshots, max_size=12))
@settings(max_examples=80)
def test_only_what_is_urgent_is_said_while_the_agent_speaks(seen: list[Snapshot]) -> None:
    announcer = Announcer()
    for snapshot in seen:
        for announcement in announcer.see(snapshot):
            assert announcement.urgent or not snapshot.sounding


@given(some.lists(snapshots, min_size=1, max_size=12))
@settings(max_examples=80)
def test_nothing_is_said_where_nothing_changes(seen: list[Snapshot]) -> None:
    announcer = Announcer()
    told(announcer, *seen)
    last = replace(seen[-1], sounding=False)
    told(announcer, last)
    assert told(announcer, last, last, last) == []


@pytest.mark.parametrize("phase", [Phase.FETCHING, Phase.LOADING, Phase.TALKING, Phase.STOPPING])
def test_each_phase_is_said_as_it_begins(phase: Phase) -> None:
    assert len(told(Announcer(), Snapshot(phase=phase))) == 1


def test_what_cannot_go_on_is_said_at_once_with_the_reason() -> None:
    announcer = Announcer()
    told(announcer, replace(TALKING, sounding=True))
    lost = replace(TALKING, phase=Phase.PAUSED, message="the microphone is gone", sounding=True)
    (announcement,) = announcer.see(lost)
    assert announcement.urgent
    assert "the microphone is gone" in announcement.text


def test_of_what_has_waited_only_the_newest_is_said() -> None:
    announcer = Announcer()
    speaking = replace(TALKING, sounding=True)
    told(announcer, TALKING)
    assert told(announcer, speaking, replace(speaking, muted=True), speaking, replace(speaking, muted=True)) == []
    assert told(announcer, replace(TALKING, muted=True)) == ["Microphone muted."]


def test_a_storm_of_faults_is_said_once_in_a_while() -> None:
    announcer = Announcer()
    storm = [replace(TALKING, faults=(faulty(0, f"lost {number}"),)) for number in range(50)]
    assert sum("lost" in line for line in told(announcer, *storm)) == 1
    later = Fault(index=9, at_ns=FAULTS_APART_NS, stage=None, message="lost again")
    assert told(announcer, replace(TALKING, faults=(later,))) == ["Fault: lost again"]


def test_a_new_sessions_first_fault_is_said_though_its_time_began_anew() -> None:
    announcer = Announcer()
    told(announcer, replace(TALKING, faults=(faulty(100),)))
    assert told(announcer, replace(TALKING, faults=(faulty(1),))) == ["Fault: the speaker lacked samples"]


def test_the_talk_key_is_heard_and_half_duplex_is_not() -> None:
    toggling = replace(TALKING, listening=Listening.TOGGLE, hearing=False)
    announcer = Announcer()
    told(announcer, toggling)
    assert told(announcer, replace(toggling, hearing=True)) == ["Listening."]
    turns = replace(TALKING, echo=EchoMode.HALF_DUPLEX)
    announcer = Announcer()
    told(announcer, turns)
    assert told(announcer, replace(turns, hearing=False, sounding=True), turns) == []


def test_progress_is_said_in_quarters() -> None:
    announcer = Announcer()
    steps = [Snapshot(phase=Phase.FETCHING, progress=Progress("Fetching the words", done / 100)) for done in range(101)]
    assert told(announcer, *steps)[1:] == ["Fetching the words.", "25 percent.", "50 percent.", "75 percent."]
