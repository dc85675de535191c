"""Faults in a storm are a line a second with a count, and none is lost; what is told once is told once."""

from hypothesis import given
from hypothesis import strategies as st

from app.audio.state import Happening, Side
from app.audio.tidings import MOST_WAITING, Tidings
from engine.clock import NS

MS = NS // 1000


def test_a_storm_is_a_line_a_second_with_a_count():
    tidings, told = Tidings(), []
    for ms in range(0, 5000, 10):
        tidings.fault(Side.MICROPHONE, "overflow", ms * MS)
        told += tidings.take()
    assert [event.message for event in told] == ["overflow", *["overflow (100 times)"] * 4]
    assert all(event.kind is Happening.FAULT for event in told)
    tidings.settle(6000 * MS)
    assert [event.message for event in tidings.take()] == ["overflow (99 times)"]


@given(st.lists(st.tuples(st.integers(0, 900), st.sampled_from(["a", "b"]), st.integers(1, 50)), max_size=60))
def test_every_fault_is_counted(faults):
    tidings, now_ns, counted = Tidings(), 0, {"a": 0, "b": 0}
    for after_ms, kind, count in faults:
        now_ns += after_ms * MS
        tidings.fault(None, kind, now_ns, count)
    tidings.settle(now_ns + NS)
    for event in tidings.take():
        kind, _, rest = event.message.partition(" (")
        counted[kind] += int(rest.split()[0]) if rest else 1
    for kind in "ab":
        assert counted[kind] == sum(count for _, of, count in faults if of == kind)


def test_kinds_do_not_hold_each_other_back():
    tidings = Tidings()
    tidings.fault(Side.MICROPHONE, "overflow", 0)
    tidings.fault(Side.SPEAKER, "overflow", 0)
    tidings.fault(Side.SPEAKER, "underflow", 0)
    assert len(tidings.take()) == 3


def test_what_nobody_asks_for_is_bounded():
    tidings = Tidings()
    for number in range(2 * MOST_WAITING):
        tidings.tell(Happening.WARNING, None, str(number), 0)
    told = tidings.take()
    assert len(told) == MOST_WAITING
    assert told[-1].message == str(2 * MOST_WAITING - 1)
    assert tidings.take() == []
