"""Who says it: the released driver in its several settings, and ours; each over the same weights.

A column says a unit (that is timed) and then gets ready for the next (that is the slack). Entered by the engine thread.
"""

import contextlib
import types
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

import torch
from torch import Tensor

from engine.arena import Arena, DeviceArena
from engine.bench.course import BenchUnit
from engine.bench.place import Place
from engine.bench.settings import as_released
from engine.bench.tails import GRAPHS_TOKENS, STEADY, Tail
from engine.builds.pinning import pinned
from engine.models.layers.harmonics import draw_noise
from engine.models.token2wav.checkpoint import Checkpoint
from engine.models.token2wav.encoding import STAGE as ENCODER
from engine.models.token2wav.flowing import STAGE as FLOW
from engine.models.token2wav.made_up import MadeUp
from engine.models.token2wav.sounding import STAGE as VOCODER
from engine.models.token2wav.timelines import FRAMES_A_TOKEN
from engine.models.token2wav.unit import Token2Wav, VoicePrompt
from engine.replay import Prepared, ReplayRuntime
from engine.runtime import EagerRuntime, Runtime
from engine.stage import Lifetime
from engine.step import Step, carry_out
from engine.stock.driver import ReleasedDriver
from engine.stock.transcription import ReleasedRoom

if TYPE_CHECKING:
    from engine.timing import StageRecord

RELEASED, PINNED, GRAPHS, CADENCE = "stock_released", "stock_pinned", "stock_graphs", "cadence"
TRANSCRIPTION = "transcription"  # in place of the stock columns where the released package is not to be had
SLACK_NS = 30_000_000_000  # more than any capture takes


class Column(Protocol):
    """A runtime to be measured."""

    name: str

    @property
    def held_bytes(self) -> int:
        """Bytes of what it carries from unit to unit, and of what a turn begins with."""
        ...

    @property
    def in_torch_bytes(self) -> int:
        """Of those, bytes in torch's tensors."""
        ...

    @property
    def graph_bytes(self) -> int:
        """Bytes that graphs hold."""
        ...

    def prepare(self, prompt: VoicePrompt) -> None:
        """Take in the voice."""
        ...

    def capture(self) -> None:
        """Capture its graphs, where it has any: the last that comes before a session."""
        ...

    def begin(self) -> None:
        """Begin a turn, whatever the last one was."""
        ...

    def say(self, unit: BenchUnit) -> list[Tensor]:
        """A unit's sound, launch by launch, float32 `[1, samples]`, on the host."""
        ...

    def rest(self, unit: BenchUnit) -> None:
        """Get ready for what comes after the unit."""
        ...

    def figures(self) -> dict[str, Any]:
        """What else is to be told of it."""
        ...


class Stock:
    """The released driver.

    Args:
        name: Of the column.
        driver: Its own modules', for what it carries lies in them.
        settings: The backends'.
    """

    def __init__(self, name: str, driver: ReleasedDriver, settings: Callable[[], AbstractContextManager[None]]) -> None:
        self.name, self.driver, self._settings = name, driver, settings
        self.graph_bytes = 0

    @property
    def held_bytes(self) -> int:
        return self.driver.state_bytes

    @property
    def in_torch_bytes(self) -> int:
        return self.driver.state_bytes

    def prepare(self, prompt: VoicePrompt) -> None:
        with self._settings():
            self.driver.prepare(prompt)

    def capture(self) -> None:
        pass

    def begin(self) -> None:
        self.driver.reset()

    def say(self, unit: BenchUnit) -> list[Tensor]:
        sounds = []
        with self._settings():
            for launch in unit.launches:
                torch.manual_seed(launch.seed)
                sounds.append(self.driver(launch.tokens, last=launch.last))
        return sounds

    def rest(self, unit: BenchUnit) -> None:
        if unit.ends:
            self.driver.reset()

    def figures(self) -> dict[str, Any]:
        return {}


class StockGraphs(Stock):
    """The released driver with the graphs that its package has and its models never turn on: 30, 48 or 96 frames.

    Its attention is padded to 500 or 1000 frames held. A second's 50 frames have none, so its unit is of 24 tokens.
    """

    def __init__(self, driver: ReleasedDriver, place: Place) -> None:
        super().__init__(GRAPHS, driver, as_released)
        self._place, self._replays, self._capture_s = place, 0, 0.0

    def capture(self) -> None:
        flow, before, start_ns = self.driver.own.flow, self._place.used_bytes(), self._place.clock.now_ns()
        with contextlib.redirect_stdout(None):  # it says so on standard output
            flow.scatter_cuda_graph(True)
        self._place.synchronize()
        self._capture_s = (self._place.clock.now_ns() - start_ns) / 1e9
        self.graph_bytes = self._place.used_bytes() - before
        graphs = flow.decoder.estimator.graph_chunk
        for frames, graph in graphs.items():
            graphs[frames] = types.SimpleNamespace(replay=lambda graph=graph: self._replay(graph))

    @property
    def reach(self) -> int:
        """Mel frames that may be held before a unit for its graph to be used; once they have been captured."""
        reach: int = self.driver.own.flow.decoder.estimator.max_size_chunk[FRAMES_A_TOKEN * GRAPHS_TOKENS]
        return reach

    def _replay(self, graph: Any) -> None:
        self._replays += 1
        graph.replay()

    def figures(self) -> dict[str, Any]:
        estimator = self.driver.own.flow.decoder.estimator
        return {
            "unit_tokens": GRAPHS_TOKENS,
            "graphs": len(estimator.graph_chunk),
            "graph_bytes": self.graph_bytes,
            "capture_s": round(self._capture_s, 3),
            "replays": self._replays,
        }


