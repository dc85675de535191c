"""The small parts of a live conversation: threads, tickets, ears, growth, what a session tells, loading."""

import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from app.live import loading
from app.live.board import Board, WatchedRuntime
from app.live.ears import Ears
from app.live.growth import SOONEST_UNITS, Growth
from app.live.loading import FetchProgress, Loader
from app.live.preload import preload
from app.live.snapshot import SHOWN_UNITS, Listening, Phase, Progress, Trial
from app.live.standing import Halted, Standing
from app.live.worker import ThreadWorker
from engine.cadence import measure
from engine.errors import AskedWrongly, MissingWeights
from engine.models import registry
from engine.runtime import EagerRuntime
from engine.session import Unit
from engine.step import Event, Outcome, Said, Step
from engine.timing import Fault, UnitRecord
from tests.fakes import ManualClock
from tests.made_up_sessions import conversation, unit

# --- threads ---------------------------------------------------------------------------------------------------------


def test_a_worker_does_one_thing_after_the_other_and_ends() -> None:
    before = threading.active_count()
    worker, done = ThreadWorker("test"), list[int]()
    futures = [worker.call(lambda number=number: (done.append(number), number)[1]) for number in range(50)]
    assert [future.result(5) for future in futures] == list(range(50)) == done
    assert worker.close(5)
    assert threading.active_count() == before


def test_a_worker_that_was_asked_for_nothing_has_no_thread() -> None:
    before = threading.active_count()
    worker = ThreadWorker("test")
    assert threading.active_count() == before
    assert worker.close(0)


def test_what_a_job_raises_is_its_callers_or_is_told_and_the_worker_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[threading.ExceptHookArgs] = []
    monkeypatch.setattr(threading, "excepthook", told.append)
    worker = ThreadWorker("test")

    def fail() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        worker.call(fail).result(5)
    worker.post(fail)
    assert worker.call(lambda: 7).result(5) == 7
    assert [args.exc_type for args in told] == [ValueError]
    assert told[0].thread is not None
    assert told[0].thread.name == "test"
    assert worker.close(5)


def test_a_worker_that_is_held_up_is_left_behind() -> None:
    worker, held = ThreadWorker("test"), threading.Event()
    worker.post(lambda: (held.wait(10), None)[1])
    assert not worker.close(0)
    held.set()
    assert worker.close(5)


# --- tickets ---------------------------------------------------------------------------------------------------------


def test_what_an_older_ticket_tells_is_let_go() -> None:
    standing = Standing("settings were damaged")
    assert standing.state.message == "settings were damaged"
    first = standing.draw(Phase.LOADING, Phase.IDLE)
    assert first is not None
    standing.publish(first, phase=Phase.TALKING)
    second = standing.draw(Phase.STOPPING, Phase.TALKING)
    assert second is not None
    standing.publish(first, phase=Phase.FAILED, message="too late")
    assert (standing.state.phase, standing.state.message) == (Phase.STOPPING, "")
    with pytest.raises(Halted):
        standing.check(first)
    standing.check(second)
    assert standing.draw(Phase.LOADING, Phase.IDLE) is None
    standing.close()
    with pytest.raises(Halted):
        standing.check(second)
    assert standing.draw(Phase.LOADING, *Phase) is None


def test_what_was_said_before_goes_where_something_else_begins_and_stays_while_it_stops() -> None:
    standing = Standing()
    standing.say("the speaker cannot be opened")
    first = standing.draw(Phase.IDLE, Phase.IDLE, trial=Trial())
    assert first is not None
    assert standing.state.message == ""
    standing.publish(first, message="the microphone gives nothing but zeros")
    standing.draw(Phase.IDLE, Phase.IDLE)  # the trial ends, and with it what was said of it
    assert standing.state.message == ""
    standing.draw(Phase.LOADING, Phase.IDLE)
    standing.say("something")
    standing.draw(Phase.STOPPING, Phase.LOADING)
    assert standing.state.message == "something"


def test_what_was_said_is_taken_back_where_it_still_stands_and_nothing_else_is() -> None:
    standing = Standing()
    standing.say("no such device")
    standing.say("")
    assert standing.state.message == ""
    ticket = standing.draw(Phase.LOADING, Phase.IDLE)
    assert ticket is not None
    standing.publish(ticket, phase=Phase.FAILED, message="there is no microphone")
    standing.say("")
    assert standing.state.message == "there is no microphone"


# --- ears ------------------------------------------------------------------------------------------------------------


class Heard:
    hearing = True

    def hear(self, hearing: bool) -> None:
        self.hearing = hearing


@given(
    some.sampled_from(Listening),
    some.lists(some.sampled_from(["down", "up", "mute", "unmute"]), max_size=12),
)
@settings(max_examples=100, deadline=None)
def test_the_microphone_is_open_when_the_user_says_so(listening: Listening, pressed: list[str]) -> None:
    ears, sound = Ears(), Heard()
    ears.adopt(sound, listening)  # type: ignore[arg-type]
    held = toggled = muted = False
    for press in pressed:
        match press:
            case "down":
                toggled ^= not held
                held = True
                ears.hold(True)
            case "up":
                held = False
                ears.hold(False)
            case _:
                muted = press == "mute"
                ears.mute(muted)
        wanted = {Listening.OPEN: True, Listening.HOLD: held, Listening.TOGGLE: toggled}[listening]
        assert sound.hearing is ears.open is (wanted and not muted)


