"""Replay: steps run from graphs captured at their exact shapes, and eagerly, counted, where there is none.

The shapes that a session keeps meeting are captured before it starts, one graph each. Others run eagerly when they are
first met and are captured later, in the slack, within a budget of memory: they form a generation of graphs that share
a pool, and when that grows past the budget the whole generation is retired: a pool gives nothing back for one graph.
Where capture fails, the reason is kept, and the step goes on eagerly: the bits are the same either way.

Knows no device: how a graph is captured is `Capturer`'s. Prepare, execute and the slack belong to one thread, [engine].
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Protocol

from engine.clock import NS, Clock
from engine.plan import GraphShape
from engine.step import Key, Step
from engine.timing import StageRecord

CAPTURE_NS = NS  # what one capture is thought to take until one has been timed
AHEAD_TICKS = 64  # so far ahead of a clocked step, the graph of its length is wanted
MARGIN = 1.5  # times the longest capture so far: less slack than that is left alone


class CannotCapture(Exception):
    """A step does something that no graph can hold; says what, in one line."""


@dataclass(frozen=True)
class Timed:
    """A replay as the device timed it, in nanoseconds of the host's clock where it could be placed there.

    Args:
        start_ns: When the device began.
        busy_ns: How long it took.
    """

    start_ns: int
    busy_ns: int


class Graph(Protocol):
    """One captured step."""

    def replay(self, inputs: tuple[Any, ...]) -> Any:
        """Run it over other inputs of the same shapes; the result stays until the same graph is replayed again."""
        ...


class Pool(Protocol):
    """Graphs that share memory, and go together."""

    @property
    def held_bytes(self) -> int:
        """Bytes of device memory."""
        ...

    def capture(self, step: Step) -> Graph:
        """Capture a step, whose inputs say their shapes; states are as they were afterwards.

        Raises:
            CannotCapture: It cannot be captured.
        """
        ...

    def retire(self) -> None:
        """Give everything back. No graph of it may be replayed again."""
        ...


class Capturer(Protocol):
    """Captures steps on a device, and times what runs there."""

    def pool(self) -> Pool:
        """A fresh pool."""
        ...

    def timed(self, work: Callable[[], Any]) -> tuple[Any, Callable[[], Timed]]:
        """Do some work, and afterwards tell how long the device took; asking waits for it."""
        ...


class Clocked(Protocol):
    """A stage's steps of one tick each, from one graph for many lengths; a step's shape ends with its length."""

    def covers(self, shape: tuple[int, ...]) -> bool:
        """Whether steps of this shape are run so."""
        ...

    def is_ready(self, tick: int) -> bool:
        """Whether the graph of this length has been captured."""
        ...

    def prepare(self, tick: int) -> Any:
        """Capture the graph of this length, where it has not been.

        Raises:
            CannotCapture: No clocked graph can be had; none is asked for again.
        """
        ...

    def launch(self, tick: int, inputs: tuple[Any, ...]) -> Any:
        """Run it, at a length that is ready; the result is the caller's."""
        ...


Rehearse = Callable[[str, tuple[int, ...], bool], Step]  # of a key


@dataclass(frozen=True)
class Prepared:
    """What was captured before the session.

    Args:
        graphs: How many.
        seconds: How long it took.
        held_bytes: Device memory that they hold.
        refused: Why a shape could not be captured, by its key.
    """

    graphs: int
    seconds: float
    held_bytes: int
    refused: dict[Key, str]

    def __str__(self) -> str:
        line = f"{self.graphs} graphs captured in {self.seconds:.1f} s, {self.held_bytes / 2**20:.0f} MiB"
        if self.refused:
            (stage, shape, _), reason = next(iter(self.refused.items()))
            line += f"; {len(self.refused)} could not be: {stage} {shape}: {reason}"
        return line


