"""A session on one page, SVG, PNG or PDF: every second against its deadline, who spoke, slack, memory.

matplotlib is imported only when a picture is asked for. One picture at a time: matplotlib's settings are the process's.
"""

from pathlib import Path

from engine.errors import AskedWrongly
from engine.export.atomic import whole_file
from engine.timing import Log

KINDS = (".svg", ".png", ".pdf")


def write_picture(log: Log, path: Path) -> None:
    """Draw the log's session to `path`, whose ending says what kind of picture it becomes.

    Raises:
        AskedWrongly: The ending is none of .svg, .png, .pdf.
        BadLog: A line is not schema 1; nothing is written.
        NoRoom: The file cannot be written.
    """
    kind = path.suffix.lower()
    if kind not in KINDS:
        raise AskedWrongly(f"a picture named {path.name}", f"a name that ends in {', '.join(KINDS)}")
    from engine.export.page import draw_page  # takes a second, and only a picture needs it

    with whole_file(path) as part:
        draw_page(log, part, kind.removeprefix("."))
