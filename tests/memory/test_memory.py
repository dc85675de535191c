"""Both back ends keep one law: backed where committed, gone where released, at addresses that never move."""

import errno
import gc
import mmap
import os
import subprocess
import sys
import weakref

import numpy as np
import pytest

from engine.errors import NoRoom
from engine.memory import reserve
from engine.memory.posix import PosixMemory
from engine.memory.windows import WindowsMemory
from tests.memory.made_up_windows import MadeUpWindows

PAGE = mmap.PAGESIZE
GIB = 1 << 30

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the made-up Windows is made of Linux")


@pytest.fixture(params=[PosixMemory, lambda size: WindowsMemory(size, MadeUpWindows())], ids=["posix", "windows"])
def make(request):
    return request.param


def test_reserving_takes_no_memory(make):
    memory = make(64 * GIB)
    assert memory.size == 64 * GIB
    assert memory.resident_bytes() == 0


def test_what_is_committed_is_resident_and_nothing_else(make):
    memory = make(100 * PAGE)
    memory.commit(10 * PAGE, 25 * PAGE)
    memory.commit(99 * PAGE, 100 * PAGE)
    assert memory.resident_bytes() == 16 * PAGE


def test_committing_again_keeps_what_is_there(make):
    memory = make(8 * PAGE)
    memory.commit(0, 2 * PAGE)
    kept = memory.data[: 2 * PAGE]
    kept[:] = 7
    memory.commit(0, 8 * PAGE)
    assert np.all(kept == 7)


def test_released_memory_goes_back_to_the_system_and_is_zero_when_it_returns(make):
    memory = make(100 * PAGE)
    data = memory.data
    memory.commit(0, 100 * PAGE)
    data[:] = 7
    memory.release(40 * PAGE, 90 * PAGE)
    assert memory.resident_bytes() == 50 * PAGE
    memory.commit(0, 100 * PAGE)
    assert not data[40 * PAGE : 90 * PAGE].any()
    assert np.all(data[: 40 * PAGE] == 7)
    assert np.all(data[90 * PAGE :] == 7)


def test_a_size_is_rounded_up_to_pages(make):
    assert make(1).size == make(0).size == PAGE
    assert make(PAGE + 1).size == 2 * PAGE


@pytest.mark.parametrize("size", [1 << 50, 1 << 62, 1 << 63, (1 << 64) + PAGE])
def test_more_than_there_are_addresses_is_no_room(make, size):
    with pytest.raises(NoRoom, match="address space"):
        make(size)


def test_more_than_the_machine_can_spare_is_no_room_and_leaves_what_is_there():
    for memory in (PosixMemory(9 * PAGE, lambda: 4 * PAGE), WindowsMemory(9 * PAGE, MadeUpWindows(4 * PAGE))):
        memory.commit(0, 2 * PAGE)
        with pytest.raises(NoRoom, match="close other programs"):
            memory.commit(2 * PAGE, 8 * PAGE)
        assert memory.resident_bytes() == 2 * PAGE


class Refusing:
    """A mapping whose pages the system will not populate, for a reason."""

    def __init__(self, reason: int) -> None:
        self._reason = reason

    def madvise(self, *_: int) -> None:
        raise OSError(self._reason, os.strerror(self._reason))


@pytest.mark.parametrize("reason", [errno.ENOMEM, errno.EFAULT, errno.EAGAIN])
def test_a_system_that_has_none_is_no_room_and_nothing_is_touched(reason):
    memory = PosixMemory(4 * PAGE)
    memory._mapping = Refusing(reason)
    with pytest.raises(NoRoom, match=f"the system refuses them .{os.strerror(reason)}"):
        memory.commit(0, 4 * PAGE)
    assert memory.resident_bytes() == 0


def test_a_system_that_does_not_know_how_to_populate_has_its_pages_touched():
    memory = PosixMemory(4 * PAGE)
    memory.commit(0, PAGE)
    memory.data[:PAGE] = 7
    memory._mapping = Refusing(errno.EINVAL)
    memory.commit(0, 3 * PAGE)
    assert memory.resident_bytes() == 3 * PAGE
    assert np.all(memory.data[:PAGE] == 7)
    assert not memory.data[PAGE : 3 * PAGE].any()


def test_a_view_outlives_its_memory():
    system = MadeUpWindows()
    memory = WindowsMemory(4 * PAGE, system)
    memory.commit(0, 4 * PAGE)
    view = memory.data[:8]
    gone = weakref.ref(memory)
    del memory
    gc.collect()
    assert gone() is None
    view[:] = 1
    assert len(system.reserved) == 1
    del view
    gc.collect()
    assert not system.reserved


def test_this_system_has_a_back_end():
    memory = reserve(3 * PAGE)
    memory.commit(0, PAGE)
    assert memory.resident_bytes() == PAGE


def test_no_back_end_is_imported_before_memory_is_wanted():
    told = subprocess.run(
        [sys.executable, "-c", "import sys, engine.memory; print([n for n in sys.modules if 'engine.memory.' in n])"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert told.stdout.strip() == "[]"
