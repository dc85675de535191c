"""token2wav as a whole: a voice prompt once, then speech tokens to sound, launch by launch, turn by turn.

Three stages one after the other, over states handed in at addresses that never move. Every launch is a function of its
inputs, of the states, and of a few lengths that the plan foresees: nothing is read back from the device and nothing
constant is made twice, so that each exact shape can be captured as a graph. Entered by the engine thread.
"""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor

from engine.errors import AskedWrongly
from engine.models.layers.lanes import Lanes
from engine.models.layers.relative import FURTHEST
from engine.models.token2wav.checkpoint import Checkpoint
from engine.models.token2wav.encoding import STAGE as ENCODER
from engine.models.token2wav.encoding import FlowEncoder
from engine.models.token2wav.flowing import STAGE as FLOW
from engine.models.token2wav.flowing import Flow
from engine.models.token2wav.sounding import STAGE as VOCODER
from engine.models.token2wav.sounding import Vocoder
from engine.stage import Lifetime, Timeline
from engine.step import Step, carry_out

SILENT_TOKEN = 4218  # follows a prompt as its look-ahead


@dataclass(frozen=True)
class VoicePrompt:
    """What a voice is taken from.

    Args:
        tokens: Its speech tokens, int64 `[1, n]`.
        mel: Its mel, float32 `[1, 2n, channels]`.
        speaker: Its speaker's embedding, float32 `[1, speaker]`.
    """

    tokens: Tensor
    mel: Tensor
    speaker: Tensor


