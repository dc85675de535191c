"""Units at wall-clock through the real session: a chunk each second, deadlines, playout, captures in the slack alone.

What is heard is made up, as in all of this benchmark: the session's chunks are silence, and count. The released code is
run as one step a unit. Entered by the engine thread.
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any

import numpy as np

from engine.bench.place import quiet
from engine.bench.unit.columns import CadenceUnit, Heard, StockUnit
from engine.bench.unit.rig import Outside, UnitRig
from engine.cadence.statistics import Spread
from engine.chunk import Chunk
from engine.clock import NS
from engine.plan import Plan, Script
from engine.playout import Playout
from engine.runtime import EagerRuntime
from engine.session import Session
from engine.stage import Lifetime
from engine.step import Event, Outcome, SoFar, Step, UnitSteps
from engine.timing import MemoryRecord

INPUT_HZ, OUTPUT_HZ = 16_000, 24_000


def live(rig: UnitRig, name: str, seconds: int, tell: Callable[[str], None]) -> dict[str, Any]:
    """A session of so many units: how many came late, and by how much the others did not."""
    column, clock, script = rig.column(name, Outside(rig.asked.script)), rig.place.clock, Script.parse(rig.asked.script)
    column.capture()
    column.begin(rig.opening())
    for heard in islice(rig.heard(), len(script.start) + len(script.cycle)):  # so that no unit meets a first time
        column.hear(heard)
        column.rest(heard)
    fell_back = column.figures().get("eager_fallbacks", 0)
    model = OurModel(column, rig) if isinstance(column, CadenceUnit) else ReleasedModel(column, rig)
    playout = Playout(OUTPUT_HZ)
    session = Session(
        model,
        column.runtime if isinstance(column, CadenceUnit) else EagerRuntime("stock", clock),
        column.arena if isinstance(column, CadenceUnit) else Nothing(),
        playout,
        clock,
        speaker=(speaker := Unheard(playout)),
        memory=lambda: MemoryRecord(arena_reserved=0, arena_committed=0),
    )
    units = []
    with quiet(), column.settings():
        session.begin(clock.now_ns() + NS)
        speaker.begin(clock.now_ns())
        for index in range(seconds):
            clock.sleep_until_ns(session.arrival_ns(index))
            chunk = Chunk(index, index * INPUT_HZ, np.zeros(INPUT_HZ, np.float32))
            units.append(session.run_unit(chunk))
            if (index + 1) % 30 == 0:
                tell(f"{name}: {index + 1} of {seconds} seconds, {sum(one.record.overrun for one in units)} overruns")
    slack = Spread.of((one.record.slack_ms for one in units), worse="less")
    assert slack is not None, "at least one second"
    found: dict[str, Any] = {
        "units": len(units),
        "overruns": sum(one.record.overrun for one in units),
        "faults": [fault.message for one in units for fault in one.faults],
        "gap_ms": round(playout.counts.gap_ms, 1),
        "played_s": round(playout.counts.played / OUTPUT_HZ, 1),
        "eager_fallbacks": column.figures().get("eager_fallbacks", 0) - fell_back,
    }
    if rig.place.is_gpu:
        found |= {"slack_median_ms": round(slack.median, 1), "slack_worst_ms": round(slack.worst, 1)}
    column.close()
    return found


class _Model:
    """What both have in common; see `engine.step.Model`."""

    input_rate_hz, output_rate_hz = INPUT_HZ, OUTPUT_HZ
    name = "minicpm-o-4.5"
    idle, awaited_since = False, None
    plan: Plan

    def __init__(self, column: CadenceUnit | StockUnit, rig: UnitRig) -> None:
        self._column, self._rig = column, rig
        self._heard: Iterator[Heard] = iter(())

    def prepare(self) -> None:
        """Nothing: the column is."""

    def begin(self) -> None:
        self._column.begin(self._rig.opening())
        self._heard = self._rig.heard()

    def end_turn(self) -> None:
        """A stage has raised, which this session tells and does not mend."""


class OurModel(_Model):
    """Ours, step by step."""

    def __init__(self, column: CadenceUnit, rig: UnitRig) -> None:
        super().__init__(column, rig)
        self._ours, self.plan = column, column.plan

    def unit(self, chunk: Chunk, so_far: SoFar) -> UnitSteps:
        heard = next(self._heard)
        spoken = yield from self._ours.model.unit(heard.mel, forced=self._ours.forced)
        assert not spoken.unit.cut, "a session forgets a cut turn whole, which the released code does not"
        sound = spoken.sound.cpu().numpy()
        self._ours.get_ready(heard.index + 1)
        return Outcome(spoken.event, sound)


class ReleasedModel(_Model):
    """The released code: one step a unit."""

    def __init__(self, column: StockUnit, rig: UnitRig) -> None:
        super().__init__(column, rig)
        self._stock, self.plan = column, rig.plan(rig.asked.script)

    def unit(self, chunk: Chunk, so_far: SoFar) -> UnitSteps:
        heard = next(self._heard)
        said = yield Step("unit", (1,), 1, self._stock.hear, (heard,))
        self._stock.rest(heard)
        return Outcome(Event(said.event), said.sound.numpy())


class Nothing:
    """The arena of a runtime that has none; see `engine.arena.Arena`."""

    reserved_bytes = committed_bytes = resident_bytes = 0

    def view(self, state: str) -> Any:
        """There is none."""
        raise KeyError(state)

    def commit_needed(self, needed: Mapping[str, int]) -> None:
        """Nothing."""

    def commit_ticks(self, state: str, ticks: int) -> None:
        """Nothing."""

    def reset(self, what: str | Lifetime) -> None:
        """Nothing."""


class Unheard:
    """Plays the playout as the clock goes, for nobody; see `engine.session.Speaker`."""

    def __init__(self, playout: Playout) -> None:
        self._playout, self._origin_ns, self._played = playout, 0, 0

    def begin(self, origin_ns: int) -> None:
        """The first sample sounds at `origin_ns`."""
        self._origin_ns = origin_ns

    def advance(self, now_ns: int) -> None:
        count = (now_ns - self._origin_ns) * OUTPUT_HZ // NS - self._played
        if count > 0:
            self._playout.read(self._origin_ns + self._played * NS // OUTPUT_HZ, count)
            self._played += count
