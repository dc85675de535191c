"""A recording is fed whole, second by second, and on into silence until the answer has been heard."""

from pathlib import Path

import numpy as np
import soundfile

from app.audio_file import ReplyFile, SpeechFile
from app.headless import PATIENCE_UNITS, FileSpeaker, hold
from engine.playout import Playout
from engine.runtime import EagerRuntime
from engine.session import Session, Unit
from engine.step import Event
from engine.timing import MemoryRecord
from tests.fakes import ManualClock, NotingArena, Told, ToldModel, tone


class Model(ToldModel):
    """Done after so many units; keeps what it heard."""

    def __init__(self, clock: ManualClock, told: list[Told], done_after: int) -> None:
        super().__init__(clock, told)
        self._done_after, self.heard = done_after, list[np.ndarray]()

    @property
    def idle(self) -> bool:  # type: ignore[override]
        return len(self.heard) >= self._done_after

    def unit(self, chunk, so_far):  # type: ignore[no-untyped-def]
        self.heard.append(chunk.samples)
        return super().unit(chunk, so_far)


def held(tmp_path: Path, seconds: float, told: list[Told], done_after: int) -> tuple[Model, list[Unit], np.ndarray]:
    rng = np.random.default_rng(3)
    soundfile.write(tmp_path / "user.wav", rng.uniform(-0.1, 0.1, int(seconds * 16_000)), 16_000, subtype="FLOAT")
    clock, playout = ManualClock(), Playout(24_000)
    reply = ReplyFile(tmp_path / "reply.wav", 24_000)
    speaker, model, units = FileSpeaker(playout, reply), Model(clock, told, done_after), list[Unit]()
    memory = MemoryRecord(arena_reserved=0, arena_committed=0)
    session = Session(
        model, EagerRuntime("cadence", clock), NotingArena(), playout, clock, speaker=speaker, memory=lambda: memory
    )
    hold(session, SpeechFile(tmp_path / "user.wav", 16_000), speaker, clock, on_unit=units.append)
    reply.close()
    audio, _ = soundfile.read(tmp_path / "reply.wav", dtype="float32")
    return model, units, audio


def test_every_sample_is_heard_once_and_the_last_second_is_filled_with_silence(tmp_path: Path) -> None:
    model, units, reply = held(tmp_path, 3.3, [], done_after=0)
    assert [len(chunk) for chunk in model.heard] == [16_000] * 4
    source, _ = soundfile.read(tmp_path / "user.wav", dtype="float32")
    heard = np.concatenate(model.heard)
    assert np.abs(heard[: len(source)] - source).max() < 0.01
    assert not heard[len(source) :].any()
    assert [unit.record.index for unit in units] == [0, 1, 2, 3]
    assert len(reply) == 4 * 24_000


def test_an_answer_at_the_end_is_heard_to_its_end(tmp_path: Path) -> None:
    told = [Told(), Told(Event.SPEAK, tone(1.0)), Told(Event.SPEAK, tone(0.5)), Told()]
    _, units, reply = held(tmp_path, 2.0, told, done_after=5)
    assert len(units) == 5
    loud = np.flatnonzero(np.abs(reply) > 0.001)
    assert abs(loud[0] / 24_000 - 2.0) < 0.001
    assert abs(loud[-1] / 24_000 - 3.5) < 0.001


def test_patience_has_an_end(tmp_path: Path) -> None:
    _, units, _ = held(tmp_path, 1.0, [], done_after=10_000)
    assert len(units) == 1 + PATIENCE_UNITS
