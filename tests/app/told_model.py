"""A model that does as it is told behind the name pocket, so that commands run whole sessions without weights."""

from collections.abc import Callable, Generator
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from engine.chunk import Chunk
from engine.models import registry
from engine.models.registry import Built
from engine.step import Event, Outcome, Said, SoFar, Step
from tests.fakes import ManualClock, NotingArena, Told, ToldModel, tone


class TellingModel(ToldModel):
    """Tells each unit, and calls `at` with its number first."""

    def __init__(self, told: list[Told], at: Callable[[int], None]) -> None:
        super().__init__(ManualClock(), told)
        self._at = at

    def unit(self, chunk: Chunk, so_far: SoFar) -> Generator[Step, Any, Outcome]:
        self._at(chunk.index)
        outcome = yield from super().unit(chunk, so_far)
        return replace(outcome, transcript=(Said("user", f"second {chunk.index}", "heard"),))


@dataclass
class Stage:
    """What the model will be told.

    Args:
        told: Unit by unit; it listens in those beyond.
        at: Called with the number of each unit as it begins.
        idle: Whether it has nothing left to say.
    """

    told: list[Told] = field(default_factory=lambda: [Told(Event.SPEAK, tone(0.5))])
    at: Callable[[int], None] = lambda _: None
    idle: bool = True

    def build(self, runtime: str, **_: Any) -> Built:
        model = TellingModel(self.told, self.at)
        model.idle = self.idle
        return Built(model, NotingArena(), runtime, {"torch_threads": 1})


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Stage:
    """The told model in pocket's place."""
    stage = Stage()
    monkeypatch.setattr(registry.ModelEntry, "build", lambda _, runtime, **options: stage.build(runtime, **options))
    return stage
