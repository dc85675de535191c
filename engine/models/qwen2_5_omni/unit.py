"""Qwen2.5-Omni's tail as a whole: a voice once, then windows of codes to sound, turn by turn.

Two stages one after the other, flow matching and a vocoder. A launch of the first depends on its window alone; the
second carries a few mel frames, in a state handed in at an address that never moves. Nothing is read back from the
device and nothing constant is made twice, so that each exact shape can be captured as a graph. What a window is made
of, and what of it is sounded, is counted on the host. Entered by the engine thread.
"""

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from engine.models.layers import ecapa
from engine.models.layers.bigvgan import BigVgan
from engine.models.layers.block_dit import BlockDit
from engine.models.layers.lanes import Lanes
from engine.models.layers.named import Named
from engine.models.layers.rk4 import GuidedRungeKutta
from engine.models.qwen2_5_omni.checkpoint import Checkpoint
from engine.models.qwen2_5_omni.timelines import AGAIN_FRAMES, FRAMES_A_CODE, HELD_FRAMES
from engine.models.qwen2_5_omni.windows import Window
from engine.step import Step, carry_out

FLOW, VOCODER = "flow", "vocoder"


@dataclass(frozen=True)
class Voice:
    """Whose voice it is, as the released `spk_dict.pt` has it.

    Args:
        speaker: Its embedding, float32 `[1, speaker]`.
        mel: Of a recording, float32 `[1, frames, mels]`.
    """

    speaker: Tensor
    mel: Tensor


class Flow:
    """The stage `flow`: a window's codes, and noise, to mel.

    Args:
        checkpoint: Weights and sizes.
        lanes: For what can be done at once.
    """

    def __init__(self, checkpoint: Checkpoint, lanes: Lanes) -> None:
        sizes, weights = checkpoint.sizes, checkpoint.flow
        self._table = weights["text_embed.codec_embed.weight"]
        self.device = self._table.device
        self._solve = GuidedRungeKutta(sizes.points, sizes.guidance, sizes.sway, self.device)
        self._estimate = BlockDit(weights, sizes.flow, self._solve.times, lanes)
        encoder = weights.below("input_embed.spk_encoder")
        alone = Named({name: encoder[name] for name, _ in ecapa.shapes(sizes.voice)})  # or it would hold all the rest
        self._listen = partial(ecapa.embed, alone, sizes.voice)
        self.sizes = sizes
        # Of the voice, with guidance and without: what is heard in its mel, and its embedding, which is then none.
        self._heard = torch.zeros(2, 1, sizes.voice.out, device=self.device)
        self._speaker = torch.zeros(2, 1, sizes.speaker, device=self.device)

    def speak_as(self, voice: Voice) -> None:
        """Take in a voice; it is heard out once, not with every evaluation."""
        mel = voice.mel.to(self.device)
        self._heard.copy_(self._listen(torch.cat((mel, torch.zeros_like(mel)))).unsqueeze(1))
        self._speaker[0].copy_(voice.speaker.to(self.device))

    def foresee(self, codes: int) -> None:
        """Make the constants of windows of so many codes, and keep them."""
        self._estimate.foresee(FRAMES_A_CODE * codes)

    def __call__(self, codes: Tensor, noise: Tensor) -> Tensor:
        """Solve.

        Args:
            codes: int64 `[1, n]`.
            noise: float32 `[1, 2n, mels]`.

        Returns:
            The mel, `[1, mels, 2n]`.
        """
        frames, channels, sizes = noise.shape[1], noise.shape[2], self.sizes
        given = torch.empty(2, frames, channels + sizes.flow.given, device=self.device)
        mel, heard, meaning, speaker = given.split((channels, sizes.voice.out, sizes.code_width, sizes.speaker), 2)
        heard.copy_(self._heard)
        speaker.copy_(self._speaker)
        embedded = functional.embedding(codes, self._table)  # [1, n, width], each for two frames
        meaning[0].unflatten(0, (-1, FRAMES_A_CODE)).copy_(embedded[0].unsqueeze(1))
        meaning[1].copy_(self._table[:1])

        def velocities(x: Tensor, evaluation: int) -> Tensor:
            mel.copy_(x)
            return self._estimate(given, evaluation)

        return self._solve(noise, velocities).permute(0, 2, 1)


