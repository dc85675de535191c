"""Replay's choices, on graphs that are made up: what is captured when, what runs eagerly, what is given back."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.clock import NS
from engine.plan import GraphShape
from engine.replay import CannotCapture, ReplayRuntime, Timed
from engine.step import Step
from tests.fakes import ManualClock

CAPTURE_NS = NS // 10


class MadeUpGraph:
    def __init__(self, pool, step):
        self.pool, self.step = pool, step

    def replay(self, inputs):
        assert not self.pool.retired, "a retired graph is gone"
        return ("graph", self.step.run(*inputs))


class MadeUpPool:
    def __init__(self, device):
        self.device, self.graphs, self.retired = device, [], False

    @property
    def held_bytes(self):
        return 100 * len(self.graphs)

    def capture(self, step):
        self.device.clock.advance_s(CAPTURE_NS / NS)
        if step.shape in self.device.refuses:
            raise CannotCapture("it looks at the device")
        self.graphs.append(MadeUpGraph(self, step))
        return self.graphs[-1]

    def retire(self):
        self.graphs.clear()
        self.retired = True


class MadeUpDevice:
    """Captures, and works for as long as it is told after the host has gone on."""

    def __init__(self, clock, refuses=()):
        self.clock, self.refuses, self.pools, self.asked = clock, refuses, [], 0

    def pool(self):
        self.pools.append(MadeUpPool(self))
        return self.pools[-1]

    def timed(self, work):
        start_ns, result = self.clock.now_ns(), work()

        def timing():
            self.asked += 1
            return Timed(start_ns + 5, 2_000_000)

        return result, timing


def step(*shape, last=False, captures=True):
    return Step("flow", shape, shape[0], lambda x: x + 1, (1,), last, captures)


def rehearse(stage, shape, last):
    return Step(stage, shape, shape[0], lambda x: x + 1, (0,), last, captures=True)


def shape(*ticks, a_unit=1, early=0):
    return GraphShape("flow", ticks, False, Fraction(a_unit), early, 0)


def begin(refuses=(), budget_bytes=250):
    clock = ManualClock()
    device = MadeUpDevice(clock, refuses)
    return clock, device, ReplayRuntime(clock, device, rehearse, budget_bytes)


def test_what_a_session_keeps_meeting_is_captured_before_it():
    _, device, runtime = begin()
    told = []

    prepared = runtime.prepare(
        [shape(50, 270), shape(50, 170, a_unit=0, early=1), shape(7, 270, a_unit=0)], lambda *done: told.append(done)
    )

    assert (prepared.graphs, prepared.held_bytes, prepared.refused) == (2, 200, {})
    assert prepared.seconds == 2 * CAPTURE_NS / NS
    assert str(prepared) == "2 graphs captured in 0.2 s, 0 MiB"
    assert told == [(0, 2), (1, 2), (2, 2)]
    assert runtime.execute(step(50, 270), 0)[0] == ("graph", 2)
    assert runtime.execute(step(50, 170), 0)[1].path == "graph"
    assert device.pools[0].graphs[0].step.shape == (50, 270), "the most frequent first"


def test_the_same_shape_at_a_turns_end_is_another_graph():
    _, _, runtime = begin()
    runtime.prepare([shape(50, 270)])

    assert runtime.execute(step(50, 270, last=True), 0)[1].path == "eager"


def test_what_was_not_foreseen_runs_eagerly_is_counted_and_is_captured_in_the_slack():
    clock, _, runtime = begin()
    runtime.prepare([shape(50, 270)])

    for _ in range(3):
        result, record = runtime.execute(step(7, 270), 0)
        assert (result, record.path) == (2, "eager")
    assert runtime.eager == {("flow", (7, 270), False): 3}

    assert runtime.use_slack(clock.now_ns() + NS) == 1
    assert runtime.execute(step(7, 270), 0)[1].path == "graph"
    assert runtime.use_slack(clock.now_ns() + NS) == 0


def test_nothing_is_captured_where_too_little_slack_is_left():
    clock, _, runtime = begin()
    runtime.prepare([shape(50, 270)])
    runtime.execute(step(7, 270), 0)

    assert runtime.use_slack(clock.now_ns() + CAPTURE_NS) == 0
    assert runtime.use_slack(clock.now_ns() + 2 * CAPTURE_NS) == 1


@given(lengths=st.lists(st.integers(1, 12), min_size=1, max_size=40), slack=st.integers(0, 5))
def test_a_capture_never_outlasts_the_slack(lengths, slack):
    clock, _, runtime = begin()
    runtime.prepare([shape(50, 270)])
    for length in lengths:
        runtime.execute(step(length), 0)
        until_ns = clock.now_ns() + slack * CAPTURE_NS
        runtime.use_slack(until_ns)
        assert clock.now_ns() <= until_ns


def test_what_cannot_be_captured_says_why_and_goes_on_eagerly():
    clock, _, runtime = begin(refuses={(50, 270), (7,)})

    prepared = runtime.prepare([shape(50, 270)])
    runtime.execute(step(7), 0)
    runtime.use_slack(clock.now_ns() + NS)
    runtime.execute(step(7), 0)

    assert str(prepared) == "0 graphs captured in 0.1 s, 0 MiB; 1 could not be: flow (50, 270): it looks at the device"
    assert runtime.execute(step(50, 270), 0)[0] == 2
    assert runtime.use_slack(clock.now_ns() + NS) == 0, "it is not tried again"
    assert set(runtime.refused) == {("flow", (50, 270), False), ("flow", (7,), False)}


def test_past_its_budget_a_generation_is_retired_whole_and_what_was_prepared_stays():
    clock, device, runtime = begin(budget_bytes=250)
    runtime.prepare([shape(50, 270)])
    for length in range(1, 5):
        runtime.execute(step(length), 0)
        runtime.use_slack(clock.now_ns() + NS)

    assert device.pools[1].retired
    assert runtime.retired == 1
    paths = {length: runtime.execute(step(length), 0)[1].path for length in range(1, 5)}
    assert paths == {1: "eager", 2: "eager", 3: "eager", 4: "graph"}
    assert runtime.execute(step(50, 270), 0)[1].path == "graph"
    runtime.use_slack(clock.now_ns() + NS)
    assert runtime.execute(step(1), 0)[1].path == "graph", "met again, captured again"


def test_a_step_that_takes_no_graph_is_neither_counted_nor_captured():
    clock, _, runtime = begin()

    assert runtime.execute(step(7, captures=False), 0)[1].path == "eager"
    assert runtime.use_slack(clock.now_ns() + NS) == 0
    assert not runtime.eager


def test_the_devices_times_come_with_the_unit_and_are_waited_for_then_alone():
    clock, device, runtime = begin()
    origin_ns = clock.now_ns()
    clock.advance_s(1e-6)

    _, record = runtime.execute(step(7), origin_ns)
    assert (record.device_ms, device.asked) == (None, 0)
    (settled,) = runtime.settle([record], origin_ns)

    assert (settled.device_start_ns, settled.device_ms, device.asked) == (1_005, 2.0, 1)
    assert (settled.name, settled.shape, settled.path, settled.start_ns) == ("flow", (7,), "eager", 1_000)
    assert runtime.settle([settled], origin_ns) == [settled], "settled once"


def test_a_step_that_raises_is_the_callers():
    _, _, runtime = begin()

    def fail(_):
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        runtime.execute(Step("flow", (1,), 1, fail, (1,), captures=True), 0)


class MadeUpClocked:
    """Regimes of a hundred lengths; refuses those from `refuses` on."""

    def __init__(self, clock, refuses=1000):
        self.clock, self.refuses, self.ready = clock, refuses, set()

    def covers(self, shape):
        return shape[0] == 1 and shape[-1] <= 400

    def is_ready(self, tick):
        return tick // 100 in self.ready

    def prepare(self, tick):
        self.clock.advance_s(CAPTURE_NS / NS)
        if tick >= self.refuses:
            raise CannotCapture("a word follows no clock")
        self.ready.add(tick // 100)

    def launch(self, tick, inputs):
        assert self.is_ready(tick)
        return ("clocked", tick, inputs)


def clocked(refuses=1000):
    clock = ManualClock()
    device, made = MadeUpDevice(clock), MadeUpClocked(clock, refuses)
    return clock, made, ReplayRuntime(clock, device, rehearse, clocked={"llm": made})


def token(length, count=1):
    return Step("llm", (count, length), count, lambda x: x + 1, (1,), seamed=count > 1)


def test_clocked_graphs_are_prepared_in_the_slack_for_lengths_that_come():
    clock, made, runtime = clocked()

    assert runtime.execute(token(20), 0)[1].path == "eager"
    assert sum(runtime.eager.values()) == 1
    assert runtime.use_slack(clock.now_ns() + 100 * NS) == 1
    assert made.ready == {0}

    result, record = runtime.execute(token(30), 0)
    assert (result, record.path, record.ticks) == (("clocked", 30, (1,)), "clocked", 1)
    assert runtime.use_slack(clock.now_ns() + 100 * NS) == 0
    # Sixty-four ticks ahead is another regime: it is there before it is needed.
    runtime.execute(token(40), 0)
    assert runtime.use_slack(clock.now_ns() + 100 * NS) == 1
    assert made.ready == {0, 1}
    assert sum(runtime.eager.values()) == 1
    # What is beyond all lengths is not asked for.
    made.ready.add(4)
    runtime.execute(token(400), 0)
    assert runtime.use_slack(clock.now_ns() + 100 * NS) == 0


def test_several_ticks_at_once_are_no_clocked_step():
    _, made, runtime = clocked()
    made.ready.add(0)

    assert runtime.execute(token(30, 10), 0)[1].path == "seam"
    assert not runtime.eager


def test_where_no_clocked_graph_can_be_had_it_is_said_once_and_all_goes_on_eagerly():
    clock, _, runtime = clocked(refuses=100)
    runtime.prepare_clocked("llm", [20])
    assert runtime.execute(token(50), 0)[1].path == "clocked"

    assert runtime.use_slack(clock.now_ns() + 100 * NS) == 0

    assert runtime.refused == {("llm", (1, 114), False): "a word follows no clock"}
    assert runtime.execute(token(51), 0)[1].path == "eager"
    assert runtime.use_slack(clock.now_ns() + 100 * NS) == 0
