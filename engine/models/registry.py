"""The models that this program knows: name, room, licence, what each can do here.

Importing it imports no model and no torch: a room is loaded when its plan is asked for. Any thread may enter.
"""

import difflib
import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.errors import AskedWrongly

if TYPE_CHECKING:
    from collections.abc import Callable

    from engine.plan import Plan


@dataclass(frozen=True)
class ModelEntry:
    """One model.

    Args:
        name: As commands take it.
        description: One line.
        room: Its package.
        plan: `module:function`; the function, called without arguments, returns the default session's plan.
        licence: Of its released weights.
        duplex: Whether it listens while it speaks, or takes turns.
        runs: Whether this version can run it; otherwise it has a plan only.
    """

    name: str
    description: str
    room: str
    plan: str
    licence: str
    duplex: bool
    runs: bool

    def load_plan(self) -> "Plan":
        """Compute the plan of the model's default session; loads its room, neither torch nor weights."""
        module, function = self.plan.split(":")
        plan: Callable[[], Plan] = getattr(importlib.import_module(module), function)
        return plan()


ENTRIES = (
    ModelEntry(
        name="pocket",
        description="Whisper tiny.en, SmolLM2-135M and a small voice: talks on two CPU cores",
        room="engine.models.pocket",
        plan="engine.models.pocket.timelines:default_plan",
        licence="MIT, Apache-2.0; see each of its weights",
        duplex=True,
        runs=True,
    ),
    ModelEntry(
        name="minicpm-o-4.5",
        description="Qwen3-8B with Whisper-medium, a flow-matching decoder and HiFT",
        room="engine.models.minicpm_o",
        plan="engine.models.minicpm_o.timelines:default_plan",
        licence="Apache-2.0",
        duplex=True,
        runs=False,
    ),
    ModelEntry(
        name="step-audio-2-mini",
        description="a language model that emits audio tokens, the same flow-matching decoder and HiFT",
        room="engine.models.step_audio2",
        plan="engine.models.step_audio2.timelines:default_plan",
        licence="Apache-2.0",
        duplex=False,
        runs=False,
    ),
    ModelEntry(
        name="moshi",
        description="Moshi 7B with Mimi, in steps of 80 ms",
        room="engine.models.moshi",
        plan="engine.models.moshi.timelines:default_plan",
        licence="CC-BY-4.0",
        duplex=True,
        runs=False,
    ),
)


def find(name: str) -> ModelEntry:
    """The model of that name.

    Raises:
        AskedWrongly: There is none.
    """
    for entry in ENTRIES:
        if entry.name == name.lower():
            return entry
    names = [entry.name for entry in ENTRIES]
    near = difflib.get_close_matches(name.lower(), names, 1)
    raise AskedWrongly(
        f"there is no model named {name!r}", f"one of {', '.join(names)}", f"did you mean {near[0]}?" if near else ""
    )
