"""What a session leaves to chance, from one seed: the same for every runtime that asks in the same order.

Entered by the engine thread.
"""

import torch
from torch import Tensor

from engine.models.minicpm_o.made_up import WholeSizes
from engine.models.minicpm_o.sampling import draw
from engine.models.minicpm_o.speech_decoder import DRAWS


class SessionChance:
    """Numbers as they are asked for.

    Args:
        seed: Other numbers for another.
        sizes: Of what is drawn from.
        dtype: Of the language model's logits.
        device: Where.
    """

    def __init__(self, seed: int, sizes: WholeSizes, dtype: torch.dtype, device: torch.device) -> None:
        self._seed, self._sizes, self._dtype = seed, sizes, dtype
        self._generator = torch.Generator(device)
        self.begin()

    def begin(self) -> None:
        """A session begins."""
        self._generator.manual_seed(self._seed)
        self._launches = 0

    def text(self) -> Tensor:
        """A text token's, `[2, tokens]`; see `TextSampler`."""
        return draw(2, self._sizes.language.tokens, self._dtype, self._generator)

    def speech(self) -> Tensor:
        """A unit's for the speech decoder, `[26, speech tokens]`."""
        return draw(DRAWS, self._sizes.speech.tokens, torch.float32, self._generator)

    def sound_seed(self) -> int:
        """Of the vocoder's noise, for the next launch."""
        self._launches += 1
        return (self._seed << 24) + self._launches
