"""The stage `flow_encoder`: speech tokens to what they mean for the mel, a launch at a time.

Embeds, runs the conformer, projects to mel channels, and then trims what the conformer carries as the timeline
declares. Entered by the engine thread.
"""

from collections.abc import Mapping

from torch import Tensor
from torch.nn import functional

from engine.models.layers.carry import keep
from engine.models.layers.conformer import ConformerEncoder, ConformerStates
from engine.models.layers.lanes import Lanes
from engine.models.layers.named import Linear, Named
from engine.models.token2wav.sizes import FlowSizes
from engine.plan.advance import SHIFT
from engine.stage import Timeline, Trim

STAGE = "flow_encoder"
_TRIMMED = ("attention", "up_attention")


class FlowEncoder:
    """The stage.

    Args:
        weights: Of the flow, named as released.
        sizes: Of the same flow.
        line: The stage's timeline, which says what is kept.
        views: The arena's views by "stage.state", shift buffers among them where the plan has any.
        lanes: For what can be done at once.
    """

    def __init__(
        self, weights: Named, sizes: FlowSizes, line: Timeline, views: Mapping[str, Tensor], lanes: Lanes
    ) -> None:
        self._tokens = weights["input_embedding.weight"]
        self._convolutions = [views[f"{STAGE}.{name}"] for name in ("look_ahead_conv", "upsample_conv")]
        self._attention = {name: views[f"{STAGE}.{name}"] for name in _TRIMMED}
        states = ConformerStates(*self._convolutions, *self._attention.values())
        self._encode = ConformerEncoder(weights.below("encoder"), sizes.encoder, states, lanes)
        self._project = Linear(weights.below("encoder_proj"))
        self._shifts = {name: views.get(f"{STAGE}.{name}{SHIFT}") for name in _TRIMMED}
        self._trims = {spec.name: spec.keep for spec in line.states if isinstance(spec.keep, Trim)}
        self._ahead, self._stride = sizes.encoder.look_ahead, sizes.encoder.stride
        self.held = 0  # ticks of tokens; after upsampling there are `stride` times as many

    def foresee(self, taken: int, held: int) -> None:
        """Make the constants of a launch that takes so many tokens after so many, and keep them."""
        self._encode.foresee(taken, held)

    def start(self) -> None:
        """Begin anew, without a prompt."""
        self.held = 0
        for tail in self._convolutions:
            tail.zero_()

    def advance(self, taken: int) -> None:
        """Count the tokens that a launch has taken for good, and what of them is kept."""
        self.held = sum(len(piece) for piece in self._trims["attention"].sources(self.held + taken))

    def __call__(self, tokens: Tensor, held: int, *, last: bool = False) -> Tensor:
        """Encode; what is held is counted by `advance`.

        Args:
            tokens: int64 `[1, n]`, the look-ahead among them.
            held: Ticks of tokens before the launch.
            last: Nothing follows; no look-ahead is among them, and nothing is kept.

        Returns:
            `[1, channels, frames]`, `stride` frames for each token taken.
        """
        taken = tokens.shape[1] - (0 if last else self._ahead)
        hidden = self._project(self._encode(functional.embedding(tokens, self._tokens), held, last=last))
        if not last:
            self._trim(held + taken)
        return hidden.transpose(1, 2).contiguous()

    def _trim(self, ticks: int) -> None:
        """Trim both attentions, of `ticks` ticks before upsampling."""
        for name, many in zip(_TRIMMED, (ticks, ticks * self._stride), strict=True):
            keep(self._attention[name], self._trims[name].sources(many), self._shifts[name])
