"""It runs one runtime after the other, tells how far it is, stops within a tick, and keeps what was held."""

import wave
from pathlib import Path
from typing import Any

import pytest

from app.demo import course
from app.demo.candidates import BOTH_SIDES, NO_SOUND, ORDER, RECORDED, from_file, groups
from app.demo.comparing import Course
from app.demo.course import Held
from app.live.sessions import Sessions
from engine.comparison.session import measured
from engine.errors import BadLog, CadenceError, MissingWeights
from engine.timing import read_log
from tests.demo.made_up import records
from tests.demo.test_recorded import ABOUT
from tests.live.bench import HandWorker
from tests.made_up_sessions import conversation, header, write
from tests.window.rig import write_sessions


def write_wav(path: Path, seconds: float) -> None:
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(24_000)
        file.writeframes(b"\0\1" * round(24_000 * seconds))


class Runner:
    """In place of `course.hold_all`: writes made-up logs, and lets a test look on in between."""

    def __init__(self) -> None:
        self.at: Any = lambda _: None
        self.error: CadenceError | None = None
        self.models: list[str] = []

    def __call__(
        self, model: str, runtimes: tuple[str, ...], recording: Path, folder: Path, rounds: int, **told: Any
    ) -> list[Held]:
        assert recording.is_file()
        assert rounds == 1
        self.models.append(model)
        for number, runtime in enumerate(runtimes):
            for units in range(24):
                now = course.Progress(runtime, number, len(runtimes), int(units > 3), units, units / 2)
                self.at(now)
                told["progress"](now)
            if self.error is not None and number:
                raise self.error
            log, reply = course.log_path(folder, runtime, 1), course.reply_path(folder, runtime)
            slow = runtime == "stock"
            write(log, conversation(22, seed=4, overruns=slow, speed=2.0 if slow else 0.9), header(runtime=runtime))
            write_wav(reply, 22)
            told["done"](Held(runtime, (log,), reply, (0.4 if slow else 0.0,)))
        return []


@pytest.fixture
def runner() -> Runner:
    return Runner()


@pytest.fixture
def worker() -> HandWorker:
    return HandWorker()


@pytest.fixture
def run(tmp_path: Path, runner: Runner, worker: HandWorker) -> Course:
    return Course(tmp_path / "comparisons", worker, runner, fetch=lambda *_, **__: None)


def test_it_tells_how_far_it_is_and_what_came_of_it(run: Course, runner: Runner, worker: HandWorker) -> None:
    told: list[tuple[str, float]] = []

    def look(_: course.Progress) -> None:
        assert run.state.progress is not None
        told.append((run.state.progress.what, run.state.progress.done or 0.0))

    runner.at = look
    run.start("pocket")
    run.start("pocket")
    assert run.state.progress is not None
    worker.run()
    assert runner.models == ["pocket"], "never two at once"
    done = [share for _, share in told]
    assert done == sorted(done)
    assert 0.9 < done[-1] <= 1
    assert "running stock, 1 of 3" in dict(told)
    state = run.state
    assert (state.progress, state.held, state.number) == (None, 3, 1)
    assert "40% beside stock" in state.beware
    (group,) = groups(Sessions(run.runs / "none"), run.runs, run.runs / "none")
    assert [each.session.runtime for each in group.candidates] == list(ORDER)
    assert group.whole


@pytest.mark.parametrize("after", [0, 1, 2])
def test_called_off_it_keeps_what_was_held(run: Course, runner: Runner, worker: HandWorker, after: int) -> None:
    looked: list[int] = []

    def look(now: course.Progress) -> None:
        if now.number == after and now.units == 9:
            run.cancel("Stopped, because you began to talk")
        looked.append(now.number)

    runner.at = look
    run.start("pocket")
    worker.run()
    assert looked[-1] == after
    assert looked.count(after) == 10, "it ended at the next look"
    assert run.state.held == after
    assert run.state.message.startswith("Stopped, because you began to talk; ")
    found = groups(Sessions(run.runs / "none"), run.runs, run.runs / "none")
    assert [len(group.candidates) for group in found] == ([after] if after else [])
    assert len(list(run.runs.iterdir())) == bool(after), "an empty folder goes"


