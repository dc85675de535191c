"""Device memory: no kernel is waited for, nothing in use is unmapped, what was set aside comes back as it was."""

import gc
import sys

import numpy as np
import pytest

from engine.errors import NoRoom
from engine.memory.device import DeviceMemory
from tests.memory.made_up_device import MadeUpDevice

G = MadeUpDevice.granule_bytes

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the made-up device is made of Linux")


def words(memory, driver):
    """The whole range as bytes, for as long as anybody holds them."""
    memory.commit(0, G)
    return driver.tensor(memory).numpy()


def test_reserving_takes_no_memory_and_a_size_is_rounded_up():
    driver = MadeUpDevice(granules=1)
    memory = DeviceMemory(driver, 1000 * G + 1)
    assert memory.size == 1001 * G
    assert memory.resident_bytes() == 0 == len(driver.created)
    assert memory.available_bytes() == G


def test_committed_memory_is_zero_and_committing_again_keeps_what_is_there():
    driver = MadeUpDevice()
    memory = DeviceMemory(driver, 8 * G)
    data = words(memory, driver)
    memory.commit(0, 3 * G)
    assert not data[: 3 * G].any()
    data[: 3 * G] = 7
    memory.commit(0, 8 * G)
    assert np.all(data[: 3 * G] == 7)
    assert not data[3 * G :].any()
    assert memory.resident_bytes() == 8 * G
    assert driver.waits == 0


def test_what_is_released_stays_until_the_device_is_done_with_it():
    driver = MadeUpDevice()
    memory = DeviceMemory(driver, 8 * G)
    memory.commit(0, 8 * G)
    driver.ask()
    memory.release(2 * G, 6 * G)
    memory.collect()
    assert memory.resident_bytes() == 8 * G
    driver.wait()
    memory.collect()
    assert memory.resident_bytes() == 4 * G == len(driver.created) * G
    assert sorted(driver.mapped) == [memory.address + number * G for number in (0, 1, 6, 7)]


def test_what_is_wanted_again_before_it_has_gone_is_the_same_memory_and_zero():
    driver = MadeUpDevice(granules=4)
    memory = DeviceMemory(driver, 4 * G)
    data = words(memory, driver)
    memory.commit(0, 4 * G)
    data[:] = 7
    granules = set(driver.created)
    driver.ask()
    memory.release(G, 4 * G)
    memory.commit(0, 3 * G)
    driver.wait()
    memory.collect()
    assert np.all(data[:G] == 7)
    assert not data[G : 3 * G].any()
    assert memory.resident_bytes() == 3 * G
    assert driver.created < granules


def test_where_memory_is_short_it_waits_for_what_is_about_to_go():
    driver = MadeUpDevice(granules=4)
    memory = DeviceMemory(driver, 8 * G)
    memory.commit(0, 4 * G)
    driver.ask()
    memory.release(0, 3 * G)
    memory.commit(4 * G, 7 * G)
    assert driver.waits == 1
    assert sorted(driver.mapped) == [memory.address + number * G for number in (3, 4, 5, 6)]


def test_without_room_nothing_has_changed():
    driver = MadeUpDevice(granules=4)
    memory = DeviceMemory(driver, 8 * G)
    memory.commit(0, 2 * G)
    with pytest.raises(NoRoom, match="1 more granule"):
        memory.commit(0, 5 * G)
    assert memory.resident_bytes() == 2 * G == len(driver.created) * G
    memory.commit(2 * G, 4 * G)


def test_more_addresses_than_there_are_is_no_room():
    with pytest.raises(NoRoom, match="addresses"):
        DeviceMemory(MadeUpDevice(most_addresses=4 * G), 5 * G)


def test_set_aside_all_may_be_written_and_nothing_of_it_stays():
    driver = MadeUpDevice(granules=7)
    memory = DeviceMemory(driver, 100 * G)
    data = words(memory, driver)
    memory.commit(0, 5 * G)
    for number in range(5):
        data[number * G : (number + 1) * G] = number + 1
    mapped = dict(driver.mapped)
    driver.ask()
    with memory.set_aside([(G, 60 * G), (60 * G, 100 * G)]):
        assert not data[G:].any()
        data[G:] = 9
        assert np.all(data[:G] == 1)
    assert driver.mapped == mapped
    assert len(driver.created) == 5
    for number in range(5):
        assert np.all(data[number * G : (number + 1) * G] == number + 1)


def test_set_aside_ranges_do_not_share_a_granule():
    driver = MadeUpDevice()
    memory = DeviceMemory(driver, 4 * G)
    data = words(memory, driver)
    with memory.set_aside([(0, 2 * G), (2 * G, 4 * G)]):
        data[: 2 * G] = 9
        assert not data[2 * G :].any()


def test_set_aside_without_a_granule_to_spare_changes_nothing():
    driver = MadeUpDevice(granules=3)
    memory = DeviceMemory(driver, 4 * G)
    memory.commit(0, 2 * G)
    mapped = dict(driver.mapped)
    with pytest.raises(NoRoom), memory.set_aside([(0, 2 * G), (2 * G, 4 * G)]):
        pass
    assert driver.mapped == mapped
    assert len(driver.created) == 2


def test_what_fails_while_set_aside_leaves_all_as_it_was():
    driver = MadeUpDevice()
    memory = DeviceMemory(driver, 4 * G)
    memory.commit(0, 2 * G)
    mapped = dict(driver.mapped)
    with pytest.raises(ValueError, match="a step"), memory.set_aside([(0, 4 * G)]):
        raise ValueError("a step failed")
    assert driver.mapped == mapped


def test_the_range_goes_with_its_last_view_and_nothing_is_left():
    driver = MadeUpDevice()
    memory = DeviceMemory(driver, 4 * G)
    data = words(memory, driver)
    memory.commit(0, 2 * G)
    memory.release(G, 2 * G)
    del memory
    gc.collect()
    assert driver.created
    assert driver.reserved
    del data
    gc.collect()
    assert not driver.created
    assert not driver.mapped
    assert not driver.reserved


def test_closing_gives_everything_back_once():
    driver = MadeUpDevice()
    memory = DeviceMemory(driver, 4 * G)
    memory.commit(0, 3 * G)
    driver.ask()
    memory.release(0, G)
    memory.close()
    memory.close()
    assert not driver.created
    assert not driver.mapped
    assert not driver.reserved