def test_another_way_of_listening_begins_closed() -> None:
    ears, sound = Ears(), Heard()
    ears.adopt(sound, Listening.TOGGLE)  # type: ignore[arg-type]
    ears.hold(True)
    assert sound.hearing
    ears.listen(Listening.HOLD)
    assert not sound.hearing
    ears.adopt(None, Listening.OPEN)
    assert not sound.hearing  # one that is closed is left alone


def test_what_the_talk_key_opened_is_closed_where_another_sound_is_heard_through() -> None:
    ears, sound = Ears(), Heard()
    ears.adopt(sound, Listening.TOGGLE)  # type: ignore[arg-type]
    ears.hold(True)
    ears.hold(False)
    assert sound.hearing
    ears.adopt(None, Listening.TOGGLE)
    again = Heard()
    ears.adopt(again, Listening.TOGGLE)  # type: ignore[arg-type]
    assert again.hearing is ears.open is False


def test_a_key_that_is_held_down_is_held_through_another_start() -> None:
    ears, sound = Ears(), Heard()
    ears.adopt(None, Listening.HOLD)
    ears.hold(True)
    ears.adopt(sound, Listening.HOLD)  # type: ignore[arg-type]
    assert sound.hearing is ears.open is True


class SlowlyHeard(Heard):
    """Its first telling takes until the test lets it go."""

    def __init__(self) -> None:
        self.told, self.go_on = threading.Event(), threading.Event()

    def hear(self, hearing: bool) -> None:
        if not self.told.is_set():
            self.told.set()
            assert self.go_on.wait(10)
        super().hear(hearing)


@pytest.mark.parametrize("wish", [lambda ears: ears.mute(True), lambda ears: ears.listen(Listening.HOLD)])
def test_of_two_wishes_at_once_the_last_is_what_a_sound_is_told(wish: Callable[[Ears], None]) -> None:
    ears, sound = Ears(), SlowlyHeard()
    adopting = threading.Thread(target=lambda: ears.adopt(sound, Listening.OPEN))  # type: ignore[arg-type]
    wishing = threading.Thread(target=lambda: wish(ears))
    adopting.start()
    assert sound.told.wait(10)
    wishing.start()
    wishing.join(0.05)  # without a lock it is through by then, and is told before the one that is on its way
    sound.go_on.set()
    for thread in (adopting, wishing):
        thread.join(10)
    assert sound.hearing is ears.open is False


# --- what a session tells --------------------------------------------------------------------------------------------


