"""One runtime after the other; progress is told, others' work is seen, and what was held is kept."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import soundfile

from app.demo import course, holding
from app.demo.course import Held, Progress, foreign_seconds, hold_all
from app.demo.files import log_path, reply_path
from app.demo.holding import Part, hold_rounds
from engine.clock import SkippingClock
from engine.errors import AskedWrongly
from engine.timing import read_log
from tests.app.told_model import Stage, stage
from tests.demo.made_up import head, records
from tests.fakes import tone
from tests.made_up_sessions import write

__all__ = ["stage"]


def no_progress(_: Progress) -> None: ...


def holds(target: Any, part: Part, *, tick: Callable[[], None]) -> None:
    """As a process would, and at once."""
    assert target is hold_rounds
    tick()
    for number in range(1, part.rounds + 1):
        write(
            log_path(part.folder, part.runtime, number), records(part.runtime), head(part.runtime, realtime=number == 1)
        )
        tick()
    reply_path(part.folder, part.runtime).write_bytes(b"")


def test_each_runtime_is_held_after_the_other_and_tells_how_far_it_is(tmp_path: Path) -> None:
    told, done = list[Progress](), list[str]()
    held = hold_all(
        "pocket", ("stock", "cadence"), tmp_path / "c.wav", tmp_path, 2,
        progress=told.append, done=lambda each: done.append(each.runtime), hold=holds,
    )  # fmt: skip
    assert done == ["stock", "cadence"]
    assert [(each.runtime, each.round, each.units) for each in told] == [
        ("stock", 0, 0), ("stock", 1, 5), ("stock", 2, 5), ("cadence", 0, 0), ("cadence", 1, 5), ("cadence", 2, 5),
    ]  # fmt: skip
    assert [len(each.logs) for each in held] == [2, 2]
    for each in held:
        assert len(each.others) == 2
        assert all(0 <= share <= 1 for share in each.others)


def test_logs_of_an_older_demo_are_not_taken_for_this_ones(tmp_path: Path) -> None:
    write(log_path(tmp_path, "cadence", 2), records("cadence"))

    def slow(target: Any, part: Part, *, tick: Callable[[], None]) -> None:
        holds(target, Part(part.model, part.runtime, part.recording, part.folder, 1), tick=tick)

    (held,) = hold_all("pocket", ("cadence",), tmp_path / "c.wav", tmp_path, 3, progress=no_progress, hold=slow)
    assert held.logs == (log_path(tmp_path, "cadence", 1),)


def test_what_was_held_is_kept_when_it_is_called_off(tmp_path: Path) -> None:
    def stop(now: Progress) -> None:
        if now.runtime == "cadence" and now.round == 1:
            (tmp_path / ".cadence.wav.12.part").write_bytes(b"half")
            raise KeyboardInterrupt

    done = list[Held]()
    with pytest.raises(KeyboardInterrupt):
        hold_all(
            "pocket", ("stock", "cadence"), tmp_path / "c.wav", tmp_path, 2,
            progress=stop, done=done.append, hold=holds,
        )  # fmt: skip
    assert [each.runtime for each in done] == ["stock"]
    assert all(log.exists() for log in done[0].logs)
    assert not list(tmp_path.glob(".*.part"))


@pytest.mark.parametrize(("runtimes", "rounds"), [((), 1), (("stock", "stock"), 1), (("stock",), 0)])
def test_nothing_and_one_thing_twice_are_refused(tmp_path: Path, runtimes: tuple[str, ...], rounds: int) -> None:
    with pytest.raises(AskedWrongly, match="each runtime once, and a round at least"):
        hold_all("pocket", runtimes, tmp_path / "c.wav", tmp_path, rounds, progress=no_progress, hold=holds)


class Times:
    """A system's account of its processors."""

    def __init__(self, user: float, idle: float) -> None:
        self.user, self.idle = user, idle

    def __iter__(self) -> Any:
        return iter((self.user, self.idle))


def test_others_work_is_what_is_neither_idle_nor_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    child = SimpleNamespace(cpu_times=lambda: SimpleNamespace(user=2.0, system=1.0))
    own = SimpleNamespace(user=10.0, system=5.0, children_user=4.0, children_system=3.0)
    process = SimpleNamespace(cpu_times=lambda: own, children=lambda *, recursive: [child])
    monkeypatch.setattr(course.psutil, "Process", lambda: process)
    monkeypatch.setattr(course.psutil, "cpu_times", lambda: Times(125.0, 5000.0))
    assert foreign_seconds() == 100.0


@pytest.fixture
def recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three seconds of speech; time is not waited for."""
    soundfile.write(tmp_path / "c.wav", 0.1 * tone(3, 16_000), 16_000)
    monkeypatch.setattr("engine.clock.WallClock", SkippingClock)
    monkeypatch.setattr(holding, "_no_progress_bars", lambda: None)
    return tmp_path / "c.wav"


def test_a_process_holds_the_first_round_in_real_time_and_the_rest_as_fast_as_it_goes(
    recording: Path, stage: Stage
) -> None:
    hold_rounds(Part("pocket", "cadence", recording, recording.parent, 3))
    logs = [read_log(log_path(recording.parent, "cadence", number)) for number in (1, 2, 3)]
    assert [log.header.audio.realtime for log in logs] == [True, False, False]
    assert [log.header.audio.source for log in logs] == ["c.wav"] * 3
    assert soundfile.info(reply_path(recording.parent, "cadence")).duration == 3.0
    for log in logs:
        spoke = [unit for unit in log.units() if unit.event == "SPEAK"]
        assert all(unit.voice_sha256 for unit in spoke)


@pytest.mark.usefixtures("stage")
def test_where_patience_is_over_no_further_round_is_begun(recording: Path) -> None:
    hold_rounds(Part("pocket", "cadence", recording, recording.parent, 3, patience_s=-1.0))
    assert sorted(path.name for path in recording.parent.glob("*.jsonl")) == ["cadence-1.jsonl"]
