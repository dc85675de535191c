"""The whole unit through the real session, its clock moved by hand."""

import pytest

from engine.bench.columns import CADENCE, PINNED
from engine.bench.unit.live import live
from engine.bench.unit.rig import TINY_WINDOW, UnitAsked, UnitRig
from tests.bench.pretended import PretendedGpu
from tests.fakes import ManualClock


class Creeping(ManualClock):
    """Goes on by a microsecond whenever it is asked, so that nothing takes no time."""

    def now_ns(self) -> int:
        self.advance_s(1e-6)
        return super().now_ns()


pytestmark = pytest.mark.usefixtures("one_thread", "released")


@pytest.mark.parametrize("name", [CADENCE, PINNED])
def test_a_session_plays_what_it_says_and_misses_nothing(name):
    place = PretendedGpu()
    place.clock = Creeping()
    asked = UnitAsked(script="(L S4 S F3)", tiny=True, system_tokens=20, window=TINY_WINDOW, prompt_s=2.0)
    told = []

    found = live(UnitRig(asked, place), name, 30, told.append)

    assert found["units"] == 30
    assert found["overruns"] == 0
    assert found["faults"] == []
    assert found["gap_ms"] < 10_000, "turns' ends and first units are no whole seconds"
    assert found["played_s"] > 15
    assert found["slack_worst_ms"] > 990
    assert found["eager_fallbacks"] < 20, "what the rehearsal did not meet, once"
    assert told == [f"{name}: 30 of 30 seconds, 0 overruns"]
