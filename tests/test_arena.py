"""The arena does what the plan says: no byte earlier than needed, none moved, none kept that was given back."""

import sys
from fractions import Fraction
from mmap import PAGESIZE
from types import SimpleNamespace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.arena import DeviceArena, HostArena
from engine.clock import Rate
from engine.errors import AskedWrongly, NoRoom
from engine.memory.posix import PosixMemory
from engine.memory.windows import WindowsMemory
from engine.models.moshi import timelines as moshi
from engine.models.step_audio2 import timelines as step_audio2
from engine.plan import PlannedState, plan
from engine.stage import After, AtLimit, Lifetime, Quota, StateSpec, T, Tail, Ticking, Timeline
from tests.memory.made_up_device import MadeUpDevice
from tests.memory.made_up_windows import MadeUpWindows

SESSION_S = 1100
ON_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="names a back end by itself")


def small_conversation():
    """An encoder that grows all session long and starts anew at its limit, words that a turn's end resets, a tail."""
    encoder = (
        StateSpec("keys", (T, 3, 64), limit=1500, at_limit=AtLimit.RESET, group="encoder"),
        StateSpec("values", (T, 3, 64), limit=1500, at_limit=AtLimit.RESET, group="encoder"),
        StateSpec("context", (80, T), initial=2, keep=Tail(2)),
    )
    words = tuple(
        StateSpec(f"layer_{n}", (2, 3, T, 64), "bfloat16", initial=40, reset=Lifetime.TURN, group="words")
        for n in range(30)
    )
    return plan(
        (
            Timeline("encoder", Ticking(Rate(25)), "frame", states=encoder),
            Timeline("ears", After("encoder", ratio=Fraction(1)), "frame"),
            Timeline("words", Quota(listen=(), speak=(8,), flush=(8,)), "token", chunk=None, states=words),
        ),
        script="LL(LLLSSSSF)",
        session_s=SESSION_S,
    )


def run(arena, plan, units):
    """What a session does: commit ahead, and at a turn's end give back. Yields after each."""
    for n in range(units):
        unit = plan.unit(n)
        arena.commit_needed(unit.needed)
        yield unit
        if unit.event == "F":
            arena.reset(Lifetime.TURN)


def growing_groups(plan) -> int:
    return len({state.group or state.name for state in plan.states if state.initial < state.max_ticks})


def device_arena(plan) -> DeviceArena:
    return DeviceArena(plan, MadeUpDevice())


ON_HOST_AND_DEVICE = pytest.mark.parametrize("make_arena", [
    HostArena,
    pytest.param(device_arena, marks=ON_LINUX),
], ids=["host", "device"])  # fmt: skip


@ON_HOST_AND_DEVICE
def test_addresses_stand_still_over_a_thousand_units_and_a_reset(make_arena):
    planned = small_conversation()
    arena = make_arena(planned)
    addresses = {state.name: arena.view(state.name).data_ptr() for state in planned.states}
    kept = dict.fromkeys(addresses)
    for n, unit in enumerate(run(arena, planned, 1000)):
        for name, ticks in unit.needed.items():
            if ticks and n % 37 == 0:
                arena.view(name)[:ticks] = n % 100
                kept[name] = n % 100
    arena.reset(Lifetime.TURN)
    arena.reset(Lifetime.SESSION)
    arena.commit_needed(planned.unit(1000).needed)
    for state in planned.states:
        view = arena.view(state.name)
        assert view.data_ptr() == addresses[state.name]
        assert view.shape == (state.max_ticks, *state.item_shape)
        assert torch.all(view[: state.initial] == kept[state.name])


@ON_LINUX
@pytest.mark.parametrize(("make_arena", "granule"), [
    (lambda plan: HostArena(plan, PosixMemory), PAGESIZE),
    # Where touching what is not committed ends the process.
    (lambda plan: HostArena(plan, lambda size: WindowsMemory(size, MadeUpWindows())), PAGESIZE),
    (device_arena, MadeUpDevice.granule_bytes),
], ids=["posix", "windows", "device"])  # fmt: skip
@pytest.mark.parametrize("make", [
    small_conversation,
    lambda: plan(moshi.timelines()),
    lambda: plan(step_audio2.timelines(), script="LSF", session_s=60),
], ids=["small", "moshi", "step_audio2"])  # fmt: skip
def test_committed_is_the_plans_bytes_and_four_granules_a_growing_group_and_resident_is_what_was_committed(
    make, make_arena, granule
):
    planned = make()
    arena = make_arena(planned)
    for unit in run(arena, planned, 5):
        assert unit.bytes <= arena.committed_bytes <= unit.bytes + 4 * granule * growing_groups(planned)
        assert arena.resident_bytes == arena.committed_bytes
        for name, ticks in unit.needed.items():
            arena.view(name)[:ticks].fill_(1)
        assert arena.resident_bytes == arena.committed_bytes  # nothing that the plan foresaw lay outside
    assert arena.reserved_bytes >= planned.max_bytes


