"""Figures as a person reads them, and columns that line up. Pure functions of numbers and strings; any thread."""

from collections.abc import Sequence

MIB = 1 << 20


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
    """Bytes with their unit: "912 MiB", "1.9 GiB"."""
    mib = count / MIB
    if abs(mib) < 9.95:
        return f"{mib:.1f} MiB"
    if abs(mib) < 1023.5:
        return f"{mib:.0f} MiB"
    return f"{mib / 1024:.2f} GiB"


def counted(count: int, one: str, many: str = "") -> str:
    """A count with its noun: "1 gap", "3 gaps"."""
    return f"{count} {one if count == 1 else many or one + 's'}"


def printable(text: str) -> str:
    """Text from a file, with what would steer a terminal shown and not obeyed."""
    return "".join(sign if sign.isprintable() else "?" for sign in text)


def aligned(rows: Sequence[Sequence[str]], align: str, gap: str = "  ") -> list[str]:
    """Rows of cells as lines whose columns line up.

    Args:
        rows: Cells, as many in each row as `align` has letters.
        align: "l" or "r" for each column.
        gap: What stands between columns.
    """
    widths = [max((len(cell) for cell in column), default=0) for column in zip(*rows, strict=True)]
    return [
        gap.join(
            cell.ljust(width) if side == "l" else cell.rjust(width)
            for cell, width, side in zip(row, widths, align, strict=True)
        ).rstrip()
        for row in rows
    ]
