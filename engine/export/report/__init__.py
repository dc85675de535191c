"""A comparison as something to take to a talk or a paper: one page of HTML, pictures, CSV and LaTeX.

Whoever makes a report brings the sessions, their sounds and the words that figures cannot say; every figure is
`engine.comparison`'s, so that all files of a report agree to the last digit.
"""

from engine.export.report.latex import write_latex
from engine.export.report.page import write_page
from engine.export.report.parts import Report, Shown, Sound
from engine.export.report.tables import write_figures, write_units

__all__ = ["Report", "Shown", "Sound", "write_figures", "write_latex", "write_page", "write_units"]
