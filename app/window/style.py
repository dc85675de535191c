"""The style sheet: shapes and spaces in the theme's colours.

Every control shows its focus by a ring, which no other state has. Sizes go by the font, so that large text fits. [ui]
"""

from pathlib import Path

from PySide6.QtGui import QFontInfo
from PySide6.QtWidgets import QApplication

import assets
from app.window.theme import Colours, luminance, mixed

_ICONS = Path(assets.__file__).parent / "icons"


def _icon(name: str) -> str:
    return (_ICONS / f"{name}.svg").as_posix()


def style_sheet(colours: Colours) -> str:
    """For the window and all that belongs to it, by the application's font as it is now."""
    points = QFontInfo(QApplication.font()).pointSizeF()
    scroll = mixed(colours.line, colours.faint, 0.3)
    tick = _icon("tick-dark" if luminance(colours.on_accent) < 0.5 else "tick-light")
    track, edge = colours.track, f"1px solid {colours.line}" if colours.hatched else "none"
    ink, faint, line, accent, raised = colours.ink, colours.faint, colours.line, colours.accent, colours.raised
    return f"""
    QLabel#title {{ font-size: {points * 1.6:.1f}pt; font-weight: 600; }}
    QLabel#lead {{ font-size: {points * 1.15:.1f}pt; }}
    QLabel#heading {{ font-size: {points * 1.05:.1f}pt; font-weight: 600; }}
    QLabel#strong {{ font-weight: 600; }}
    QLabel#faint {{ color: {faint}; }}
    QLabel#alarm {{ color: {colours.alarm}; font-weight: 600; }}

    QFrame#card {{ background: {colours.base}; border: 1px solid {line}; border-radius: 8px; }}
    QWidget#status {{ border-top: 1px solid {line}; }}

    QPushButton {{
        background: {raised}; color: {ink};
        border: 1px solid {line}; border-radius: 6px; padding: 5px 12px; min-height: 1.4em;
    }}
    QPushButton:hover {{ border-color: {faint}; }}
    QPushButton:pressed, QPushButton:checked {{ background: {line}; border-color: {ink}; }}
    QPushButton:disabled {{ color: {faint}; background: transparent; }}
    QPushButton:focus {{ border: 2px solid {accent}; padding: 4px 11px; }}
    QPushButton#talk {{
        background: {accent}; color: {colours.on_accent}; border-color: {accent};
        font-weight: 600; padding: 7px 22px; min-width: 3.6em;
    }}
    QPushButton#talk[running="true"] {{
        background: {raised}; color: {ink}; border-color: {line};
    }}
    QPushButton#talk:disabled {{
        background: transparent; color: {faint}; border-color: {line};
    }}
    QPushButton#talk:focus {{ border: 2px solid {ink}; padding: 6px 21px; }}
    QPushButton#quiet {{ background: transparent; border-color: transparent; color: {accent}; padding: 3px 8px; }}
    QPushButton#quiet:hover {{ border-color: {line}; }}
    QPushButton#quiet:disabled {{ color: {faint}; }}
    QPushButton#quiet:focus {{ border: 2px solid {accent}; padding: 2px 7px; }}
    QPushButton::menu-indicator {{ subcontrol-position: right center; subcontrol-origin: padding; right: 4px; }}

    QTabBar {{ qproperty-drawBase: 0; }}
    QTabBar::tab {{
        background: transparent; border: 2px solid transparent; border-radius: 6px;
        padding: 5px 14px; margin: 6px 2px; color: {ink};
    }}
    QTabBar::tab:hover {{ background: {raised}; }}
    QTabBar::tab:selected {{ background: {colours.base}; border: 2px solid {line}; font-weight: 600; }}
    QTabBar::tab:selected:focus {{ border: 2px solid {accent}; }}

    QTextEdit, QPlainTextEdit, QTreeWidget {{
        background: {colours.base}; border: 1px solid {line}; border-radius: 8px; padding: 1px;
    }}
    QTextEdit:focus, QPlainTextEdit:focus, QTreeWidget:focus {{ border: 2px solid {accent}; padding: 0; }}
    QTreeWidget::item {{ padding: 4px 6px; }}
    QTreeWidget::indicator {{
        width: 1.1em; height: 1.1em;
        border: 1px solid {faint}; border-radius: 4px; background: {colours.base};
    }}
    QTreeWidget::indicator:checked {{
        background: {accent}; border-color: {colours.on_accent}; image: url("{tick}");
    }}
    QTreeWidget::indicator:indeterminate {{ background: {faint}; }}
    QHeaderView::section {{
        background: {colours.window}; color: {ink}; border: none;
        border-bottom: 1px solid {line}; padding: 5px 8px; font-weight: 600;
    }}

    QCheckBox {{ border: 2px solid transparent; border-radius: 6px; padding: 2px 4px; spacing: 8px; }}
    QCheckBox:focus {{ border-color: {accent}; }}
    QCheckBox::indicator {{
        width: 1.1em; height: 1.1em;
        border: 1px solid {faint}; border-radius: 4px; background: {colours.base};
    }}
    QCheckBox::indicator:checked {{ background: {accent}; border-color: {accent}; image: url("{tick}"); }}
    QSlider {{ border: 2px solid transparent; border-radius: 6px; min-height: 22px; }}
    QSlider:focus {{ border-color: {accent}; }}
    QSlider::groove:horizontal {{
        height: 4px; border: {edge}; border-radius: 2px; background: {track}; margin: 0 4px;
    }}
    QSlider::sub-page:horizontal {{ background: {accent}; border-radius: 2px; margin: 0 4px; }}
    QSlider::handle:horizontal {{
        width: 14px; height: 14px; margin: -5px 0; border-radius: 7px;
        background: {accent}; border: 1px solid {colours.base};
    }}
    QSlider::sub-page:horizontal:disabled, QSlider::handle:horizontal:disabled {{ background: {faint}; }}

    QProgressBar {{ border: {edge}; border-radius: 4px; background: {track}; max-height: 8px; min-height: 8px; }}
    QProgressBar::chunk {{ background: {accent}; border-radius: 4px; }}
    QLineEdit {{
        background: {colours.base}; border: 1px solid {line}; border-radius: 6px; padding: 2px 8px; min-height: 1.5em;
    }}
    QLineEdit:focus {{ border: 2px solid {accent}; padding: 1px 7px; }}
    QComboBox {{
        background: {raised}; color: {ink}; border: 1px solid {line}; border-radius: 6px;
        padding: 3px 4px 3px 10px; min-height: 1.5em;
    }}
    QComboBox:hover {{ border-color: {faint}; }}
    QComboBox:focus {{ border: 2px solid {accent}; padding: 2px 3px 2px 9px; }}
    QComboBox:disabled {{ background: transparent; color: {faint}; }}
    QComboBox::drop-down {{ border: none; width: 22px; }}
    QComboBox::down-arrow {{ image: url("{_icon("chevron")}"); width: 10px; height: 6px; }}
    QComboBox QAbstractItemView {{
        background: {colours.base}; color: {ink}; border: 1px solid {line}; outline: none;
        selection-background-color: {accent}; selection-color: {colours.on_accent};
    }}

    QScrollBar:vertical {{ background: transparent; width: 12px; margin: 0; }}
    QScrollBar:horizontal {{ background: transparent; height: 12px; margin: 0; }}
    QScrollBar::handle {{ background: {scroll}; border-radius: 4px; margin: 2px; }}
    QScrollBar::handle:vertical {{ min-height: 32px; }}
    QScrollBar::handle:horizontal {{ min-width: 32px; }}
    QScrollBar::add-line, QScrollBar::sub-line {{ width: 0; height: 0; }}
    QScrollBar::add-page, QScrollBar::sub-page {{ background: transparent; }}
    QToolTip {{
        background: {colours.base}; color: {ink};
        border: 1px solid {line}; padding: 4px;
    }}
    QSplitter::handle {{ background: transparent; }}
    """
