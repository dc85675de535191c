"""Whether two sessions said the same, to the bit: by hashes that each wrote of its own voice, never by assumption.

Pure; any thread.
"""

from dataclasses import dataclass

from engine.comparison.session import Measured
from engine.phrases import counted


@dataclass(frozen=True)
class Bits:
    """What comparing two voices came to.

    Args:
        equal: Whether every unit that spoke is equal; None where that was not measured.
        equal_units: How many are.
        units: How many units the longer one spoke in.
        why: Why it was not measured; else empty.
    """

    equal: bool | None
    equal_units: int = 0
    units: int = 0
    why: str = ""

    @property
    def words(self) -> str:
        """In words, without a subject."""
        if self.equal is None:
            return f"not measured: {self.why}"
        spoken = counted(self.units, "unit of speech", "units of speech")
        return f"equal, all of {spoken}" if self.equal else f"not equal: {self.equal_units} of {spoken} are the same"


def equality(one: Measured, other: Measured) -> Bits:
    """Compare two sessions' voices, unit by unit in the order in which they spoke."""
    for session in (one, other):
        if session.voice is None:
            return Bits(None, why=f"the log of {session.name} holds no hash of its voice")
    assert one.voice is not None
    assert other.voice is not None
    units = max(len(one.voice), len(other.voice))
    if not units:
        return Bits(None, why="neither spoke")
    same = sum(mine == theirs for mine, theirs in zip(one.voice, other.voice, strict=False))
    return Bits(same == units, same, units)
