"""A listener is told every change of state once, never while the agent speaks, faults excepted."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from app.audio.state import EchoMode
from app.live.snapshot import Listening, Phase, Progress, Snapshot
from app.window.announcements import FAULTS_APART_S, Announcer
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


class Clock:
    """Moved by hand."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def test_of_a_storm_of_faults_the_newest_is_said_once_in_a_while_and_none_is_lost() -> None:
    clock = Clock()
    announcer = Announcer(clock)
    storm = tuple(faulty(0, f"lost {number}") for number in range(20))
    said = told(announcer, *(replace(TALKING, faults=storm[: 1 + number]) for number in range(20)))
    assert said == ["Fault: lost 0", "Talking. Speak now."]
    clock.now_s = FAULTS_APART_S - 0.1
    assert told(announcer, replace(TALKING, faults=storm)) == []
    clock.now_s = FAULTS_APART_S
    assert told(announcer, *[replace(TALKING, faults=storm)] * 3) == ["Fault: lost 19 (19 faults)"]


def test_another_fault_soon_after_is_said_once_the_while_is_over_though_the_session_has_ended() -> None:
    clock = Clock()
    announcer = Announcer(clock)
    told(announcer, replace(TALKING, faults=(faulty(1),)))
    clock.now_s = 2
    assert told(announcer, replace(TALKING, faults=(faulty(1), faulty(3, "the audio was not finite")))) == []
    ended = told(announcer, Snapshot(faults=(faulty(1), faulty(3, "the audio was not finite"))), Snapshot())
    assert ended == ["The conversation has ended."]
    clock.now_s = 20
    assert told(announcer, Snapshot()) == ["Fault: the audio was not finite"]
    assert told(announcer, Snapshot()) == []


def test_another_sessions_faults_are_new_though_they_are_like_the_old() -> None:
    clock = Clock()
    announcer = Announcer(clock)
    told(announcer, replace(TALKING, faults=(faulty(1),)), TALKING)
    clock.now_s = FAULTS_APART_S
    assert told(announcer, replace(TALKING, faults=(faulty(1),))) == ["Fault: the speaker lacked samples"]


def test_a_message_that_comes_with_another_phase_is_said_once() -> None:
    stopping, line = Snapshot(phase=Phase.STOPPING), "the model goes on loading"
    announcer = Announcer()
    told(announcer, stopping)
    assert told(announcer, *[Snapshot(message=line)] * 3) == ["The conversation has ended.", line]
    announcer = Announcer()
    told(announcer, TALKING)
    failed = Snapshot(phase=Phase.FAILED, message="no microphone")
    assert told(announcer, failed, failed) == ["Failed. no microphone"]


def test_what_no_snapshot_tells_waits_for_silence_too() -> None:
    announcer = Announcer()
    told(announcer, TALKING)
    announcer.say("notice", "Exporting to a.csv …")
    announcer.say("notice", "Exported to a.csv.")
    assert told(announcer, replace(TALKING, sounding=True)) == []
    assert told(announcer, TALKING, TALKING) == ["Exported to a.csv."]


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
