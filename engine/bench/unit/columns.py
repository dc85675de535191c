"""Who listens and speaks: the released control flow in its settings, and ours; each over the same weights.

A column hears a unit, which is timed, and then gets ready for the next, which is the slack. Entered by the engine
thread.
"""

from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import torch
from torch import Tensor

from engine.arena import DeviceArena
from engine.bench.columns import CADENCE
from engine.bench.place import Place
from engine.bench.unit.chance import UnitChance
from engine.bench.unit.scripted import Scripted
from engine.builds.pinning import pinned
from engine.builds.replaying import capture, replaying, set_aside
from engine.models.layers.harmonics import draw_noise
from engine.models.minicpm_o.building import THOUGHT
from engine.models.minicpm_o.following import Following
from engine.models.minicpm_o.model import Chance, MiniCPMO, Parts, Spoken
from engine.models.minicpm_o.protocol import Limits, Marks, Window
from engine.models.minicpm_o.protocol import Protocol as Course
from engine.plan import Plan
from engine.replay import Prepared, ReplayRuntime
from engine.runtime import EagerRuntime, Runtime
from engine.stock.caches import keys_values
from engine.stock.conversation import Given, ReleasedConversation, ReleasedParts

if TYPE_CHECKING:
    from engine.timing import StageRecord

Result = TypeVar("Result")
SLACK_NS = 30_000_000_000  # more than any capture takes
BUDGET_BYTES = 2**31  # of graphs captured in the slack: one for each length of a turn's speech, among them


@dataclass(frozen=True)
class Heard:
    """A second for a column to hear.

    Args:
        index: Of the unit.
        mel: `[1, mels, frames]`, on the device.
    """

    index: int
    mel: Tensor


@dataclass(frozen=True)
class Said:
    """What a unit came to, for a comparison.

    Args:
        event: Its kind: "LISTEN", "SPEAK", "FLUSH" where a turn ended, by force or not.
        drawn: Text tokens as they were drawn.
        said: Text tokens that conditioned speech.
        tokens: Speech tokens.
        sound: float32 `[samples]`, on the host.
    """

    event: str
    drawn: list[int]
    said: list[int]
    tokens: list[int]
    sound: Tensor


@dataclass(frozen=True)
class Opening:
    """What a session begins with.

    Args:
        system: The system prompt's embeddings, `[n, width]`.
        past: Units that came before, as embeddings.
    """

    system: Tensor
    past: Sequence[Tensor] = ()


class UnitColumn(Protocol):
    """A runtime to be measured."""

    name: str

    def begin(self, opening: Opening) -> None:
        """A session begins."""
        ...

    def hear(self, heard: Heard) -> Said:
        """One unit, until its sound is on the host and it is closed."""
        ...

    def rest(self, heard: Heard) -> None:
        """Get ready for the unit after this one."""
        ...

    def settings(self) -> AbstractContextManager[None]:
        """The backends' settings that it runs in."""
        ...

    def capture(self) -> None:
        """Capture what a session keeps meeting, where there are graphs."""
        ...

    def rest_a_while(self) -> None:
        """Capture what was met without a graph."""
        ...

    def figures(self) -> dict[str, Any]:
        """What was captured, and what ran without a graph."""
        ...

    def close(self) -> None:
        """Give its memory back."""
        ...

    @property
    def held_bytes(self) -> int:
        """Bytes of all that it carries from unit to unit, beside weights."""
        ...

    @property
    def in_torch_bytes(self) -> int:
        """Of those, bytes in torch's tensors."""
        ...


class StockUnit:
    """The released control flow over the released parts.

    Args:
        name: The column's.
        parts: Over the same weights as ours.
        marks: Of the protocol.
        script: What is decided.
        chance: Of each unit.
        settings: Entered around all that it does.
    """

    def __init__(
        self,
        name: str,
        parts: ReleasedParts,
        marks: Marks,
        script: Scripted,
        chance: UnitChance,
        settings: Callable[[], AbstractContextManager[None]],
    ) -> None:
        self.name, self._script, self._chance, self._settings = name, script, chance, settings
        given = Given(script, chance.text, chance.speech, chance.seed)
        self.conversation = ReleasedConversation(parts, marks, Limits(), len, given)

    def begin(self, opening: Opening) -> None:
        with self._settings():
            self.conversation.begin((opening.system,), opening.past)
        self._script.begin()
        self.get_ready(0)

    def hear(self, heard: Heard) -> Said:
        conversation = self.conversation
        with self._settings():
            conversation.prefill(heard.mel)
            unit = conversation.generate(forced=self.forced)
            conversation.finalize()
        event = "FLUSH" if unit.ended else "LISTEN" if unit.listens else "SPEAK"
        return Said(event, unit.drawn, unit.said, unit.spoken, unit.sound)

    def rest(self, heard: Heard) -> None:
        self.get_ready(heard.index + 1)

    def get_ready(self, index: int) -> None:
        """Chance is drawn, and the script asked, for a unit."""
        self.forced = self._script.begin_unit(index)
        self._chance.begin_unit(index)

    def settings(self) -> AbstractContextManager[None]:
        return self._settings()

    def capture(self) -> None:
        pass

    def rest_a_while(self) -> None:
        pass

    def figures(self) -> dict[str, Any]:
        return {}

    def close(self) -> None:
        pass

    @property
    def in_torch_bytes(self) -> int:
        """Of `held_bytes`, those in torch's tensors."""
        return self.held_bytes

    @property
    def held_bytes(self) -> int:
        """Bytes of all that it carries from unit to unit, beside weights."""
        parts = self.conversation.parts
        caches = parts.encoder.cache, parts.language.cache, parts.speech.cache
        held = sum(each.nbytes for cache in caches for layer in keys_values(cache) for each in layer)
        return held + parts.token2wav.state_bytes


