"""Voice activity: Silero's 16 kHz network over frames of 512 samples, a unit's frames at once.

The convolutions of a unit's 31 or 32 frames run as one batch, and only the LSTM, whose state is carried from frame to
frame, goes through them in order: the same numbers as frame by frame, to float32's rounding. Sees samples; decides
nothing about turns. The same for all three runtimes. Entered by the engine thread.

The package's safetensors are an earlier training of the network than its TorchScript file. This module equals that
file to 5e-7 when given its weights. With the safetensors' it finds the ends of speech as well (65 recordings,
2026-12-01, from the energy's end: median 60 ms against 57, in noise at 10 dB 47 against 56; neither hears any in
silence, hum, hiss, tones or clicks), and nobody has to run TorchScript.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file
from torch import Tensor
from torch.nn import functional

from engine.errors import MissingWeights
from engine.models.pocket.hearing_timelines import FRAME_SAMPLES, MEMORY_WIDTH
from engine.models.pocket.segments import SpeechSegments

CONTEXT_SAMPLES = 64  # of the frame before, put in front of each
PADDING_SAMPLES = 64  # behind each, its own end mirrored
STFT_HOP = 128


@dataclass(frozen=True)
class Frames:
    """What one run of the network told.

    Args:
        start: Session sample at which the first frame begins.
        probabilities: How likely each frame holds voice, 0 to 1.
    """

    start: int
    probabilities: tuple[float, ...]


class Silero:
    """The network, its state, and the samples that wait for a frame to fill.

    Args:
        weights: Tensors under the names that Silero's package gives them.
        memory: The LSTM's state, float32 `[1, 2, MEMORY_WIDTH]`, hidden and cell; written in place.
    """

    def __init__(self, weights: Mapping[str, Tensor], memory: Tensor) -> None:
        self._weights, self._memory = weights, memory
        self._recurrent = [weights[f"lstm_cell.{part}"] for part in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]
        self._waiting = np.zeros(CONTEXT_SAMPLES, np.float32)  # the last frame's end, then samples short of a frame
        self._next_frame = 0
        self.reset()

    def reset(self) -> None:
        """Begin another recording."""
        self._memory.zero_()
        self._waiting, self._next_frame = np.zeros(CONTEXT_SAMPLES, np.float32), 0

    def frames_in(self, samples: int) -> int:
        """How many frames the next `samples` samples will fill."""
        return (len(self._waiting) - CONTEXT_SAMPLES + samples) // FRAME_SAMPLES

    def pass_over(self, samples: int) -> None:
        """Let whole frames of silence go by unheard."""
        assert samples % FRAME_SAMPLES == 0, samples
        self._next_frame += samples

    @torch.inference_mode()
    def run(self, chunk: NDArray[np.float32]) -> Frames:
        """Take in the next samples, float32 `[samples]` at 16 kHz; what fills no frame waits for the next run."""
        count, start = self.frames_in(len(chunk)), self._next_frame
        samples = np.concatenate([self._waiting, chunk])
        self._next_frame += count * FRAME_SAMPLES
        self._waiting = samples[count * FRAME_SAMPLES :]
        if not count:
            return Frames(start, ())
        used = torch.from_numpy(samples[: CONTEXT_SAMPLES + count * FRAME_SAMPLES])
        frames = used.unfold(0, CONTEXT_SAMPLES + FRAME_SAMPLES, FRAME_SAMPLES)  # [frames, samples], overlapping
        return Frames(start, tuple(self._probabilities(self._features(frames)).tolist()))

    def _features(self, frames: Tensor) -> Tensor:
        """`frames` `[frames, samples]` as `[frames, MEMORY_WIDTH]`."""
        padded = functional.pad(frames.unsqueeze(1), (0, PADDING_SAMPLES), "reflect")
        waves = functional.conv1d(padded, self._weights["stft_conv.weight"], stride=STFT_HOP)
        cosine, sine = waves.chunk(2, dim=1)  # [frames, bins, 4]
        x = (cosine * cosine + sine * sine).sqrt()
        for name, stride in (("conv1", 1), ("conv2", 2), ("conv3", 2), ("conv4", 1)):
            weight, bias = self._weights[f"{name}.weight"], self._weights[f"{name}.bias"]
            x = functional.relu(functional.conv1d(x, weight, bias, stride=stride, padding=1))
        return x.squeeze(-1)

    def _probabilities(self, features: Tensor) -> Tensor:
        """`features` `[frames, MEMORY_WIDTH]` through the LSTM, in order, to `[frames]`."""
        state = [self._memory[:, :1].clone(), self._memory[:, 1:].clone()]  # hidden and cell, [1, 1, MEMORY_WIDTH] each
        layout = (
            True,
            1,
            0.0,
            False,
            False,
            False,
        )  # biases, one layer, no dropout nor training, one direction, time first
        out, hidden, cell = torch.lstm(features.unsqueeze(1), state, self._recurrent, *layout)
        self._memory[:, :1], self._memory[:, 1:] = hidden, cell
        weight, bias = self._weights["final_conv.weight"], self._weights["final_conv.bias"]
        return (
            functional.linear(functional.relu(out.view(-1, MEMORY_WIDTH)), weight.view(1, -1), bias).sigmoid().view(-1)
        )


class VoiceActivity:
    """Tells where the user has voice; positions are session samples."""

    def __init__(self, network: Silero, segments: SpeechSegments | None = None) -> None:
        self._network, self._segments = network, segments or SpeechSegments()
        self.frames = Frames(0, ())  # what the last chunk told

    def reset(self) -> None:
        """Begin another recording."""
        self._network.reset()
        self._segments.clear()
        self.frames = Frames(0, ())

    def run(self, chunk: NDArray[np.float32]) -> int:
        """Take in the next samples, float32 `[samples]` at 16 kHz.

        Returns:
            How many frames they filled: 31 or 32 of a second.
        """
        self.frames = self._network.run(chunk)
        self._segments.push(self.frames.start, FRAME_SAMPLES, self.frames.probabilities)
        return len(self.frames.probabilities)

    def pass_over(self, samples: int) -> None:
        """Let whole frames of silence go by unheard; silence that is heard comes after."""
        self._network.pass_over(samples)

    def frames_in(self, samples: int) -> int:
        """How many frames the next `samples` samples will fill."""
        return self._network.frames_in(samples)

    @property
    def last_voiced_sample(self) -> int | None:
        """The newest sample with voice; None where there was none yet."""
        return self._segments.last_voiced_sample

    @property
    def last_onset(self) -> int | None:
        """Where the newest stretch of voice began; None where there was none yet."""
        return self._segments.last_onset

    def onset_after(self, sample: int) -> int | None:
        """The first sample with voice at or after `sample`."""
        return self._segments.onset_after(sample)

    def voiced_samples_after(self, sample: int) -> int:
        """How many samples at or after `sample` had voice."""
        return self._segments.voiced_samples_after(sample)


def load_voice_activity(folder: Path, memory: Tensor) -> VoiceActivity:
    """Voice activity from a folder of converted weights.

    Args:
        folder: Holds `model.safetensors`.
        memory: Where the LSTM's state lies, float32 `[1, 2, MEMORY_WIDTH]`.

    Raises:
        MissingWeights: The folder lacks the file.
    """
    file = folder / "model.safetensors"
    if not file.is_file():
        raise MissingWeights(f"no Silero in {folder.name}", "", "run: duplexcadence models fetch pocket")
    return VoiceActivity(Silero(load_file(file), memory))
