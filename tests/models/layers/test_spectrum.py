"""Spectra against torch's own, which cannot be captured."""

import pytest
import torch

from engine.models.layers.spectrum import Spectrum

WINDOW = torch.hann_window(16, dtype=torch.float64).float()  # as released: in float32 from the start it is another
pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.mark.parametrize("frames", [5, 721, 6001, 6961])
def test_synthesis_is_torchs_to_the_bit_foreseen_or_not(frames):
    spectrum = Spectrum(16, 4, torch.device("cpu"))
    generator = torch.Generator().manual_seed(frames)
    parts = torch.randn(2, 1, 9, frames, generator=generator)
    signal = torch.complex(parts[0], parts[1])
    expected = torch.istft(signal, 16, 4, 16, window=WINDOW)

    assert torch.equal(spectrum.synthesise(signal), expected)
    spectrum.foresee(frames)
    assert torch.equal(spectrum.synthesise(signal), expected)


def test_synthesis_undoes_analysis():
    spectrum = Spectrum(16, 4, torch.device("cpu"))
    signal = torch.randn(1, 480, generator=torch.Generator().manual_seed(1))

    real, imaginary = spectrum.analyse(signal).chunk(2, 1)

    torch.testing.assert_close(spectrum.synthesise(torch.complex(real, imaginary)), signal)