def test_a_reset_gives_memory_back_and_keeps_the_initial_ticks():
    planned = small_conversation()
    arena = HostArena(planned)
    before = arena.resident_bytes
    arena.commit_ticks("encoder.keys", 1500)
    arena.commit_ticks("words.layer_7", 400)
    for name, ticks in (("encoder.keys", 1500), ("encoder.values", 1500), ("words.layer_7", 400)):
        arena.view(name)[:ticks] = 5
    grown = arena.resident_bytes
    assert grown - before >= (1500 * 2 * 3 * 64 * 4) + (400 * 30 * 2 * 3 * 64 * 2)

    arena.reset("words.layer_7")
    row = 30 * 2 * 3 * 64 * 2
    kept = -(-40 * row // PAGESIZE) * PAGESIZE
    assert arena.resident_bytes == arena.committed_bytes == grown - (-(-400 * row // PAGESIZE) * PAGESIZE) + kept
    arena.reset(Lifetime.SESSION)
    assert arena.resident_bytes == arena.committed_bytes == before + kept

    arena.commit_ticks("words.layer_7", 400)
    arena.commit_ticks("encoder.keys", 1500)
    assert torch.all(arena.view("words.layer_7")[:40] == 5)
    assert not arena.view("words.layer_7")[40:400].any()
    assert not arena.view("encoder.keys")[:1500].any()


@ON_HOST_AND_DEVICE
def test_a_small_state_is_zero_again_after_a_reset(make_arena):
    planned = plan((Timeline("a", Ticking(Rate(1)), "tick", states=(StateSpec("x", (T, 2), initial=1, limit=9),)),))
    arena = make_arena(planned)
    arena.view("a.x")[:] = 3
    arena.reset(Lifetime.SESSION)
    assert arena.view("a.x").tolist() == [[3, 3]] + [[0, 0]] * (len(arena.view("a.x")) - 1)


@ON_HOST_AND_DEVICE
def test_a_view_is_handed_out_once(make_arena):
    arena = make_arena(small_conversation())
    assert arena.view("words.layer_3") is arena.view("words.layer_3")


def test_a_tick_of_a_group_touches_the_pages_of_one_row():
    planned = small_conversation()
    arena = HostArena(planned)
    before = arena.resident_bytes
    arena.commit_ticks("words.layer_0", 1)
    row = 30 * 2 * 3 * 64 * 2
    assert arena.resident_bytes - before == -(-row // PAGESIZE) * PAGESIZE
    for n in range(30):
        arena.view(f"words.layer_{n}")[0] = n
    assert arena.resident_bytes == arena.committed_bytes


states = st.lists(
    st.tuples(
        st.sampled_from(["float32", "bfloat16", "int64", "bool", "int8"]),
        st.lists(st.integers(1, 5), max_size=3),
        st.integers(1, 300),
        st.sampled_from(["", "one", "other"]),
    ),
    min_size=1,
    max_size=6,
)


@settings(deadline=None, max_examples=50)
@ON_HOST_AND_DEVICE
@given(states=states, ticks=st.lists(st.integers(0, 300), min_size=6, max_size=6))
def test_states_do_not_touch_each_other(make_arena, states, ticks):
    most = {"one": 120, "other": 7}
    planned = SimpleNamespace(states=tuple(
        PlannedState(f"s.{n}", dtype, tuple(item), most.get(group, length), 0, Lifetime.SESSION, group)
        for n, (dtype, item, length, group) in enumerate(states)
    ))  # fmt: skip
    arena = make_arena(planned)
    written = {}
    for n, (state, count) in enumerate(zip(planned.states, ticks, strict=False)):
        count = min(count, state.max_ticks)
        arena.commit_ticks(state.name, count)
        value = torch.tensor(n % 2 == 0 if state.dtype == "bool" else n + 1).to(getattr(torch, state.dtype))
        arena.view(state.name)[:count] = value
        written[state.name] = count, value
    for name, (count, value) in written.items():
        assert torch.all(arena.view(name)[:count] == value)


@ON_HOST_AND_DEVICE
def test_committing_again_keeps_what_is_there(make_arena):
    arena = make_arena(small_conversation())
    arena.commit_ticks("encoder.keys", 10)
    arena.view("encoder.keys")[:10] = 4
    committed = arena.committed_bytes
    arena.commit_ticks("encoder.keys", 3)
    assert arena.committed_bytes == committed
    arena.commit_ticks("encoder.keys", 1500)
    assert torch.all(arena.view("encoder.keys")[:10] == 4)
    assert not arena.view("encoder.keys")[10:1500].any()


@ON_HOST_AND_DEVICE
def test_a_conversation_that_follows_no_script_commits_what_may_come(make_arena):
    planned = small_conversation()
    arena = make_arena(planned)
    position = planned.start
    for event in "LSSFLSF":
        arena.commit_needed(planned.ahead(position))
        resident = arena.resident_bytes
        unit, position = planned.advance(position, event)
        for name, ticks in unit.needed.items():
            arena.view(name)[:ticks] = 1
        assert arena.resident_bytes == resident


@ON_HOST_AND_DEVICE
def test_more_than_was_planned_is_refused(make_arena):
    arena = make_arena(small_conversation())
    with pytest.raises(AskedWrongly, match=r"1501 ticks of encoder\.keys"):
        arena.commit_ticks("encoder.keys", 1501)


@ON_LINUX
def test_without_room_it_says_so_and_stands_as_it_stood():
    with pytest.raises(NoRoom, match="address space"):
        HostArena(SimpleNamespace(states=(PlannedState("a.x", "float32", (1 << 30,), 1 << 20),)))
    arena = HostArena(small_conversation(), lambda size: PosixMemory(size, available_bytes=lambda: 40 * PAGESIZE))
    for ticks in range(10, 200, 10):  # ever more, but never so many pages at once
        arena.commit_ticks("encoder.keys", ticks)
    committed = arena.committed_bytes
    with pytest.raises(NoRoom, match="are to be had"):
        arena.commit_ticks("encoder.keys", 1500)
    assert arena.committed_bytes == arena.resident_bytes == committed


@ON_LINUX
def test_the_device_without_room_says_which_state_and_how_much_of_it_fits_and_stands_as_it_stood():
    planned, driver = small_conversation(), MadeUpDevice(granules=40)
    arena = DeviceArena(planned, driver)
    arena.commit_ticks("encoder.keys", 100)
    arena.view("encoder.keys")[:100] = 3
    committed = arena.committed_bytes
    with pytest.raises(NoRoom, match=r"^encoder \(2 states\): (\d+) of 1,500 ticks fit") as error:
        arena.commit_ticks("encoder.keys", 1500)
    assert arena.committed_bytes == arena.resident_bytes == committed
    fits = int(error.value.came.split()[3])
    arena.commit_ticks("encoder.keys", fits)
    assert torch.all(arena.view("encoder.keys")[:100] == 3)
    with pytest.raises(NoRoom):
        arena.commit_ticks("encoder.keys", fits + MadeUpDevice.granule_bytes // (2 * 3 * 64 * 4) + 1)


@ON_LINUX
def test_no_room_for_what_is_there_from_the_start_leaves_nothing_behind():
    driver = MadeUpDevice(granules=0)
    with pytest.raises(NoRoom):
        DeviceArena(small_conversation(), driver)
    assert not driver.reserved


@ON_LINUX
def test_what_a_stage_writes_while_it_is_set_aside_leaves_no_trace():
    planned = small_conversation()
    arena = device_arena(planned)
    arena.commit_ticks("encoder.keys", 30)
    arena.commit_ticks("words.layer_7", 50)
    arena.view("encoder.context")[:] = 1
    arena.view("encoder.keys")[:30] = 2
    arena.view("words.layer_7")[:50] = 3
    resident = arena.resident_bytes
    with arena.set_aside("encoder"):
        assert not arena.view("encoder.keys").any()  # all that is planned, not only what is committed
        for name in ("keys", "values", "context"):
            arena.view(f"encoder.{name}")[:] = 9
        assert torch.all(arena.view("words.layer_7")[:50] == 3)
    assert arena.resident_bytes == resident
    assert torch.all(arena.view("encoder.context") == 1)
    assert torch.all(arena.view("encoder.keys")[:30] == 2)
    assert torch.all(arena.view("words.layer_7")[:50] == 3)


@ON_LINUX
def test_what_the_device_still_uses_after_a_reset_is_given_back_before_the_next_unit():
    planned, driver = small_conversation(), MadeUpDevice()
    arena = DeviceArena(planned, driver)
    arena.commit_ticks("words.layer_7", 400)
    grown = arena.resident_bytes
    driver.ask()
    arena.reset(Lifetime.TURN)
    assert arena.resident_bytes == grown > arena.committed_bytes
    driver.wait()
    arena.commit_needed({})
    assert arena.resident_bytes == arena.committed_bytes < grown
