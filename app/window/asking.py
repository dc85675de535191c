"""Asks before something is deleted for good; whoever presses Enter or Escape keeps it [ui]."""

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMessageBox, QWidget


def ask_to_delete(parent: QWidget, what: str, then: Callable[[], None]) -> None:
    """Ask, without holding up the window.

    Args:
        parent: Whose question it is.
        what: What is to go, as the question names it.
        then: Called where it is to go.
    """
    box = QMessageBox(parent)
    box.setIcon(QMessageBox.Icon.Question)
    box.setText(f"Delete {what}?")
    box.setInformativeText("Its files are removed from the disk. This cannot be undone.")
    delete = box.addButton("Delete", QMessageBox.ButtonRole.DestructiveRole)
    keep = box.addButton("Keep", QMessageBox.ButtonRole.RejectRole)
    box.setDefaultButton(keep)
    box.setEscapeButton(keep)
    box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    delete.clicked.connect(then)
    box.open()
