"""The tail's weights under their released names, in float32 as released, checked against their sizes.

Entered by the engine thread.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from torch import Tensor

from engine.models.layers.checked import checked
from engine.models.layers.named import Named
from engine.models.qwen2_5_omni.sizes import FLOW, VOCODER, Token2WavSizes, shapes


@dataclass(frozen=True)
class Checkpoint:
    """Weights checked against their sizes.

    Args:
        sizes: Of both halves.
        flow: Codes to mel.
        vocoder: Mel to sound.
    """

    sizes: Token2WavSizes
    flow: Named
    vocoder: Named

    @classmethod
    def of(cls, sizes: Token2WavSizes, tensors: Mapping[str, Tensor]) -> "Checkpoint":
        """Check tensors under their released names, with the leading "token2wav." or without.

        Raises:
            BadWeights: A tensor is missing, unknown, or of another shape.
        """
        named = checked("token2wav", tensors, shapes(sizes))
        return cls(sizes, named.below(FLOW), named.below(VOCODER))
