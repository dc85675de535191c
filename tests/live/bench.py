"""A live conversation whose time, devices and threads are in a test's hands: the app's wiring, on fakes at its ends.

Time goes by only while something sleeps or a stage works; devices call back as it does; what is planned for a moment
happens then, on whatever thread would be at work.
"""

import json
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app import wiring
from app.audio.sound import CLOSE_S, Sound
from app.live.calm import Calm
from app.live.conversation import LiveConversation
from app.live.engine_room import Makes
from app.live.settings import SettingsFile
from app.live.snapshot import Snapshot
from app.live.worker import Worker
from engine.clock import NS
from engine.models.registry import Built
from engine.timing import AnyRecord, End, UnitRecord
from engine.timing.reader import read_log
from tests.audio.fake_backend import MIC, SPEAKER, FakeBackend, World
from tests.fakes import ManualClock, NotingArena, Told, ToldModel

STEP_S = 0.01


class WorldClock:
    """A session's clock: when it sleeps, time goes by for every device, and what was planned happens."""

    def __init__(self, backend: FakeBackend) -> None:
        self._world, self._inner = World(backend, STEP_S), backend.clock
        self._planned: list[tuple[int, Callable[[], object]]] = []
        self.begin_ns = self.now_ns()

    def now_ns(self) -> int:
        return self._inner.now_ns()

    @property
    def seconds(self) -> float:
        return (self.now_ns() - self.begin_ns) / NS

    def sleep_until_ns(self, when_ns: int) -> None:
        while self.now_ns() < when_ns:
            self._world.run(STEP_S)
            due = [plan for plan in self._planned if plan[0] <= self.now_ns()]
            self._planned = [plan for plan in self._planned if plan not in due]
            for _, do in due:
                do()

    def advance_s(self, seconds: float) -> None:
        self.sleep_until_ns(self.now_ns() + round(seconds * NS))

    def at(self, seconds: float, do: Callable[[], object]) -> None:
        """Have something happen so many seconds after the beginning."""
        self._planned.append((self.begin_ns + round(seconds * NS), do))

    def later(self, after_s: float, do: Callable[[], object]) -> Callable[[], None]:
        plan = (self.now_ns() + round(after_s * NS), do)
        self._planned.append(plan)
        return lambda: self._planned.remove(plan) if plan in self._planned else None


class HandWorker:
    """A thread that works when a test says so; or at once, until it is held up.

    What a job raises is told as a thread's end would tell it, which fails the test; unless it is said to be `raising`.
    """

    def __init__(self, *, at_once: bool = False) -> None:
        self.at_once, self.ends, self.raising = at_once, True, False
        self.jobs: list[Callable[[], object]] = []
        self.raised: list[Exception] = []

    def post(self, job: Callable[[], object]) -> None:
        self.jobs.append(job)
        if self.at_once:
            self.run()

    def call(self, job: Callable[[], Any]) -> "Future[Any]":
        future: Future[Any] = Future()

        def fulfil() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                future.set_result(job())
            except Exception as error:  # noqa: BLE001  it is for whoever asks
                future.set_exception(error)

        self.post(fulfil)
        return future

    def close(self, within_s: float) -> bool:
        self.run()
        return self.ends

    def run(self) -> None:
        while self.jobs:
            job = self.jobs.pop(0)
            try:
                job()
            except Exception as error:  # noqa: BLE001  a test looks at it, or the hook does
                self.raised.append(error)
                if not self.raising:
                    threading.excepthook(threading.ExceptHookArgs((*sys.exc_info(), threading.current_thread())))


class ToldLoader:
    """Has a told model ready after a while."""

    def __init__(self, clock: WorldClock, model: ToldModel, arena: NotingArena) -> None:
        self._clock, self._built = clock, Built(model, arena, "cadence", {"torch_threads": 1})
        self.load_s, self.loads = 0.0, 0
        self.error: Exception | None = None

    def ready(self, *_: object) -> Built:
        self.loads += 1
        self._clock.advance_s(self.load_s)
        if self.error is not None:
            raise self.error
        return self._built