class Vocoder:
    """The stage `vocoder`: new mel frames, behind some that are heard again, to sound.

    Args:
        checkpoint: Weights and sizes.
        mel: The state, `[frames, 1, mels]`.
        lanes: For what can be done at once.
    """

    def __init__(self, checkpoint: Checkpoint, mel: Tensor, lanes: Lanes) -> None:
        self._sound, self._mel = BigVgan(checkpoint.vocoder, checkpoint.sizes.vocoder, lanes), mel
        self.held = 0  # frames, counted by `advance`

    @property
    def carried(self) -> Tensor:
        """What is heard again, `[1, mels, frames]`."""
        return self._mel[: self.held].permute(1, 2, 0)

    def advance(self, frames: int) -> None:
        """Count so many new frames."""
        self.held = min(AGAIN_FRAMES, self.held + frames)

    def __call__(self, mel: Tensor, held: int) -> Tensor:
        """`mel` `[1, mels, n]` and the `held` frames before it as sound, float32 `[1, samples]`."""
        mel = torch.cat((self._mel[:held].permute(1, 2, 0), mel), 2)
        kept = min(AGAIN_FRAMES, mel.shape[2])
        self._mel[:kept].copy_(mel[:, :, -kept:].permute(2, 0, 1))
        return self._sound(mel)


class Token2Wav:
    """Codes to sound.

    Args:
        checkpoint: Weights and sizes. Nothing here holds it afterwards, only what of it a launch needs.
        views: The arena's views by "stage.state".
    """

    def __init__(self, checkpoint: Checkpoint, views: Mapping[str, Tensor]) -> None:
        lanes = Lanes(checkpoint.flow["proj_out.weight"].device)
        self.flow = Flow(checkpoint, lanes)
        self.vocoder = Vocoder(checkpoint, views["vocoder.mel"], lanes)
        self.sizes = checkpoint.sizes

    def prepare(self, voice: Voice) -> None:
        """Take in the voice, and begin the first turn."""
        self.flow.speak_as(voice)
        self.reset()

    def reset(self) -> None:
        """Begin a new turn."""
        self.vocoder.held = 0

    def steps(self, window: Window) -> Generator[Step, Any, Tensor]:
        """One launch of each stage, as steps that a runtime executes; see `engine.step`.

        Args:
            window: As `Windows` makes it; `reset` must follow a turn's last.

        Returns:
            Sound at 24 kHz, float32 `[1, samples]`; some is held back where the turn goes on.
        """
        mel = yield self._flow(window.codes, window.noise, window.takes, last=window.last)
        held, new = self.vocoder.held, FRAMES_A_CODE * window.takes
        sound: Tensor = yield self._vocoder(mel[:, :, window.frames], held, last=window.last)
        self.vocoder.advance(new)
        return sound[:, sounded(held, new, self.sizes.vocoder.frame, last=window.last)]

    def rehearse(self, stage: str, shape: tuple[int, ...], *, last: bool) -> Step:
        """A launch to be captured: the step of a planned shape, with room for its inputs, its constants made.

        Args:
            stage: One of the two.
            shape: As the plan has it.
            last: Of a window without look-ahead, because the turn ends.
        """
        count, device, mels = shape[0], self.flow.device, self.sizes.flow.channels
        if stage == VOCODER:
            return self._vocoder(torch.zeros(1, mels, count - shape[1], device=device), shape[1], last=last)
        self.flow.foresee(count)
        codes = torch.zeros(1, count, dtype=torch.int64, device=device)
        return self._flow(codes, torch.zeros(1, FRAMES_A_CODE * count, mels, device=device), count, last=last)

    def _flow(self, codes: Tensor, noise: Tensor, takes: int, *, last: bool) -> Step:
        return Step(FLOW, (codes.shape[1],), takes, self.flow, (codes, noise), last, captures=True)

    def _vocoder(self, mel: Tensor, held: int, *, last: bool) -> Step:
        new = mel.shape[2]
        return Step(VOCODER, (held + new, held), new, partial(self.vocoder, held=held), (mel,), last, captures=True)

    def __call__(self, window: Window) -> Tensor:
        """One launch of each stage at once; see `steps`."""
        return carry_out(self.steps(window))


def sounded(held: int, new: int, frame: int, *, last: bool) -> slice:
    """Which samples of a vocoder's launch are for good, where `held` frames are heard again before `new` ones.

    What was held back before comes first, and what is held back now, unless nothing follows, is left out.
    """
    back = 0 if last else min(HELD_FRAMES, held + new)
    return slice((held - min(HELD_FRAMES, held)) * frame, (held + new - back) * frame)
