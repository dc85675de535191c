"""Figures as a person reads them, and columns that line up. Pure functions of numbers and strings; any thread."""

from collections.abc import Sequence

MIB = 1 << 20
MEMORY_UNITS = ("B", "KiB", "MiB", "GiB")


def spoken(ms: float) -> str:
    """A time with its unit, in the unit that reads best: "8.7 h", "0.31 s", "42 ms", "1.4 ms"."""
    if ms == 0:
        return "0 ms"
    if abs(ms) < 9.95:
        return f"{ms:.1f} ms"
    if abs(ms) < 99.5:
        return f"{ms:.0f} ms"
    if abs(ms) < 120_000:
        return f"{ms / 1000:.2f} s"
    minutes = ms / 60_000
    return f"{minutes:.1f} min" if abs(minutes) < 120 else f"{minutes / 60:.1f} h"


def size(count: float) -> str:
    """Memory with its unit, as systems count it (a MiB is 1048576 bytes): "912 MiB", "1.9 GiB"."""
    value, unit = float(count), 0
    while abs(value) >= 1024 and unit < len(MEMORY_UNITS) - 1:
        value, unit = value / 1024, unit + 1
    return f"{value:.0f} {MEMORY_UNITS[unit]}" if value == int(value) else f"{value:.1f} {MEMORY_UNITS[unit]}"


def readable(count: int) -> str:
    """A file's or a download's size, as disks and servers count it (a megabyte is a million bytes): "92.9 MB"."""
    if count < 1_000_000:
        return f"{count / 1000:.1f} kB" if count >= 1000 else f"{count} B"
    return f"{count / 1e9:.2f} GB" if count >= 1_000_000_000 else f"{count / 1e6:.1f} MB"


def counted(count: int, one: str, many: str = "") -> str:
    """A count with its noun: "1 gap", "3 gaps"."""
    return f"{count} {one if count == 1 else many or one + 's'}"


def printable(text: str) -> str:
    """Text from a file, with what would steer a terminal shown and not obeyed."""
    return "".join(sign if sign.isprintable() else "?" for sign in text)


def aligned(rows: Sequence[Sequence[str]], align: str = "", gap: str = "  ") -> list[str]:
    """Rows of cells as lines whose columns line up.

    Args:
        rows: Cells, as many in each row.
        align: "l" or "r" for each column; those it does not reach are "l".
        gap: What stands between columns.
    """
    widths = [max((len(cell) for cell in column), default=0) for column in zip(*rows, strict=True)]
    return [
        gap.join(
            cell.ljust(width) if side == "l" else cell.rjust(width)
            for cell, width, side in zip(row, widths, align.ljust(len(widths), "l"), strict=True)
        ).rstrip()
        for row in rows
    ]
