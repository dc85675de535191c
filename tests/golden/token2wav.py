"""The released token2wav's modules at any size, their weights random."""

import types
from typing import Any

from engine.models.token2wav.made_up import make_up
from engine.models.token2wav.sizes import Token2WavSizes
from engine.stock.modules import released_modules


def random_modules(released: types.SimpleNamespace, sizes: Token2WavSizes, steps: int, frames: int) -> tuple[Any, Any]:
    """The released flow and vocoder of these sizes, every weight random and none of them zero.

    Args:
        released: As `import_released` gives it.
        sizes: Of both.
        steps: Of the solver, for which the released buffers have room.
        frames: For which they have room, and of noise.
    """
    return released_modules(released, make_up(sizes, frames), steps, frames)
