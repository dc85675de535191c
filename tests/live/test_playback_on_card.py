"""With real PortAudio on a virtual card, a recording's gap is heard as long as it was, and nothing is added to it."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile

from tests.app_on_card import ROOT
from tests.virtual_card import CARD_RATE_HZ, VirtualCard

pytestmark = pytest.mark.audio


def test_what_is_listened_to_is_the_recording_with_its_gap(card: VirtualCard, tmp_path: Path) -> None:
    at = np.arange(24_000 * 5) / 24_000
    speech = (0.3 * np.sin(2 * np.pi * 700 * at)).astype(np.float32)
    speech[24_000 * 2 : round(24_000 * 2.8)] = 0
    soundfile.write(tmp_path / "speech.wav", speech, 24_000)
    command = [sys.executable, "-m", "tests.live.listens_on_card", str(tmp_path), str(tmp_path / "speech.wav")]
    with card.recording() as recording:
        subprocess.run(command, env=card.environment, cwd=ROOT, check=True, timeout=60)
        heard = recording.samples
    step = CARD_RATE_HZ // 100
    loud = np.trim_zeros(np.abs(heard[: len(heard) // step * step]).reshape(-1, step).max(axis=1) > 0.05)
    assert len(loud) == pytest.approx(500, abs=4), "in hundredths of a second"
    silent = np.flatnonzero(~loud)
    assert len(silent) == pytest.approx(80, abs=4)
    assert silent[0] == pytest.approx(200, abs=4)
    assert silent[-1] - silent[0] + 1 == len(silent), "and no other"
