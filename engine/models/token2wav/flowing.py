"""The stage `flow`: what tokens mean, and noise, to mel frames, a launch at a time.

The released solver (`stepaudio2-minicpmo` 0.1.1, `flow_matching.py`): Euler steps over a diffusion transformer, guided
and not in one batch of two. Noise is an input, read from as many frames in as the transformer holds. Entered by the
engine thread.
"""

from collections.abc import Mapping

import torch
from torch import Tensor
from torch.nn import functional

from engine.models.layers.dit import Dit, DitStates
from engine.models.layers.euler import GuidedEuler
from engine.models.layers.lanes import Lanes
from engine.models.layers.named import Linear, Named
from engine.models.token2wav.sizes import FlowSizes
from engine.plan.advance import SHIFT
from engine.stage import Timeline, Trim

STAGE = "flow"


class Flow:
    """The stage.

    Args:
        weights: Of the flow, named as released.
        sizes: Of the same flow.
        line: The stage's timeline, which says what is kept.
        views: The arena's views by "stage.state", the shift buffer among them.
        noise: float32 `[1, channels, frames]`, as many frames as a launch may ever reach: those held and its own.
        lanes: For what can be done at once.
    """

    def __init__(
        self,
        weights: Named,
        sizes: FlowSizes,
        line: Timeline,
        views: Mapping[str, Tensor],
        noise: Tensor,
        lanes: Lanes,
    ) -> None:
        attention, self._convolution = views[f"{STAGE}.attention"], views[f"{STAGE}.conv"]
        self._solve = GuidedEuler(attention.shape[1], sizes.guidance, noise.device)
        states = DitStates(attention, views[f"{STAGE}.attention{SHIFT}"], self._convolution)
        self._estimate = Dit(weights.below("decoder.estimator"), sizes.estimator, self._solve.times, states, lanes)
        self._speak_as = Linear(weights.below("spk_embed_affine_layer"))
        (self._trim,) = (spec.keep for spec in line.states if isinstance(spec.keep, Trim))
        self._noise, self._channels = noise, sizes.estimator.channels
        self._speaker = torch.zeros(1, self._channels, 1, device=noise.device)
        self.device = noise.device
        self.held = 0  # mel frames

    def foresee(self, count: int) -> None:
        """Get ready for launches of so many frames."""
        self._estimate.foresee(count)

    def start(self, speaker: Tensor) -> None:
        """Begin anew, without a prompt, in the voice of a speaker's embedding `[1, speaker]`."""
        self.held = 0
        self._convolution.zero_()
        self._speaker.copy_(self._speak_as(functional.normalize(speaker, dim=1)).unsqueeze(2))

    def advance(self, count: int) -> None:
        """Count the frames that a launch has solved for, and what of them is kept."""
        self.held = sum(len(piece) for piece in self._trim.sources(self.held + count))

    def __call__(self, meaning: Tensor, held: int, known: Tensor | None = None, *, last: bool = False) -> Tensor:
        """Solve; what is held is counted by `advance`.

        Args:
            meaning: `[1, channels, n]`.
            held: Mel frames before the launch.
            known: The mel itself, `[1, channels, n]`, where it is a prompt's.
            last: Nothing follows, and nothing is kept.

        Returns:
            The mel, `[1, channels, n]`.
        """
        count, channels = meaning.shape[2], self._channels
        kept = () if last else self._trim.sources(count + held)
        # The chunk, its meaning, its speaker, and what is known of it; for the unguided half the chunk alone.
        given = torch.zeros(2, 4 * channels, count, device=meaning.device)
        guided = given[0].view(4, channels, count)
        guided[1], guided[2] = meaning[0], self._speaker[0]
        if known is not None:
            guided[3] = known[0]

        def velocity(x: Tensor, step: int) -> Tensor:
            given[:, :channels] = x
            return self._estimate(given, step, held, kept)

        return self._solve(self._noise[:, :, held : held + count], velocity)