class CadenceUnit:
    """Ours.

    Args:
        plan: Of all stages.
        arena: Of the plan.
        parts: Over the arena's views; token2wav prepared with the voice.
        marks: Of the protocol.
        window: The language model's past.
        script: What is decided.
        chance: Of each unit.
        place: Where it runs.
        speech_way: How the speech decoder's tokens are run on a GPU: one of `engine.builds.replaying.SPEECH_WAYS`.
    """

    name = CADENCE

    def __init__(
        self,
        plan: Plan,
        arena: Any,
        parts: Parts,
        marks: Marks,
        window: Window,
        script: Scripted,
        chance: UnitChance,
        place: Place,
        speech_way: str,
    ) -> None:
        self.plan, self.arena, self.parts = plan, arena, parts
        self._script, self._chance, self._place = script, chance, place
        self.following = Following(plan, arena, parts)
        source = parts.token2wav.sizes.vocoder.source
        generator = torch.Generator(parts.language.device)
        self._drawn: list[int] = []

        def noise(frames: int) -> Tensor:
            return draw_noise(source, frames, generator.manual_seed(chance.seed()))

        protocol = Course(marks, Limits(), len)
        self.model = MiniCPMO(parts, marks, protocol, window, Chance(chance.text, self._decide, chance.speech, noise))
        self.records: list[StageRecord] = []
        self.settled: list[StageRecord] = []  # the last unit's
        self.prepared: Prepared | None = None
        with pinned():
            self.runtime = self._runtime(speech_way)

    def _runtime(self, speech_way: str) -> Runtime:
        """What runs the steps: on a GPU from graphs, each stage's in the way that suits it."""
        arena, parts, place = self.arena, self.parts, self._place
        capturing = place.capturing(arena.view(THOUGHT), partial(set_aside, arena, parts))
        if capturing is None:
            return EagerRuntime(CADENCE, place.clock)
        return replaying(
            self.plan, arena, parts, capturing, place.clock, speech_way=speech_way, budget_bytes=BUDGET_BYTES
        )

    def capture(self) -> None:
        """Capture what a session keeps meeting: the last that comes before it."""
        if isinstance(self.runtime, ReplayRuntime):
            with pinned():
                self.prepared = capture(self.runtime, self.plan)

    def _decide(self, drawn: int) -> int:
        self._drawn.append(drawn)
        return self._script(drawn)

    def begin(self, opening: Opening) -> None:
        past = sum(len(x) for x in opening.past)
        self.following.begin(past)
        with pinned():
            self.run(self.model.begin((opening.system,), opening.past))
        self.runtime.settle(self.records, 0)
        self.records.clear()
        self._script.begin()
        self.get_ready(0)

    def run(self, steps: Generator[Any, Any, Result]) -> Result:
        """Let the runtime execute steps; what they come to."""
        result: Any = None
        while True:
            try:
                step = steps.send(result)
            except StopIteration as done:
                value: Result = done.value
                return value
            result, record = self.runtime.execute(step, 0)
            self.records.append(record)

    def hear(self, heard: Heard) -> Said:
        self._drawn = []
        with pinned():
            self._spoken = spoken = self.run(self.model.unit(heard.mel, forced=self.forced))
            tokens: list[int] = spoken.tokens.tolist()
            return Said(spoken.event.value, self._drawn, list(spoken.unit.said), tokens, spoken.sound.cpu())

    def rest(self, heard: Heard) -> None:
        self.settled = self.runtime.settle(self.records, 0)
        self.records.clear()
        self.following.take(self._spoken, heard.index)
        self.get_ready(heard.index + 1)
        self.rest_a_while()

    def rest_a_while(self) -> None:
        self.runtime.settle(self.records, 0)
        self.records.clear()
        with pinned():
            self.runtime.use_slack(self._place.clock.now_ns() + SLACK_NS)

    def settings(self) -> AbstractContextManager[None]:
        return pinned()

    def get_ready(self, index: int) -> None:
        """Chance is drawn, and the script asked, for a unit."""
        self.forced = self._script.begin_unit(index)
        self._chance.begin_unit(index)

    _spoken: Spoken

    @property
    def addresses(self) -> dict[str, int]:
        """Where each state is, by name, asked of the arena anew."""
        return {state.name: self.arena.view(state.name).data_ptr() for state in self.plan.states}

    @property
    def in_torch_bytes(self) -> int:
        """Of `held_bytes`, those in torch's tensors."""
        return self.parts.token2wav.prompt_bytes

    @property
    def held_bytes(self) -> int:
        """Bytes of all that it carries from unit to unit, beside weights."""
        committed: int = self.arena.committed_bytes
        return committed + self.in_torch_bytes

    def figures(self) -> dict[str, Any]:
        """What was captured, and what ran without a graph."""
        runtime, prepared = self.runtime, self.prepared
        if not isinstance(runtime, ReplayRuntime) or prepared is None:
            return {}
        return {
            "graphs": prepared.graphs,
            "capture_s": round(prepared.seconds, 3),
            "eager_fallbacks": sum(runtime.eager.values()),
            "refused": [f"{stage} {shape}: {why}" for (stage, shape, _), why in runtime.refused.items()],
        }

    def close(self) -> None:
        """Give the arena's memory back, where it does not go with the last view."""
        if isinstance(self.arena, DeviceArena):
            self.arena.close()
