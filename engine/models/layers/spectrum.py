"""Short-time Fourier transforms over a window that is constant and on the device, so that both can be captured.

The same operations as `torch.stft` and `torch.istft`, centred; the inverse leaves out their look at the window's
envelope, which reads the device from the host, and takes the envelope as a constant. Entered by the engine thread.
"""

import torch
from torch import Tensor


class Spectrum:
    """Analysis and synthesis with a periodic Hann window.

    Args:
        size: Samples of a window.
        hop: Samples from window to window.
        device: Where the signals are.
    """

    def __init__(self, size: int, hop: int, device: torch.device) -> None:
        self._size, self._hop = size, hop
        self._window = torch.hann_window(size, dtype=torch.float64).float().to(device)
        self._envelopes: dict[int, Tensor] = {}

    def analyse(self, signal: Tensor) -> Tensor:
        """`signal` `[1, n]` as `[1, real|imaginary of each frequency, n / hop + 1]`."""
        spectrum = torch.stft(signal, self._size, self._hop, self._size, window=self._window, return_complex=True)
        parts = torch.view_as_real(spectrum)
        return torch.cat((parts[..., 0], parts[..., 1]), 1)

    def foresee(self, frames: int) -> None:
        """Make the constant that synthesis of so many frames needs, and keep it."""
        if frames not in self._envelopes:
            self._envelopes[frames] = self._envelope(frames)

    def synthesise(self, spectrum: Tensor) -> Tensor:
        """Complex `[1, frequencies, frames]` as a signal `[1, (frames - 1) * hop]`."""
        frames = spectrum.shape[2]
        envelope = self._envelopes[frames] if frames in self._envelopes else self._envelope(frames)
        pieces = torch.fft.irfft(spectrum.transpose(1, 2), self._size) * self._window  # [1, frames, size]
        return self._added(pieces) / envelope

    def _envelope(self, frames: int) -> Tensor:
        return self._added(self._window.pow(2).expand(1, frames, self._size))

    def _added(self, pieces: Tensor) -> Tensor:
        """Windows laid over one another, and half a window cut off at either end."""
        length = self._size + self._hop * (pieces.shape[1] - 1)
        added: Tensor = torch.ops.aten.unfold_backward(pieces, [1, length], 1, self._size, self._hop)
        return added[:, self._size // 2 : length - self._size // 2]
