"""Two minutes of talk, on a clock that stands still while Pocket works: what is said and when, not how fast."""

from pathlib import Path

import numpy as np
import pytest

from tests.quality.conversation import hold, table
from tests.quality.questions import PatientClock


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.weights
def test_ten_turns_at_ten_phases_are_answered_in_time_and_two_barge_ins_silence_the_agent(tmp_path: Path) -> None:
    measured = hold(tmp_path, "cadence", PatientClock(), realtime=False)
    assert measured.unanswered == (), table(measured)
    assert len(measured.delays_s) == 12
    assert np.median(measured.delays_s) <= 2.2, table(measured)
    assert np.percentile(measured.delays_s, 95) <= 3.2, table(measured)
    assert len(measured.silent_after_s) == 2
    assert max(measured.silent_after_s) <= 2, table(measured)  # a unit to notice, a unit to fall silent
    assert min(measured.silent_after_s) > 0  # there was something to silence
    logged = measured.figures.response_delay_ms
    assert logged is not None
    assert logged.median / 1e3 == pytest.approx(np.median(measured.delays_s), abs=0.15)
    assert measured.figures.rss_slope is not None
    assert abs(measured.figures.rss_slope) < 8 << 20, table(measured)
