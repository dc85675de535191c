"""What a unit leaves to chance, drawn before it begins and the same for every runtime. Entered by the engine thread."""

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from engine.models.minicpm_o.made_up import WholeSizes
from engine.models.minicpm_o.protocol import Limits
from engine.models.minicpm_o.sampling import draw
from engine.models.minicpm_o.speech_decoder import DRAWS

if TYPE_CHECKING:
    from collections.abc import Iterator


class UnitChance:
    """Chance of one unit at a time.

    Args:
        sizes: Of what is drawn from.
        dtype: Of the language model's logits.
        device: Where.
        ends_early: In some units speech, where it may end, ends before its second is full.
    """

    def __init__(self, sizes: WholeSizes, dtype: torch.dtype, device: torch.device, *, ends_early: bool) -> None:
        self._sizes, self._dtype, self._ends_early = sizes, dtype, ends_early
        self._generator = torch.Generator(device)
        self._texts: Iterator[Tensor] = iter(())
        self._seed = 0

    def begin_unit(self, index: int) -> None:
        """Draw for a unit."""
        generator, tokens = self._generator.manual_seed(index), self._sizes.language.tokens
        self._texts = iter(draw(2 * Limits().steps, tokens, self._dtype, generator).split(2))
        self._speech = draw(DRAWS, self._sizes.speech.tokens, torch.float32, generator)
        if self._ends_early and index % 2:
            self._speech[index % DRAWS, self._sizes.speech.end] = 1e-9
        self._seed = index << 8

    def text(self) -> Tensor:
        """A text token's, `[2, tokens]`."""
        return next(self._texts)

    def speech(self) -> Tensor:
        """The unit's, `[26, speech tokens]`."""
        return self._speech

    def seed(self) -> int:
        """Of the next launch's noise."""
        self._seed += 1
        return self._seed
