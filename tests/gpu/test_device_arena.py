"""The arena on a real device: addresses, growth under running kernels, graphs across growth, memory given back."""

import pytest
import torch

from engine.arena import DeviceArena
from engine.clock import Rate
from engine.cuda_graphs import CudaGraphs
from engine.cuda_vmm import CudaDriver
from engine.errors import NoRoom
from engine.plan import plan
from engine.stage import Lifetime, StateSpec, T, Ticking, Timeline
from engine.step import Step
from tests.fakes import ManualClock

pytestmark = pytest.mark.gpu

MIB = 1 << 20
DEVICE = torch.device("cuda")


def planned(rows: int = 1 << 16):
    """A state whose ticks are 4 KiB, a bfloat16 one beside it, and a small one."""
    states = (
        StateSpec("keys", (T, 512), limit=rows, group="kv"),
        StateSpec("values", (T, 512), limit=rows, group="kv"),
        StateSpec("halves", (T, 2048), "bfloat16", limit=rows, reset=Lifetime.TURN),
        StateSpec("tail", (4, T), initial=2, limit=2),
    )
    return plan((Timeline("words", Ticking(Rate(25)), "frame", states=states),), session_s=rows / 25)


@pytest.fixture
def arena():
    arena = DeviceArena(planned(), CudaDriver(DEVICE))
    yield arena
    arena.close()


def free() -> int:
    torch.cuda.synchronize()
    return torch.cuda.mem_get_info()[0]


def busy(ms: float) -> None:
    """Give the device work for about so long, at 2 GHz."""
    torch.cuda._sleep(int(ms * 2e6))


def test_views_are_tensors_at_addresses_that_do_not_move(arena):
    names = ("words.keys", "words.values", "words.halves", "words.tail")
    addresses = {name: arena.view(name).data_ptr() for name in names}
    for ticks in range(1000, 65_000, 8000):
        for name in names[:3]:
            arena.commit_ticks(name, ticks)
            arena.view(name)[:ticks] = ticks
    assert arena.view("words.halves").dtype == torch.bfloat16
    assert torch.all(arena.view("words.values")[:57_000] == 57_000)
    arena.reset(Lifetime.TURN)
    arena.reset(Lifetime.SESSION)
    assert {name: arena.view(name).data_ptr() for name in names} == addresses


def test_what_is_committed_is_zero_though_the_memory_was_used_before(arena):
    for _ in range(3):
        arena.commit_ticks("words.halves", 50_000)
        assert not arena.view("words.halves")[:50_000].any()
        arena.view("words.halves")[:50_000] = 7
        arena.reset(Lifetime.TURN)
        arena.commit_needed({})


def test_growing_waits_for_no_kernel_and_giving_back_waits_for_all(arena):
    arena.commit_ticks("words.keys", 1000)
    arena.commit_ticks("words.halves", 20_000)
    arena.view("words.halves")[:20_000] = 3
    done = torch.cuda.Event()
    before = free()
    busy(400)
    seen = arena.view("words.halves")[:20_000].float().sum()  # reads after the wait, from what is given back now
    done.record()
    arena.reset(Lifetime.TURN)
    arena.commit_ticks("words.keys", 20_000)
    assert not done.query()  # all of this while the device worked
    assert torch.cuda.mem_get_info()[0] < before
    done.synchronize()
    assert seen.item() == 3.0 * 20_000 * 2048
    arena.commit_needed({})
    assert arena.resident_bytes == arena.committed_bytes


def test_memory_is_what_the_device_says_it_is(arena):
    before = free()
    arena.commit_ticks("words.keys", 60_000)
    assert before - free() == 60_000 * 4096 // (2 * MIB) * 2 * MIB + 2 * MIB * (60_000 * 4096 % (2 * MIB) > 0)
    arena.reset("words.keys")
    torch.cuda.synchronize()
    arena.commit_needed({})
    assert free() == before


def test_closing_gives_all_of_it_back():
    torch.zeros(1, device=DEVICE)
    before = free()
    arena = DeviceArena(planned(), CudaDriver(DEVICE))
    arena.commit_ticks("words.keys", 60_000)
    assert free() < before - 200 * MIB
    arena.close()
    assert free() == before


def test_without_memory_it_names_the_state_and_what_fits():
    rows = 1 << 26  # 256 GiB
    arena = DeviceArena(planned(rows), CudaDriver(DEVICE))
    before = free()
    ballast = torch.empty(before - 300 * MIB, dtype=torch.uint8, device=DEVICE)
    try:
        arena.commit_ticks("words.keys", 1000)
        arena.view("words.keys")[:1000] = 5
        with pytest.raises(NoRoom, match=r"^kv \(2 states\): [\d,]+ of 200,000 ticks fit") as error:
            arena.commit_ticks("words.keys", 200_000)
        fits = int(error.value.came.split()[3].replace(",", ""))
        assert 40_000 < fits < 80_000
        arena.commit_ticks("words.keys", fits - 2000)
        assert torch.all(arena.view("words.keys")[:1000] == 5)
    finally:
        del ballast
        torch.cuda.empty_cache()
        arena.close()


def test_a_graph_captured_while_states_are_set_aside_replays_across_growth(arena):
    """Of ticks that are not committed when it is captured; what is there stays."""
    clock = ManualClock()
    arena.commit_ticks("words.keys", 10)
    arena.view("words.keys")[:10] = 1
    arena.view("words.tail")[:] = 4
    resident = arena.resident_bytes

    def run(given: torch.Tensor) -> torch.Tensor:
        arena.view("words.keys")[10:60_000] += given
        arena.view("words.tail").add_(1)
        return arena.view("words.keys")[:60_000].sum(0)

    given = torch.full((1,), 2.0, device=DEVICE)
    pool = CudaGraphs(DEVICE, arena.set_aside, clock).pool()
    graph = pool.capture(Step("words", (1,), 1, run, (given,), captures=True))
    assert arena.resident_bytes == resident
    assert torch.all(arena.view("words.keys")[:10] == 1)
    assert torch.all(arena.view("words.tail") == 4)

    arena.commit_ticks("words.keys", 60_000)
    for times in (1, 2):
        found = graph.replay((given,))
        assert torch.all(found == 10 + times * 2 * (60_000 - 10))
    assert torch.all(arena.view("words.tail") == 6)
    pool.retire()
