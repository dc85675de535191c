"""How waiting looks in a terminal: one line that moves, or, where nobody watches, a line every few seconds.

Knows nothing of what is waited for. Entered by the thread that works.
"""

import shutil
import sys
import time
from collections.abc import Callable
from typing import TextIO

from app.pace import Pace, duration
from engine.phrases import readable

MOVE_EVERY_S = 0.1
SAY_EVERY_S = 5.0
BAR_CELLS = 24
FIGURES_COLUMNS = 36  # "100.0 of 999.9 MB  99.9 MB/s  99 s left", near enough: so the bar keeps its width


class TerminalProgress:
    """Shows a fetch (`engine.models.weights.Progress`) on a stream.

    Args:
        stream: Standard error, by default.
        now_s: The clock.
        columns: Width of the terminal.
    """

    def __init__(
        self,
        stream: TextIO | None = None,
        now_s: Callable[[], float] = time.monotonic,
        columns: Callable[[], int] = lambda: shutil.get_terminal_size().columns,
    ) -> None:
        self._stream = stream or sys.stderr
        self._moves = self._stream.isatty()
        self._now_s, self._columns = now_s, columns
        self._shown, self._last_shown_s = "", now_s()
        self._what, self._total, self._begun_s, self._done = "", None, 0.0, 0
        self._pace = Pace()

    _total: int | None

    def say(self, line: str) -> None:
        self._clear()
        self._stream.write(line + "\n")
        self._stream.flush()
        self._last_shown_s = self._now_s()

    def begin(self, what: str, total_bytes: int | None = None) -> None:
        self._what, self._total, self._begun_s, self._done = what, total_bytes, self._now_s(), 0
        self._pace.restart()

    def at(self, done_bytes: int) -> None:
        now_s, self._done = self._now_s(), done_bytes
        self._pace.at(now_s, done_bytes)
        if now_s - self._last_shown_s < (MOVE_EVERY_S if self._moves else SAY_EVERY_S):
            return
        self._last_shown_s = now_s
        if self._moves:
            line = self._line(self._columns() - 1)
            self._stream.write("\r" + line + " " * (len(self._shown) - len(line)))
            self._shown = line
        else:
            self._stream.write(self._line() + "\n")
        self._stream.flush()

    def end(self) -> None:
        took_s = self._now_s() - self._begun_s
        if took_s >= SAY_EVERY_S and self._done == (self._total or self._done):
            amount = f" {readable(self._total)} in" if self._total else ""
            self.say(f"{self._what}:{amount} {duration(took_s)}")
        self._clear()

    def _clear(self) -> None:
        if self._shown:
            self._stream.write("\r" + " " * len(self._shown) + "\r")
            self._shown = ""

    def _line(self, columns: int | None = None) -> str:
        """The phase as it stands; with a bar where it must fit so many columns and there is room for one."""
        if not self._total:
            figures = duration(self._now_s() - self._begun_s)
        else:
            done, total = readable(self._done), readable(self._total)
            done = done.removesuffix(total[total.index(" ") :])  # "4.1 of 98.4 MB"
            figures = "  ".join([f"{done} of {total}", *self._pace.told(self._total)])
        line = f"{self._what}  {figures}"
        if columns is None:
            return line
        cells = min(BAR_CELLS, columns - len(self._what) - FIGURES_COLUMNS - 6)
        if self._total and cells >= BAR_CELLS // 4:
            full = "#" * int(min(1.0, self._done / self._total) * cells)
            line = f"{self._what}  [{full:-<{cells}}]  {figures}"
        return line[:columns]
