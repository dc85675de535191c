"""Reserved memory on a device: granules mapped into addresses that never move, and unmapped once the device is done.

Mapping is the host's doing and waits for no kernel; filling with zeros and giving back are the device's, in the order
in which it was asked. Knows neither torch nor CUDA: `Driver` is what it asks of them. Entered by [engine].
"""

import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from engine.errors import NoRoom


class Driver(Protocol):
    """A device's addresses and memory, and the order of its work; see `engine.cuda_vmm.CudaDriver`.

    Attributes:
        granule_bytes: Bytes that are mapped or unmapped at a time.
    """

    granule_bytes: int

    def reserve(self, size: int) -> int:
        """Reserve addresses; the first of them.

        Raises:
            NoRoom: There are not that many to be had.
        """
        ...

    def free(self, address: int, size: int) -> None:
        """Give reserved addresses back; nothing is mapped there any more."""
        ...

    def create(self) -> Any:
        """A granule of memory, mapped nowhere yet.

        Raises:
            NoRoom: The device has none left.
        """
        ...

    def destroy(self, granule: Any) -> None:
        """Give a granule back; its memory goes once it is mapped nowhere."""
        ...

    def map(self, address: int, granule: Any) -> None:
        """Put a granule behind an address; one granule may be behind many."""
        ...

    def unmap(self, address: int) -> None:
        """Take the granule from behind an address."""
        ...

    def zero(self, address: int, size: int) -> None:
        """Fill with zeros, after what the device has been asked so far and before what comes."""
        ...

    def mark(self) -> Callable[[], bool]:
        """Tells from now on whether the device has done all that it was asked up to here."""
        ...

    def wait(self) -> None:
        """Return once the device has done all that it was asked, on every stream."""
        ...

    def available_bytes(self) -> int:
        """Memory that the device has to spare."""
        ...


class DeviceMemory:
    """A reserved range of a device's addresses; see `engine.memory.Memory`.

    The range lives for as long as this does, which whoever makes views of it must see to. What is released stays behind
    its addresses until the device has done what it was asked before, and goes at the first `collect` or `commit` after
    that.

    Args:
        driver: The device's.
        size: Bytes wanted; rounded up to whole granules.

    Raises:
        NoRoom: There are not that many addresses to be had.
    """

    def __init__(self, driver: Driver, size: int) -> None:
        self._driver = driver
        self.page_bytes = driver.granule_bytes
        self.size = max(1, -(-size // self.page_bytes)) * self.page_bytes
        self.address = driver.reserve(self.size)
        self._held: dict[int, Any] = {}  # by number, the granules that are mapped
        self._going: dict[int, Callable[[], bool]] = {}  # of those, what was released, and whether it may go
        self._give_back = weakref.finalize(self, _give_back, driver, self.address, self.size, self._held)
        self._give_back.atexit = False  # the process's end gives everything back by itself

    def commit(self, start: int, end: int) -> None:
        self.collect()
        wanted = self._numbers(start, end)
        fresh = [number for number in wanted if number not in self._held]
        for number, granule in zip(fresh, self._create(len(fresh)), strict=True):
            self._held[number] = granule
            self._driver.map(self._at(number), granule)
        again = [number for number in wanted if self._going.pop(number, None) is not None]
        for first, last in _runs(sorted((*fresh, *again))):
            self._driver.zero(self._at(first), (last + 1 - first) * self.page_bytes)

    def release(self, start: int, end: int) -> None:
        done = self._driver.mark()
        self._going |= {number: done for number in self._numbers(start, end) if number in self._held}
        self.collect()

    def collect(self) -> None:
        """Unmap what was released and is no longer in use; waits for nothing."""
        for number in [number for number, done in self._going.items() if done()]:
            del self._going[number]
            self._driver.unmap(self._at(number))
            self._driver.destroy(self._held.pop(number))

    def resident_bytes(self) -> int:
        return len(self._held) * self.page_bytes

    def available_bytes(self) -> int:
        return self._driver.available_bytes()

    @contextmanager
    def set_aside(self, ranges: Sequence[tuple[int, int]]) -> Iterator[None]:
        """While entered, the whole of each range can be written, and nothing that is written there stays.

        Behind all addresses of a range is one granule, zero to begin with: whoever writes there reads later what was
        last written anywhere. What is committed is out of reach until this is left, and then is as it was. Waits for
        the device on the way in and on the way out.

        Args:
            ranges: In bytes, in whole granules, apart from each other.

        Raises:
            NoRoom: There is no granule to spare for each range.
        """
        numbers = [self._numbers(start, end) for start, end in ranges]
        spare = self._create(len(numbers))
        self._driver.wait()
        try:
            for some, granule in zip(numbers, spare, strict=True):
                for number in some:
                    if number in self._held:
                        self._driver.unmap(self._at(number))
                    self._driver.map(self._at(number), granule)
                if some:
                    self._driver.zero(self._at(some[0]), self.page_bytes)
            self._driver.wait()  # the streams that are about to write are not those that filled
            yield
        finally:
            self._driver.wait()
            for number in (number for some in numbers for number in some):
                self._driver.unmap(self._at(number))
                if number in self._held:
                    self._driver.map(self._at(number), self._held[number])
            for granule in spare:
                self._driver.destroy(granule)

    def close(self) -> None:
        """Give everything back, once the device is done; nobody may touch a view of it any more."""
        self._going.clear()
        self._give_back()

    def _create(self, count: int) -> list[Any]:
        """So many granules, or none; where memory is short, what is about to be given back is waited for."""
        created: list[Any] = []
        try:
            while len(created) < count:
                try:
                    created.append(self._driver.create())
                except NoRoom:
                    if not self._going:
                        raise
                    self._driver.wait()
                    self.collect()
        except NoRoom:
            for granule in created:
                self._driver.destroy(granule)
            raise
        return created

    def _at(self, number: int) -> int:
        return self.address + number * self.page_bytes

    def _numbers(self, start: int, end: int) -> range:
        return range(start // self.page_bytes, -(-end // self.page_bytes))


def _give_back(driver: Driver, address: int, size: int, held: dict[int, Any]) -> None:
    """All that a range is made of."""
    driver.wait()
    for number, granule in held.items():
        driver.unmap(address + number * driver.granule_bytes)
        driver.destroy(granule)
    held.clear()
    driver.free(address, size)


def _runs(numbers: Iterable[int]) -> Iterator[tuple[int, int]]:
    """The first and last of each run of neighbours, of ascending numbers."""
    first = last = None
    for number in numbers:
        if first is None or last is None or number != last + 1:
            if first is not None and last is not None:
                yield first, last
            first = number
        last = number
    if first is not None and last is not None:
        yield first, last
