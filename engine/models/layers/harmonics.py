"""A voice's source: sines at the pitch and its harmonics, and noise where there is no voice.

Neural source-filter (arXiv 1904.12088) as CosyVoice 2 has it. Its noise is an input, for a generator inside a captured
launch would repeat itself. Pitch is steady within a frame, so all but sines and noise is worked out frame by frame; the
released code goes sample by sample and comes to the same bits, tests hold that. (Its random first phases reach one
sample that it then never reads; they are drawn for the generator's sake alone.) Entered by the engine thread.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from engine.models.layers.named import Linear, Named


@dataclass(frozen=True)
class HarmonicsSizes:
    """The source's constants.

    Args:
        rate_hz: Samples a second.
        frame: Samples to a frame of pitch.
        harmonics: Beside the pitch itself.
        amplitude: Of each sine.
        noise: Standard deviation of the noise where there is voice; elsewhere a third of the amplitude.
        voiced_hz: Pitch over which there is voice.
    """

    rate_hz: int = 24_000
    frame: int = 480
    harmonics: int = 8
    amplitude: float = 0.1
    noise: float = 0.003
    voiced_hz: float = 10.0


def draw_noise(sizes: HarmonicsSizes, frames: int, generator: torch.Generator) -> Tensor:
    """Noise for so many frames, drawn as the released code draws it, so that equal seeds give equal sound.

    Returns:
        float32 `[1, harmonics + 1, samples]`, on the generator's device.
    """
    sines, samples, device = sizes.harmonics + 1, frames * sizes.frame, generator.device
    torch.rand(1, sines, generator=generator, device=device)  # first phases, which come to nothing
    noise = torch.empty(1, sines, samples, device=device)
    noise.transpose(1, 2).normal_(generator=generator)
    torch.empty(1, samples, 1, device=device).normal_(generator=generator)  # a noise branch that nobody reads
    return noise


class Harmonics:
    """The source.

    Args:
        weights: `l_linear`, which mixes the sines.
        sizes: Of the same source.
    """

    def __init__(self, weights: Named, sizes: HarmonicsSizes) -> None:
        self._mix = Linear(weights.below("l_linear"))
        self._sizes = sizes
        multiples = torch.arange(1, sizes.harmonics + 2, dtype=torch.float32).to(weights["l_linear.weight"].device)
        self._multiples = multiples.view(1, -1, 1)

    def __call__(self, pitch: Tensor, noise: Tensor) -> Tensor:
        """The source's signal.

        Args:
            pitch: Hz, `[1, frames]`.
            noise: As `draw_noise` gives it.

        Returns:
            `[1, 1, samples]`.
        """
        sizes = self._sizes
        frames = pitch.shape[1]
        turns = (pitch[:, None] * self._multiples / sizes.rate_hz) % 1  # a sample, [1, sines, frames]
        phase = torch.cumsum(turns.transpose(1, 2), dim=1).transpose(1, 2) * 2 * np.pi * sizes.frame
        phase = functional.interpolate(phase, scale_factor=float(sizes.frame), mode="linear")
        voiced = (pitch > sizes.voiced_hz).float().unsqueeze(2)  # [1, frames, 1]
        level = voiced * sizes.noise + (1 - voiced) * sizes.amplitude / 3

        def by_frame(x: Tensor) -> Tensor:
            return x.view(1, -1, frames, sizes.frame)

        sines = by_frame(torch.sin(phase)) * sizes.amplitude
        heard = sines * voiced.unsqueeze(1) + level.unsqueeze(1) * by_frame(noise)
        return torch.tanh(self._mix(heard.flatten(2).transpose(1, 2))).transpose(1, 2)
