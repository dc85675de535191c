"""Made-up sessions as their watchers see them."""

from collections.abc import Iterable
from pathlib import Path

from app.live.replayed import Replayed
from app.live.snapshot import Snapshot
from engine.timing import Record, read_log
from tests.made_up_sessions import SECOND, conversation, unit, write

SHORT_NS = 80_000_000  # Moshi's cadence


def replayed(path: Path, records: Iterable[Record]) -> Replayed:
    """Records as a log that is replayed."""
    return Replayed(read_log(write(path, records)))


def short_units(seconds: int = 90) -> list[Record]:
    """A model of eighty milliseconds: it speaks in every other ten seconds, and is late once."""
    records: list[Record] = []
    for index in range(int(seconds * SECOND / SHORT_NS)):
        speaks = index * SHORT_NS // SECOND % 20 >= 10
        work = [("encode", 6.0), ("temporal", 28.0 + index % 5), ("depth", 22.0 if speaks else 9.0), ("decode", 7.0)]
        if index == 400:
            work[1] = ("temporal", 66.0)
        records.append(unit(index, "SPEAK" if speaks else "LISTEN", work, cadence_ns=SHORT_NS))
    return records


def in_the_middle(session: Replayed, share: float = 0.7) -> Snapshot:
    """While the last busy unit is under way, so much of its work done."""
    units = session.at(session.duration_ns).units
    if not units:
        return session.at(0)
    longest = max(units[-6:], key=lambda unit: unit.wall_ms)
    return session.at(round(longest.start_ns + (longest.finish_ns - longest.start_ns) * share))


SESSIONS = {
    "quiet": lambda: conversation(75, seed=3),
    "overruns": lambda: conversation(75, seed=4, overruns=True, speed=1.25),
    "late": lambda: conversation(75, seed=8, overruns=True, speed=2.0),
    "long": lambda: conversation(3700, seed=5),
    "short units": short_units,
    "one unit": lambda: [unit(0), unit(1)],
    "empty": list,
}