class HearingModel(ToldModel):
    """A told model that keeps what it hears."""

    def __init__(self, clock: Any, told: list[Told]) -> None:
        super().__init__(clock, told)
        self.heard: list[tuple[int, NDArray[np.float32]]] = []
        self.at: Callable[[int], object] = lambda index: None

    def unit(self, chunk, so_far):  # type: ignore[no-untyped-def]
        self.heard.append((chunk.index, chunk.samples))
        self.at(chunk.index)
        return super().unit(chunk, so_far)


class Bench:
    """All of it.

    Args:
        folder: For settings and sessions.
        told: What the model does, unit by unit.
        control: The thread that does device operations; else one that does them at once.
    """

    def __init__(self, folder: Path, told: list[Told] | None = None, control: Worker | None = None) -> None:
        self.backend = FakeBackend(ManualClock(), MIC, SPEAKER)
        self.clock = WorldClock(self.backend)
        self.model, self.arena = HearingModel(self.clock, told or []), NotingArena()
        self.loader = ToldLoader(self.clock, self.model, self.arena)
        self.settings = SettingsFile(folder / "settings.json")
        self.folder = folder / "sessions"
        self.engine, self.control = HandWorker(), HandWorker(at_once=True)
        self.close_s = CLOSE_S  # real ones
        makes = Makes(
            clock=self.clock,
            sound=lambda heard_hz, spoken_hz: Sound(
                self.backend, self.clock, input_rate_hz=heard_hz, output_rate_hz=spoken_hz, close_s=self.close_s
            ),
            loader=self.loader,  # type: ignore[arg-type]
            session=partial(wiring.live_session, clock=self.clock),
            sessions=self.folder,
            calm=Calm(),
        )
        self.conversation = LiveConversation(
            self.settings,
            makes,
            backend=self.backend,
            engine=self.engine,
            control=control or self.control,
            later=self.clock.later,
        )

    @property
    def snapshot(self) -> Snapshot:
        return self.conversation.snapshot()

    def talk(self, seconds: float) -> Snapshot:
        """Start, talk until so many seconds after the beginning, and stop; the last snapshot while it talked."""
        kept: list[Snapshot] = []
        self.clock.at(seconds, lambda: (kept.append(self.snapshot), self.conversation.stop()))
        self.conversation.start()
        self.engine.run()
        assert not self.engine.raised + self.control.raised, (self.engine.raised, self.control.raised)
        return kept[0]

    def watch(self, every_s: float = 0.05, until_s: float = 60.0) -> list[tuple[float, Snapshot]]:
        """Snapshots as a window would poll them."""
        polled: list[tuple[float, Snapshot]] = []
        for number in range(round(until_s / every_s)):
            self.clock.at(number * every_s, lambda: polled.append((self.clock.seconds, self.snapshot)))
        return polled

    @property
    def sound(self) -> Sound:
        """What is open."""
        assert self.conversation._equipment.sound is not None, "nothing is open"
        return self.conversation._equipment.sound

    @property
    def logs(self) -> list[Path]:
        return sorted(self.folder.glob("*/session.jsonl"))

    def records(self, log: int = -1) -> list[AnyRecord]:
        return list(read_log(self.logs[log]).records())

    def units(self, log: int = -1) -> list[UnitRecord]:
        return [record for record in self.records(log) if isinstance(record, UnitRecord)]

    def end(self, log: int = -1) -> End:
        end = read_log(self.logs[log]).end
        assert end is not None, "the log was not closed"
        return end

    def lines(self, kind: str) -> list[dict[str, Any]]:
        text = self.logs[-1].read_text().splitlines()
        return [line for line in map(json.loads, text) if line["type"] == kind]

    @property
    def sounded(self) -> NDArray[np.float32]:
        """What the speaker that was opened last has sounded: [frames] at its own rate, from when it was opened."""
        return next(stream for stream in reversed(self.backend.streams) if not stream.hears).heard[:, 0]

    def sounded_at(self, frames: NDArray[np.int64]) -> NDArray[np.float64]:
        """When frames of `sounded` were in the air, in seconds after the beginning."""
        stream = next(stream for stream in reversed(self.backend.streams) if not stream.hears)
        return np.array([(stream.true_ns(int(frame)) - self.clock.begin_ns) / NS for frame in frames])