def test_a_board_shows_the_newest_units_and_the_figures_of_all() -> None:
    board = Board()
    records = [record for record in conversation(150) if isinstance(record, UnitRecord)]
    for number, record in enumerate(records):
        said = (Said("agent", f"line {number}", "said"),) if number % 2 else ()
        board.take(Unit(record, Outcome(Event.LISTEN, transcript=said)))
    told = board.told
    assert told.units == tuple(records[-SHOWN_UNITS:])
    assert told.figures == measure(records)
    assert [line.number for line in told.lines] == list(range(len(records) // 2))
    assert told.lines[-1].unit == records[2 * len(told.lines) - 1].index
    assert sum(told.paths.values()) == sum(len(record.stages) for record in records)


def test_what_was_read_of_a_board_never_changes() -> None:
    board = Board()
    before = board.told
    board.take(Unit(unit(0), Outcome(Event.LISTEN)))
    board.fault(Fault(index=None, at_ns=0, stage=None, message="a fault"))
    assert (before.units, before.faults) == ((), ())
    assert board.told.figures is not None
    assert board.told.figures.faults == 1
    assert [fault.message for fault in board.told.faults] == ["a fault"]


def test_a_stage_is_seen_while_it_runs_and_a_halt_comes_between_stages() -> None:
    board, clock, wanted = Board(), ManualClock(), [True, True, False]

    def check() -> None:
        if not wanted.pop(0):
            raise Halted

    runtime = WatchedRuntime(EagerRuntime("cadence", clock), board, clock, check)
    origin_ns = clock.now_ns()
    board.begin(3, 10, 20, start_ns=11)
    seen: list[str] = []

    def work() -> None:
        assert board.running is not None
        seen.append(board.running.stage)
        clock.advance_s(0.2)

    for _ in range(2):
        runtime.execute(Step("hearing", (1,), 1, work), origin_ns)
    assert seen == ["hearing", "hearing"]
    assert board.running is not None
    assert board.running.stages == {"hearing": pytest.approx(400)}
    assert board.running.stage == ""
    with pytest.raises(Halted):
        runtime.execute(Step("words", (1,), 1, work), origin_ns)
    assert len(seen) == 2


def test_memory_that_grows_is_said_and_not_every_second() -> None:
    def session(bytes_a_minute: float) -> list[UnitRecord]:
        return [unit(index, rss=round(900e6 + index / 60 * bytes_a_minute)) for index in range(SOONEST_UNITS * 2 + 100)]

    for bytes_a_minute, times in ((0, 0), (20e6, 2)):
        growth, records = Growth(), session(bytes_a_minute)
        said = [line for at in range(590, len(records), 10) if (line := growth.grown(measure(records[:at])))]
        assert len(said) == times
        assert all("19.1 MiB a minute" in line for line in said)


# --- loading ---------------------------------------------------------------------------------------------------------


class Built:
    """Stands for a model."""

    def __init__(self) -> None:
        self.model, self.prepared = self, 0

    def prepare(self) -> None:
        self.prepared += 1


@pytest.fixture
def builds(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was built."""
    built: list[str] = []

    def build(entry: registry.ModelEntry, runtime: str) -> Built:
        built.append(f"{entry.name} {runtime}")
        return Built()

    monkeypatch.setattr(registry.ModelEntry, "build", build)
    monkeypatch.setattr(loading, "preload", lambda: 0)
    return built


def here(monkeypatch: pytest.MonkeyPatch, missing: set[str]) -> None:
    def locate(name: str) -> Path:
        if name in missing:
            raise MissingWeights("not here")
        return Path()

    monkeypatch.setattr(loading.weights, "locate", locate)


def ready(
    loader: Loader, runtime: str = "cadence", check: Callable[[], None] = lambda: None
) -> list[tuple[Phase, Progress]]:
    told: list[tuple[Phase, Progress]] = []
    loader.ready("pocket", runtime, lambda phase, progress: told.append((phase, progress)), check)
    return told


def test_a_model_whose_weights_are_here_is_loaded_once_and_nothing_is_fetched(
    builds: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    here(monkeypatch, set())
    let_go: list[int] = []
    loader = Loader(lambda: 0.0, lambda: let_go.append(len(builds)), fetch=pytest.fail)
    told = ready(loader)
    assert {phase for phase, _ in told} == {Phase.LOADING}
    shares = [progress.done for _, progress in told]
    assert shares == sorted(shares)  # type: ignore[type-var]
    assert ready(loader) == []
    assert builds == ["pocket cadence"]
    ready(loader, "library")
    ready(loader)
    assert builds == ["pocket cadence", "pocket library", "pocket cadence"]
    assert let_go == [1, 2]  # before the next is built


def test_weights_that_are_not_here_are_fetched_and_giving_up_ends_that(
    builds: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    here(monkeypatch, {"pocket-whisper"})
    fetches: list[int] = []
    wanted = [False]

    def check() -> None:
        if not wanted[0]:
            raise Halted

    def fetch(names: tuple[str, ...], progress: FetchProgress) -> None:
        fetches.append(len(names))
        progress.begin("whisper", 1000)
        progress.at(500)

    loader = Loader(lambda: 0.0, fetch=fetch)
    with pytest.raises(Halted):
        ready(loader, check=check)
    assert builds == []
    wanted[0] = True
    told = ready(loader, check=check)
    assert fetches[0] == fetches[1] > 1
    assert (Phase.FETCHING, Progress("whisper", 0.5, "500 B of 1.0 kB")) in told
    assert builds == ["pocket cadence"]


def test_a_load_that_fails_is_tried_again_the_next_time(builds: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    here(monkeypatch, set())
    loader, real = Loader(lambda: 0.0), Built.prepare

    def fail(_: Built) -> None:
        raise MissingWeights("gone")

    monkeypatch.setattr(Built, "prepare", fail)
    with pytest.raises(MissingWeights):
        ready(loader)
    monkeypatch.setattr(Built, "prepare", real)
    ready(loader)
    assert len(builds) == 2


def test_a_model_that_can_only_be_planned_is_refused() -> None:
    with pytest.raises(AskedWrongly):
        Loader(lambda: 0.0).ready("moshi", "cadence", lambda *_: None, lambda: None)


def test_progress_tells_how_fast_and_how_long() -> None:
    told: list[Progress] = []
    now_s = [0.0]
    progress = FetchProgress(lambda _, each: told.append(each), lambda: None, lambda: now_s[0])
    progress.begin("words from PyPI", 90_000_000)
    for second in range(6):
        now_s[0] = second
        progress.at(second * 3_000_000)
    assert told[-1] == Progress("words from PyPI", 15 / 90, "15.0 MB of 90.0 MB, 3.0 MB/s, 25 s left")
    progress.begin("converting")
    progress.at(5)
    assert told[-1] == Progress("converting")
    progress.say("words: ready")
    assert told[-1].detail == "words: ready"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="libraries are mapped ahead on Linux alone")
def test_torchs_libraries_are_found_where_they_are() -> None:
    assert preload() >= 3


def test_a_window_can_be_there_before_torch_is() -> None:
    code = "import sys, app.wiring; assert not {'torch', 'transformers', 'PySide6', 'sounddevice'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
