"""Renders the meter and its companions to pictures, to be looked at: `python -m tests.window.shots --out DIR`."""

import argparse
import os
import tempfile
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QPixmap
from PySide6.QtWidgets import QApplication, QWidget

from app.live.snapshot import Snapshot
from app.window import theme
from app.window.cadence_view import CadenceView
from tests.window.test_theme import THEMES
from tests.window.watched import SESSIONS, in_the_middle, replayed

SIZE = (780, 640)
SCALES = (1, 2)


def page(snapshot: Snapshot, chosen: bool) -> QWidget:
    """The meter over its figures and the memory strip."""
    view = CadenceView()
    view.show_snapshot(snapshot)
    bars = view.meter.model.bars
    if chosen and bars:
        view.meter.choose(bars[-min(12, len(bars))])
    view.resize(*SIZE)
    return view


def picture(widget: QWidget, scale: float) -> QPixmap:
    """The widget as a display of that scale shows it."""
    shot = QPixmap(widget.size() * scale)
    shot.setDevicePixelRatio(scale)
    widget.render(shot, QPoint())
    return shot


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    out: Path = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    application = QApplication([])
    application.setStyle("fusion")
    with tempfile.TemporaryDirectory() as folder:
        snapshots = {
            name: in_the_middle(replayed(Path(folder) / f"{name}.jsonl", records()))
            for name, records in SESSIONS.items()
        }
    for theme_name, colours in THEMES.items():
        application.setPalette(theme.palette(colours))
        for name, snapshot in snapshots.items():
            widget = page(snapshot, chosen=name == "overruns")
            widget.setAttribute(Qt.WidgetAttribute.WA_DontShowOnScreen)
            widget.show()
            for scale in SCALES:
                shot = out / f"{name.replace(' ', '-')} {theme_name.replace(' ', '-')} {scale}00.png".replace(" ", "_")
                picture(widget, scale).save(str(shot))
            widget.close()


if __name__ == "__main__":
    main()