class Cadence:
    """Ours: exact-shape graphs over the arena where there is a GPU.

    Args:
        tail: How the model drives it.
        made: Weights and noise on the place's device.
        prompt_tokens: Of the voice prompt.
        place: Where it runs.
        script: What the session is planned for.
    """

    name = CADENCE

    def __init__(self, tail: Tail, made: MadeUp, prompt_tokens: int, place: Place, script: str = STEADY) -> None:
        lines = tail.lines(prompt_tokens, made.sizes)
        self.plan, self._place = tail.plan(lines, script), place
        self.arena = self._arena(place)
        self.arena.commit_needed(self.plan.ahead(self.plan.start))
        self.views = {state.name: self.arena.view(state.name) for state in self.plan.states}
        self._noise = made.noise[:, :, : len(self.views["flow.attention.shift"])].clone()
        self.ours = Token2Wav(Checkpoint.of(made.sizes, made.flow, made.vocoder), lines, self.views, self._noise)
        self._source = made.sizes.vocoder.source
        self._generator = torch.Generator(place.device)
        self.runtime = self._runtime(place)
        self.prepared: Prepared | None = None
        self._graphs_in_slack = 0
        self._records: list[StageRecord] = []

    @property
    def held_bytes(self) -> int:
        return self.arena.committed_bytes + self.in_torch_bytes

    @property
    def in_torch_bytes(self) -> int:
        return self.ours.prompt_bytes + self._noise.nbytes

    @property
    def graph_bytes(self) -> int:
        return self.runtime.held_bytes if isinstance(self.runtime, ReplayRuntime) else 0

    def _arena(self, place: Place) -> Arena:
        return place.arena(self.plan)

    def _runtime(self, place: Place) -> Runtime:
        return place.runtime(self.arena, self._rehearse)

    @property
    def addresses(self) -> dict[str, int]:
        """Where each state is, by name, asked of the arena anew."""
        return {name: self.arena.view(name).data_ptr() for name in self.views}

    def prepare(self, prompt: VoicePrompt) -> None:
        with pinned():
            self.ours.prepare(prompt)

    def capture(self) -> None:
        if isinstance(self.runtime, ReplayRuntime):
            stages = (ENCODER, FLOW, VOCODER)
            with pinned():
                self.prepared = self.runtime.prepare(one for one in self.plan.shapes if one.stage in stages)

    def begin(self) -> None:
        self.ours.reset()
        self.arena.reset(Lifetime.TURN)
        self.arena.commit_needed(self.plan.ahead(self.plan.start))

    def say(self, unit: BenchUnit) -> list[Tensor]:
        with pinned():
            return [self._launch(launch.tokens, launch.seed, launch.last) for launch in unit.launches]

    def _rehearse(self, stage: str, shape: tuple[int, ...], last: bool) -> Step:
        return self.ours.rehearse(stage, shape, last=last)

    def _launch(self, tokens: Tensor, seed: int, last: bool) -> Tensor:
        frames = self.ours.frames(tokens.shape[1], last=last)
        noise = draw_noise(self._source, frames, self._generator.manual_seed(seed))
        return carry_out(self.ours.steps(tokens, noise, last=last), self._execute).cpu()

    def _execute(self, step: Step) -> Any:
        result, record = self.runtime.execute(step, 0)
        self._records.append(record)
        return result

    def rest(self, unit: BenchUnit) -> None:
        self.runtime.settle(self._records, 0)
        self._records.clear()
        if unit.ends:
            self.ours.reset()
            self.arena.reset(Lifetime.TURN)
        self.arena.commit_needed(unit.ahead)
        with pinned():
            self._graphs_in_slack += self.runtime.use_slack(self._place.clock.now_ns() + SLACK_NS)

    def figures(self) -> dict[str, Any]:
        return graph_figures(self.runtime, self.prepared, self._graphs_in_slack)

    def close(self) -> None:
        """Give the arena's memory back, where it does not go with the last view."""
        if isinstance(self.arena, DeviceArena):
            self.arena.close()


def graph_figures(runtime: Runtime, prepared: Prepared | None, in_slack: int) -> dict[str, Any]:
    """What a runtime's graphs come to, for the record; nothing where it has none.

    Args:
        runtime: Ours.
        prepared: What was captured before the session.
        in_slack: Graphs captured since.
    """
    if not isinstance(runtime, ReplayRuntime) or prepared is None:
        return {}
    return {
        "graphs": prepared.graphs,
        "graphs_in_slack": in_slack,
        "graph_bytes": runtime.held_bytes,
        "capture_s": round(prepared.seconds, 3),
        "eager_fallbacks": sum(runtime.eager.values()),
        "refused": [f"{stage} {shape}: {why}" for (stage, shape, _), why in runtime.refused.items()],
    }


class Transcription(Cadence):
    """Our own layers, eagerly, in memory as the released code takes it: where that itself is not to be had."""

    name = TRANSCRIPTION

    @property
    def in_torch_bytes(self) -> int:
        return super().in_torch_bytes + self.arena.committed_bytes

    @property
    def held_bytes(self) -> int:
        return self.in_torch_bytes

    def _arena(self, place: Place) -> Arena:
        return ReleasedRoom(self.plan, place.device)

    def _runtime(self, place: Place) -> Runtime:
        return EagerRuntime("stock", place.clock)
