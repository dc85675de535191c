"""The stage `mel`: a second's samples to the mel frames that the encoder is fed, on the host.

Follows `StreamingMelProcessorExact` and `MiniCPMAAudioProcessor` of the released code: every second the mel is worked
out over all the audio held, which at thirty seconds drops its first ten, and the frames that no later sample changes go
out, with two before and two after. While less than five seconds are held, quiet is cut off at a fixed level; later at
eight decades below the loudest of what is held. Entered by the engine thread.
"""

import torch
from torch import Tensor

from engine.models.layers.carry import keep
from engine.models.layers.mel import FFT_SAMPLES, HOP_SAMPLES, SAMPLE_RATE_HZ, LogMel, scaled
from engine.models.minicpm_o.timelines import FIRST_CHUNK, MEL_STRIDE, MEL_TRIGGER
from engine.step import Step

STAGE = "mel"
CHUNK, CONTEXT = 100, 2  # frames that go out, and those beside them on each side
FIRST, LATER = FIRST_CHUNK // HOP_SAMPLES * HOP_SAMPLES, SAMPLE_RATE_HZ  # samples taken; what is over waits
FIXED_SAMPLES, FLOOR = 5 * SAMPLE_RATE_HZ, -10.0  # held, below which quiet is cut off at a fixed level


class StreamedMel:
    """The stage.

    Args:
        audio: float32 `[max_samples]`, in the host's memory; what a launch holds must be committed.
        shift: float32 `[samples]`: what stays when the first ten seconds go.
    """

    def __init__(self, audio: Tensor, shift: Tensor) -> None:
        assert audio.device.type == "cpu", "it runs on the host, as released"
        self._audio, self._shift, self._log_mel = audio, shift, LogMel()
        self.begin()

    def begin(self) -> None:
        """A session begins."""
        self.held = 0  # samples
        self._sent, self._dropped = 0, 0  # frames: that went out, and of which the audio is gone
        self._waiting = torch.zeros(0)

    def step(self, samples: Tensor) -> Step:
        """A unit's chunk, for a runtime; what it takes is counted at once.

        Args:
            samples: float32 `[16560]` where it is the session's first, later `[16000]`.

        Returns:
            A step whose result is `[1, mels, 102]`, later `[1, mels, 104]`, float32, on the host.
        """
        takes = LATER if self._sent else FIRST
        heard = torch.cat((self._waiting, samples))
        assert len(heard) >= takes, "a chunk of the declared length"
        heard, self._waiting = heard[:takes], heard[takes:]
        before, drops = self.held, self.held + takes >= MEL_TRIGGER
        self.held += takes - (MEL_STRIDE if drops else 0)
        self._dropped += MEL_STRIDE // HOP_SAMPLES if drops else 0
        first = self._sent
        self._sent += CHUNK
        start, stop = (frame - self._dropped for frame in (max(0, first - CONTEXT), first + CHUNK + CONTEXT))

        def run(heard: Tensor) -> Tensor:
            return self._extract(heard, before, slice(start, stop), drops=drops)

        return Step(STAGE, (takes, before), takes, run, (heard,))

    def _extract(self, heard: Tensor, before: int, frames: slice, *, drops: bool) -> Tensor:
        held = before + len(heard)
        self._audio[before:held] = heard
        if drops:
            keep(self._audio[:, None], (range(MEL_STRIDE, held),), self._shift)
            held -= MEL_STRIDE
        assert frames.stop <= (held - FFT_SAMPLES // 2) // HOP_SAMPLES + 1, "no later sample changes what goes out"
        log = self._log_mel.log(self._log_mel.spectrum(self._audio[None, :held]).abs() ** 2)
        return scaled(log, FLOOR if held < FIXED_SAMPLES else log.max() - 8.0)[:, :, frames].contiguous()
