"""A toy model as one from outside would be: declarations and a step, and nothing else of its own.

It hears ten frames a second, keeps a running sum with the last frame for context (`ears`), and says, in turns, five
words a second, each the mean of all words of its turn so far (`mouth`).
"""

from engine.clock import Rate
from engine.models.registry import ModelEntry
from engine.models.specimen import Specimen, stepped
from engine.stage import After, Lifetime, Span, StateSpec, T, Tail, Ticking, Timeline

WIDTH = 4


def timelines() -> tuple[Timeline, ...]:
    """The declarations."""
    return (
        Timeline(
            "ears",
            Ticking(Rate(10), speech=True),
            "frame",
            states=(
                StateSpec("before", (WIDTH, T), initial=1, keep=Tail(1), reset=Lifetime.TURN, span=Span.WHOLE),
            ),
        ),
        Timeline(
            "mouth",
            After("ears"),
            "frame",
            states=(StateSpec("words", (T, WIDTH), limit=200, reset=Lifetime.TURN),),
        ),
    )  # fmt: skip


def step(stage, launch, fed, states):
    """One launch of a stage."""
    if stage == "ears":
        return _ears(fed, states["before"])
    return _mouth(launch, fed, states["words"])


def _ears(fed, before):
    """Each frame less the one before it."""
    shifted = fed.clone()
    shifted[0] = before[0]
    shifted[1:] = fed[:-1]
    before.copy_(fed[-1:])
    return fed - shifted


def _mouth(launch, fed, words):
    """Each frame and all before it, at their greatest."""
    held = launch.shape[1]
    words[held : held + len(fed)] = fed
    greatest = words[: held + len(fed)].cummax(0).values
    return greatest[held:].clone()


def specimen() -> Specimen:
    """What the laws are tried on."""
    return stepped(timelines(), step, {"ears": (WIDTH,)})


ENTRY = ModelEntry(
    name="toy",
    description="a toy from outside",
    licence="CC0-1.0",
    duplex=True,
    input_rate_hz=16_000,
    timelines="tests.laws.toy:timelines",
    script="LLSSSF",
    specimen="tests.laws.toy:specimen",
)
