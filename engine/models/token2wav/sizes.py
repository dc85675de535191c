"""token2wav's sizes: as released, or smaller for tests. No weights."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from engine.models.layers.conformer import ConformerSizes
from engine.models.layers.dit import DitSizes
from engine.models.layers.hift import HiftSizes


@dataclass(frozen=True)
class FlowSizes:
    """Speech tokens to mel.

    Args:
        vocabulary: Speech tokens.
        speaker: Width of a speaker's embedding.
        guidance: How far the solver goes beyond the guided velocity.
        encoder: The conformer.
        estimator: The diffusion transformer.
    """

    vocabulary: int = 6561
    speaker: int = 192
    guidance: float = 0.7
    encoder: ConformerSizes = field(default_factory=ConformerSizes)
    estimator: DitSizes = field(default_factory=DitSizes)


@dataclass(frozen=True)
class Token2WavSizes:
    """Both halves; the vocoder's are not in any released file, the released code has them."""

    flow: FlowSizes = field(default_factory=FlowSizes)
    vocoder: HiftSizes = field(default_factory=HiftSizes)


def conformer_sizes(arguments: Mapping[str, Any]) -> ConformerSizes:
    """From the released names."""
    return ConformerSizes(
        layers=int(arguments["num_blocks"]),
        up_layers=int(arguments["num_up_blocks"]),
        width=int(arguments["output_size"]),
        heads=int(arguments["attention_heads"]),
        inner=int(arguments["linear_units"]),
        look_ahead=int(arguments["pre_lookahead_len"]),
        stride=int(arguments["up_stride"]),
    )


def dit_sizes(arguments: Mapping[str, Any]) -> DitSizes:
    """From the released names."""
    return DitSizes(
        depth=int(arguments["depth"]),
        width=int(arguments["hidden_size"]),
        heads=int(arguments["num_heads"]),
        dim=int(arguments["head_dim"]),
        inner=int(arguments["hidden_size"] * arguments["mlp_ratio"]),
        channels=int(arguments["out_channels"]),
    )
