"""The benchmark's file: JSON, written whole after every measurement, so that what is there survives whatever comes.

`bench.schema.json` says what is in it. Entered by the engine thread.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from engine.bench.place import one_line
from engine.export.atomic import whole_file

SCHEMA = Path(__file__).with_name("bench.schema.json")


class Recording:
    """A record as it grows.

    Args:
        head: What is known beforehand; see the schema.
        path: Where it goes; None to keep it in memory.

    Raises:
        NoRoom: It cannot be written.
    """

    def __init__(self, head: dict[str, Any], path: Path | None) -> None:
        self.record: dict[str, Any] = {"bench": 1, **head, "complete": False, "cases": []}
        self._path = path
        self.write()

    def begin_case(self, **facts: Any) -> dict[str, Any]:
        """A prompt's measurements, to be filled in."""
        case: dict[str, Any] = {**facts, "runtimes": {}, "ratio": {}}
        self.record["cases"].append(case)
        return case

    def write(self) -> None:
        """What there is so far."""
        if self._path is not None:
            with whole_file(self._path) as path:
                path.write_text(json.dumps(self.record, indent=1, allow_nan=False) + "\n", encoding="utf-8")

    def attempt(self, part: str, case: dict[str, Any], work: Callable[[], None], tell: Callable[[str], None]) -> None:
        """Do a part's work; where a device or a library fails, the case says why. Other failures are ours to mend."""
        tell(part)
        try:
            work()
        except (RuntimeError, NotImplementedError) as error:
            case.setdefault("failed", {})[part] = one_line(error)
            tell(f"{part} failed: {one_line(error)}")

    def finish(self) -> None:
        """All has been measured that was asked for."""
        self.record["complete"] = True
        self.write()
