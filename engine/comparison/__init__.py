"""Sessions side by side: what each came to, what one gains on another, where their voices are equal to the bit.

The one place where figures of a comparison are worked out: report, view, tables and pictures show what it says. Knows
nothing of files but logs, and nothing of how figures are shown. Never imports torch.
"""

from engine.comparison.bits import Bits, equality
from engine.comparison.figures import Comparison, Figure, compare
from engine.comparison.session import Measured, measured
from engine.comparison.text import text_table
from engine.comparison.words import Step, felt, headline, steps

__all__ = [
    "Bits",
    "Comparison",
    "Figure",
    "Measured",
    "Step",
    "compare",
    "equality",
    "felt",
    "headline",
    "measured",
    "steps",
    "text_table",
]
