"""Sessions side by side in a picture, SVG, PNG or PDF: a meter each over one time axis, with what was heard beneath it.

matplotlib is imported only when a picture is asked for. One picture at a time: matplotlib's settings are the process's.
"""

from pathlib import Path

from engine.comparison import Comparison
from engine.errors import AskedWrongly
from engine.export.atomic import whole_file
from engine.export.picture import KINDS


def write_side_by_side(comparison: Comparison, path: Path, note: str = "") -> None:
    """Draw all sessions to `path`, whose ending says what kind of picture it becomes.

    Args:
        comparison: The sessions.
        path: The file.
        note: What a reader must know beside the figures; a line under the headline.

    Raises:
        AskedWrongly: The ending is none of .svg, .png, .pdf.
        NoRoom: The file cannot be written.
    """
    kind = path.suffix.lower()
    if kind not in KINDS:
        raise AskedWrongly(f"a picture named {path.name}", f"a name that ends in {', '.join(KINDS)}")
    from engine.export.meters import draw_all  # takes a second, and only a picture needs it

    with whole_file(path) as part:
        draw_all(comparison, part, kind.removeprefix("."), note)