class Token2Wav:
    """Speech tokens to sound.

    Args:
        checkpoint: Weights and sizes. Nothing here holds it afterwards, only what of it a launch needs.
        timelines: The three stages' declarations, of a prompt of known length.
        views: The arena's views by "stage.state", shift buffers among them; the first launch's ticks are committed.
        noise: The flow's, float32 `[1, channels, frames]`; a launch reads from as far in as it holds frames.

    Raises:
        AskedWrongly: The noise does not reach far enough, or the prompt is longer than positions are known for.
    """

    def __init__(
        self, checkpoint: Checkpoint, timelines: Sequence[Timeline], views: Mapping[str, Tensor], noise: Tensor
    ) -> None:
        lines = {line.name: line for line in timelines}
        encoder, flow, vocoder = (lines[name] for name in (ENCODER, FLOW, VOCODER))
        reach = len(views["flow.attention.shift"])
        if noise.shape[2] < reach or reach > FURTHEST:
            raise AskedWrongly(
                f"{noise.shape[2]} frames of noise, for a prompt that makes launches reach {reach}",
                f"as much noise as that, and at most {FURTHEST} frames",
                "take a shorter voice prompt",
            )
        sizes = checkpoint.sizes
        lanes = Lanes(noise.device)
        self.encoder = FlowEncoder(checkpoint.flow, sizes.flow, encoder, views, lanes)
        self.flow = Flow(checkpoint.flow, sizes.flow, flow, views, noise, lanes)
        self.vocoder = Vocoder(checkpoint.vocoder, sizes.vocoder, views, lanes)
        self.sizes, self._stride = sizes, sizes.flow.encoder.stride
        initial = {f"{line.name}.{spec.name}": spec for line in (encoder, flow, vocoder) for spec in line.states}
        assert all(spec.reset is Lifetime.TURN for spec in initial.values()), "a turn's end is everything's end here"
        self._initial = {name: views[name][: spec.initial] for name, spec in initial.items() if spec.initial}
        self._prompt: dict[str, Tensor] = {}  # what those held after the prompt: every turn begins with it

    @property
    def prompt_bytes(self) -> int:
        """Bytes of what is held to begin turns with, beside the states."""
        return sum(state.nbytes for state in self._prompt.values())

    def prepare(self, prompt: VoicePrompt) -> None:
        """Take in the voice, and begin the first turn.

        Raises:
            AskedWrongly: The prompt is not of the planned length, or its mel not of its tokens' length.
        """
        count, frames = prompt.tokens.shape[1], prompt.mel.shape[1]
        planned = len(self._initial["flow_encoder.attention"]), len(self._initial["flow.attention"])
        if (count, frames) != planned:
            raise AskedWrongly(
                f"a voice prompt of {count} tokens and {frames} mel frames",
                f"{planned[0]} tokens and {planned[1]} frames, as planned",
                "plan for this prompt",
            )
        self.encoder.start()
        self.flow.start(prompt.speaker)
        ahead = prompt.tokens.new_full((1, self.sizes.flow.encoder.look_ahead), SILENT_TOKEN)
        meaning = self.encoder(torch.cat((prompt.tokens, ahead), 1), 0)
        self.flow(meaning, 0, prompt.mel.transpose(1, 2).contiguous())
        self._prompt = {name: state.clone() for name, state in self._initial.items()}
        self.reset()

    def reset(self) -> None:
        """Begin a new turn: all states hold the prompt again, and nothing else."""
        for name, state in self._prompt.items():
            self._initial[name].copy_(state)
        self.encoder.held = len(self._initial["flow_encoder.attention"])
        self.flow.held = len(self._initial["flow.attention"])
        self.vocoder.held = 0

    def frames(self, tokens: int, *, last: bool = False) -> int:
        """Mel frames that the vocoder is handed in a launch fed so many tokens: those held, and the new ones."""
        encoder = self.sizes.flow.encoder
        return self.vocoder.held + self._stride * (tokens - (0 if last else encoder.look_ahead))

    def steps(self, tokens: Tensor, noise: Tensor, *, last: bool = False) -> Generator[Step, Any, Tensor]:
        """One launch of each stage, as steps that a runtime executes; see `engine.step`.

        Args:
            tokens: int64 `[1, n]`, the look-ahead among them where the turn goes on.
            noise: The vocoder's, for `frames(n)` frames, as `layers.harmonics.draw_noise` gives it.
            last: The turn ends with these tokens; `reset` must follow.

        Returns:
            Sound at 24 kHz, float32 `[1, samples]`; the overlap is held back where the turn goes on.
        """
        encoder, flow, vocoder = self.encoder, self.flow, self.vocoder
        fed, heard = tokens.shape[1], self.frames(tokens.shape[1], last=last)
        new = heard - vocoder.held
        meaning = yield self._step(ENCODER, (fed, encoder.held, self._stride * encoder.held), last, (tokens,))
        mel = yield self._step(FLOW, (new, flow.held), last, (meaning,))
        sound: Tensor = yield self._step(VOCODER, (heard, vocoder.held), last, (mel, noise))
        if not last:
            encoder.advance(new // self._stride)
            flow.advance(new)
            vocoder.advance()
        return sound

    def rehearse(self, stage: str, shape: tuple[int, ...], *, last: bool) -> Step:
        """A launch to be captured: the step of a planned shape, with room for its inputs, its constants made.

        Args:
            stage: One of the three.
            shape: As the plan has it.
            last: Of a launch without look-ahead, because the turn ends.
        """
        count, sizes, device = shape[0], self.sizes, self.flow.device
        inputs: tuple[Tensor, ...]
        if stage == ENCODER:
            self.encoder.foresee(count - (0 if last else sizes.flow.encoder.look_ahead), shape[1])
            inputs = (torch.zeros(1, count, dtype=torch.int64, device=device),)
        elif stage == FLOW:
            self.flow.foresee(count)
            inputs = (torch.zeros(1, sizes.flow.estimator.channels, count, device=device),)
        else:
            self.vocoder.foresee(count)
            source = sizes.vocoder.source
            noise = torch.zeros(1, source.harmonics + 1, count * source.frame, device=device)
            inputs = (torch.zeros(1, sizes.vocoder.mels, count - shape[1], device=device), noise)
        return self._step(stage, shape, last, inputs)

    def _step(self, stage: str, shape: tuple[int, ...], last: bool, inputs: tuple[Tensor, ...]) -> Step:
        held, fed = shape[1], shape[0]
        if stage == ENCODER:
            taken = fed - (0 if last else self.sizes.flow.encoder.look_ahead)
            return Step(stage, shape, taken, partial(self.encoder, held=held, last=last), inputs, last, captures=True)
        if stage == FLOW:
            return Step(stage, shape, fed, partial(self.flow, held=held, last=last), inputs, last, captures=True)
        return Step(stage, shape, fed - held, partial(self.vocoder, held=held, last=last), inputs, last, captures=True)

    def __call__(self, tokens: Tensor, noise: Tensor, *, last: bool = False) -> Tensor:
        """One launch of each stage at once; see `steps`."""
        return carry_out(self.steps(tokens, noise, last=last))
