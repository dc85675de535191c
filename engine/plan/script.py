"""What a session does, unit by unit: a script of LISTEN, SPEAK and FLUSH, with an end that repeats.

Written `LL(S17 S2 F13)`: letters, each with the speech ticks of that unit where they are not the clock's own, and in
parentheses what repeats for ever; without parentheses all of it repeats. Pure text and tuples.
"""

import re
from dataclasses import dataclass

from engine.errors import AskedWrongly

LISTEN, SPEAK, FLUSH = "L", "S", "F"
_UNIT = re.compile(r"([LSF])(\d*)\s*")
_UNITS = r"\s*(?:[LSF]\d*\s*)*"
_WHOLE = re.compile(rf"(?P<start>{_UNITS})(\((?P<cycle>{_UNITS})\))?\s*")


@dataclass(frozen=True)
class ScriptUnit:
    """One unit of a script.

    Args:
        event: `L`, `S` or `F`.
        ticks: Ticks of the model's speech clock in this unit; None is what the clock gives.
    """

    event: str
    ticks: int | None = None

    def __str__(self) -> str:
        return self.event if self.ticks is None else f"{self.event}{self.ticks}"


@dataclass(frozen=True)
class Script:
    """Units once, then units for ever.

    Args:
        start: Played once.
        cycle: Played again and again; at least one unit.
    """

    start: tuple[ScriptUnit, ...]
    cycle: tuple[ScriptUnit, ...]

    @classmethod
    def parse(cls, text: str) -> "Script":
        """Read `LL(S17 S2 F13)`.

        Raises:
            AskedWrongly: It is not a script.
        """
        match = _WHOLE.fullmatch(text)
        parts = (match["start"], match["cycle"]) if match else ("", "")
        start, cycle = parts if parts[1] is not None else ("", parts[0])
        units = [
            tuple(ScriptUnit(event, int(ticks) if ticks else None) for event, ticks in _UNIT.findall(part))
            for part in (start, cycle)
        ]
        if not units[1]:
            raise AskedWrongly(
                f"script {text!r}", "units like LLSSSF", "write L, S or F, and what repeats in parentheses"
            )
        return cls(*units)

    def phase(self, index: int) -> int:
        """Which of the script's units unit `index` is."""
        past = index - len(self.start)
        return index if past < 0 else len(self.start) + past % len(self.cycle)

    def at(self, index: int) -> ScriptUnit:
        """The unit played as unit `index`."""
        return (self.start + self.cycle)[self.phase(index)]

    def __str__(self) -> str:
        """As `parse` reads it."""
        start, cycle = (" ".join(map(str, units)) for units in (self.start, self.cycle))
        return f"{start} ({cycle})".strip()
