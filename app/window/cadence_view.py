"""The cadence meter over its figures and the memory strip, fed from one snapshot [ui]."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.live.snapshot import Snapshot


class CadenceView(QWidget):
    """Everything that shows the cadence of a session, live or past."""

    def __init__(self) -> None:
        super().__init__()
        self.meter = QWidget()
        self.meter.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.meter.setAccessibleName("Cadence meter")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(12)
        layout.addWidget(self.meter, 1)

    def show_snapshot(self, snapshot: Snapshot) -> None:
        """Show how the session stands."""
