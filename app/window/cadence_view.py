"""The cadence meter over its figures and the memory strip, fed from one snapshot; it scrolls where it is short [ui]."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QScrollArea, QVBoxLayout, QWidget

from app.live.snapshot import Snapshot
from app.window.cadence_meter import CadenceMeter
from app.window.figures import Figures
from app.window.memory_strip import MemoryStrip


class CadenceView(QScrollArea):
    """Everything that shows the cadence of a session, live or past."""

    def __init__(self) -> None:
        super().__init__()
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.meter, self.figures, self.memory = CadenceMeter(), Figures(), MemoryStrip()
        inner = QWidget()
        layout = QVBoxLayout(inner)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(12)
        layout.addWidget(self.meter, 1)
        layout.addWidget(self.figures)
        layout.addWidget(self.memory)
        self.setWidget(inner)
        self.setMinimumWidth(inner.minimumSizeHint().width())

    def show_snapshot(self, snapshot: Snapshot) -> None:
        """Show how the session stands."""
        self.meter.show_snapshot(snapshot)
        self.figures.show_snapshot(snapshot)
        self.memory.show_snapshot(snapshot)