@pytest.mark.parametrize("error", [MissingWeights("the voice is not here", "it", "fetch it"), BadLog("no", "yes")])
def test_what_goes_wrong_is_said_and_it_can_be_run_again(
    run: Course, runner: Runner, worker: HandWorker, error: CadenceError
) -> None:
    runner.error = error
    run.start("pocket")
    worker.run()
    assert run.state.message == str(error)
    assert run.state.held == 1
    runner.error = None
    run.start("pocket")
    worker.run()
    assert (run.state.held, run.state.number) == (3, 2)
    run.start("no such model")
    worker.run()
    assert "no such model" in run.state.message


def test_every_candidate_says_what_is_heard_of_it_and_sounds_like_it(
    run: Course, worker: HandWorker, tmp_path: Path
) -> None:
    run.start("pocket")
    worker.run()
    write_sessions(tmp_path / "sessions")
    for folder in (tmp_path / "sessions").iterdir():
        if (recording := folder / "recording.wav").exists():
            write_wav(recording, 3)
    ran, talks = groups(Sessions(tmp_path / "sessions"), run.runs, tmp_path / "none")
    says = [each.says for each in (*ran.candidates, *talks.candidates)]
    assert says == [BOTH_SIDES] * 3 + [NO_SOUND, NO_SOUND, RECORDED]
    for each in (ran.candidates[0], talks.candidates[-1]):
        session = measured(read_log(each.log), "A")
        track = each.track(session, 0)
        assert track is not None
        assert track.begins_ns == -1_000_000_000
        assert sum(map(len, track.blocks())) >= 24_000 * 3
    assert talks.candidates[0].track(session, 0) is None


def test_what_ships_says_that_its_sound_stands_in_for_noise(tmp_path: Path) -> None:
    folder = tmp_path / "shipped" / "made-up"
    folder.mkdir(parents=True)
    (folder / "about.toml").write_text(ABOUT.replace("track.wav", "questions/what_is_ice.wav"))
    for runtime in ("stock", "cadence"):
        write(folder / f"{runtime}.jsonl", records(runtime), header(runtime=runtime))
    (group,) = groups(Sessions(tmp_path / "none"), tmp_path / "none", tmp_path / "shipped")
    assert group.whole
    assert [each.name for each in group.candidates] == ["released", "ours"]
    released = group.candidates[0]
    assert "speech track (a tone, nobody's)" in released.says
    assert "The model spoke none of its words" in released.says
    session = measured(read_log(released.log), "released")
    track = released.track(session, 0)
    assert track is not None
    (samples,) = track.blocks()
    voiced = [each for each in session.stretches if not each.gap]
    for each in voiced:
        assert abs(samples[each.start_ns * 24_000 // 10**9 : each.end_ns * 24_000 // 10**9]).max() > 0
    for gap in session.gaps:
        assert not samples[gap.start_ns * 24_000 // 10**9 + 1 : gap.end_ns * 24_000 // 10**9 - 1].any()
    assert session.gaps
    (folder / "about.toml").write_text("schema = 2")
    (group,) = groups(Sessions(tmp_path / "none"), tmp_path / "none", tmp_path / "shipped")
    assert "made-up" in group.trouble


def test_a_file_that_is_none_of_ours_is_refused(tmp_path: Path) -> None:
    for text in (b"", b"nothing of ours\n", b'{"type":"session","schema":9}\n', b"\xff\xfe\x00"):
        (tmp_path / "log.jsonl").write_bytes(text)
        with pytest.raises(BadLog):
            from_file(tmp_path / "log.jsonl")
