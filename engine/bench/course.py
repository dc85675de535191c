"""What is said, unit by unit, the same to every runtime: tokens, the seed of the noise, and what comes next.

Follows the plan, as a session does. Entered by the engine thread.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from engine.models.token2wav.encoding import STAGE as ENCODER
from engine.plan import Plan
from engine.plan.script import FLUSH, Script, ScriptUnit


@dataclass(frozen=True)
class Saying:
    """One launch.

    Args:
        tokens: int64 `[1, n]`, the look-ahead among them, on the device.
        seed: Of the vocoder's noise.
        last: The turn ends with it.
    """

    tokens: Tensor
    seed: int
    last: bool


@dataclass(frozen=True)
class BenchUnit:
    """One second.

    Args:
        index: Which.
        launches: In order; none where the tail waits for more tokens.
        ends: A turn ends with it.
        ahead: The most that the next one may need.
    """

    index: int
    launches: tuple[Saying, ...]
    ends: bool
    ahead: Mapping[str, int]


def course(plan: Plan, units: Iterable[ScriptUnit], vocabulary: int, device: torch.device) -> Iterator[BenchUnit]:
    """Walk a plan from its start.

    Args:
        plan: Of a session's tail; its own script is not asked.
        units: What each unit is.
        vocabulary: Speech tokens to choose from.
        device: Where the tokens go.
    """
    generator, position, seed = torch.Generator().manual_seed(11), plan.start, 0
    for index, told in enumerate(units):
        planned, position = plan.advance(position, told.event, index=index, speech_ticks=told.ticks)
        launches = []
        for launch in planned.stages[ENCODER].launches:
            tokens = torch.randint(0, vocabulary, (1, launch.fed), generator=generator).to(device)
            launches.append(Saying(tokens, seed, launch.last))
            seed += 1
        yield BenchUnit(index, tuple(launches), told.event == FLUSH, plan.ahead(position))


def for_ever(script: str) -> Iterator[ScriptUnit]:
    """A script's units, one after another, without an end."""
    parsed, index = Script.parse(script), 0
    while True:
        yield parsed.at(index)
        index += 1