class ReplayRuntime:
    """Executes steps from graphs; see `engine.runtime.Runtime`.

    Args:
        clock: Read before and after each step.
        capturer: Captures them.
        rehearse: Makes the step of a stage, an exact shape, and whether it is a turn's last: for the model at hand.
        budget_bytes: Memory that graphs captured in the slack may hold.
        clocked: By stage, those whose graphs are clocked.
    """

    name = "cadence"

    def __init__(
        self,
        clock: Clock,
        capturer: Capturer,
        rehearse: Rehearse,
        budget_bytes: int = 2**29,
        clocked: Mapping[str, Clocked] = MappingProxyType({}),
    ) -> None:
        self._clock, self._capturer, self._rehearse, self._budget_bytes = clock, capturer, rehearse, budget_bytes
        self._clocked = dict(clocked)
        self._first = capturer.pool()  # of what was captured before the session: never retired
        self._later = capturer.pool()
        self._graphs: dict[Key, Graph] = {}
        self._captured_later: set[Key] = set()
        self._wanted: dict[Key, None] = {}  # met, and without a graph, in the order they were met
        self._capture_ns = 0  # the longest so far
        self._timings: dict[int, Callable[[], Timed]] = {}  # by record
        self.refused: dict[Key, str] = {}
        self.eager = Counter[Key]()  # how often what could be a graph ran without one
        self.retired = 0  # generations

    @property
    def held_bytes(self) -> int:
        """Device memory that graphs hold."""
        return self._first.held_bytes + self._later.held_bytes

    def prepare(
        self, shapes: Iterable[GraphShape], tell: Callable[[int, int], None] = lambda done, of: None
    ) -> Prepared:
        """Capture what a session keeps meeting, and how it usually starts.

        Args:
            shapes: The plan's, of the stages that `rehearse` knows, the most frequent first; those that its script does
                not meet are left to the slack.
            tell: Told how many of how many are done.
        """
        start_ns, wanted = self._clock.now_ns(), [one for one in shapes if one.a_unit or one.early]
        for done, one in enumerate(wanted):
            tell(done, len(wanted))
            self._capture(self._first, (one.stage, one.shape, one.last))
        tell(len(wanted), len(wanted))
        seconds = (self._clock.now_ns() - start_ns) / NS
        return Prepared(len(self._graphs), seconds, self._first.held_bytes, dict(self.refused))

    def execute(self, step: Step, origin_ns: int) -> tuple[Any, StageRecord]:
        """Run one step, from its graph where there is one."""
        start_ns, (path, run) = self._clock.now_ns(), self._way(step)
        result, timing = self._capturer.timed(run)
        record = StageRecord(
            name=step.stage,
            start_ns=start_ns - origin_ns,
            wall_ms=(self._clock.now_ns() - start_ns) / 1e6,
            device_start_ns=None,
            device_ms=None,
            ticks=step.taken(result),
            shape=step.shape,
            path=path,
        )
        self._timings[id(record)] = timing
        return result, record

    def _way(self, step: Step) -> tuple[str, Callable[[], Any]]:
        """How a step is run, by the record's name for it, and what runs it."""
        graph, clocked = self._graphs.get(step.key), self._clocked.get(step.stage)
        if graph is not None:
            return "graph", lambda: graph.replay(step.inputs)
        if clocked is not None and clocked.covers(step.shape):
            tick = step.shape[-1]
            for length in (tick, tick + AHEAD_TICKS):
                shape = (*step.shape[:-1], length)
                if clocked.covers(shape) and not clocked.is_ready(length):
                    self._wanted[(step.stage, shape, step.last)] = None
            if clocked.is_ready(tick):
                return "clocked", lambda: clocked.launch(tick, step.inputs)
            self.eager[step.key] += 1
        elif step.captures:
            self.eager[step.key] += 1
            if step.key not in self.refused:
                self._wanted[step.key] = None
        return "seam" if step.seamed else "eager", step.eagerly

    def prepare_clocked(self, stage: str, ticks: Iterable[int]) -> None:
        """Capture a stage's clocked graphs of some lengths."""
        for tick in ticks:
            self._capture(self._later, (stage, (1, tick), False))

    def settle(self, records: Iterable[StageRecord], origin_ns: int) -> list[StageRecord]:
        """Records of one unit with the device's times, once all that it was asked for is done; waits for it."""
        settled = []
        for record in records:
            timing = self._timings.pop(id(record), None)
            settled.append(record if timing is None else _with(record, timing(), origin_ns))
        self._timings.clear()
        return settled

    def use_slack(self, until_ns: int) -> int:
        """Capture what was met without a graph, as far as time allows. Never between a chunk's arrival and its speech.

        Args:
            until_ns: When the next chunk arrives.

        Returns:
            How many graphs were captured.
        """
        captured = 0
        while self._wanted and self._clock.now_ns() + MARGIN * (self._capture_ns or CAPTURE_NS) < until_ns:
            if self._later.held_bytes > self._budget_bytes:
                if captured:  # what was captured a moment ago is not given back before it is met
                    break
                self._retire()
            key = next(iter(self._wanted))
            if self._capture(self._later, key):
                captured += 1
                self._captured_later.add(key)
        return captured

    def _retire(self) -> None:
        """Give a generation's memory back; what it held runs eagerly until it is met and captured again."""
        for key in self._captured_later:
            self._graphs.pop(key, None)
        self._captured_later.clear()
        self._later.retire()
        self._later = self._capturer.pool()
        self.retired += 1

    def _capture(self, pool: Pool, key: Key) -> bool:
        self._wanted.pop(key, None)
        if key in self._graphs:
            return False
        start_ns, clocked = self._clock.now_ns(), self._clocked.get(key[0])
        try:
            if clocked is not None and clocked.covers(key[1]):
                if clocked.is_ready(key[1][-1]):
                    return False
                clocked.prepare(key[1][-1])
            else:
                self._graphs[key] = pool.capture(self._rehearse(*key))
        except CannotCapture as why:
            self.refused[key] = str(why)
            if clocked is not None:
                del self._clocked[key[0]]  # what one length refuses, others would
            return False
        finally:
            self._capture_ns = max(self._capture_ns, self._clock.now_ns() - start_ns)
        return True


def _with(record: StageRecord, timed: Timed, origin_ns: int) -> StageRecord:
    """The record, with the device's times."""
    return StageRecord(
        name=record.name,
        start_ns=record.start_ns,
        wall_ms=record.wall_ms,
        device_start_ns=timed.start_ns - origin_ns,
        device_ms=timed.busy_ns / 1e6,
        ticks=record.ticks,
        shape=record.shape,
        path=record.path,
        steps=record.steps,
    )
