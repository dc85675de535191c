"""Whether a session kept its cadence: statistics over its timing records, a verdict in words, a meter in text.

Knows nothing of files, stages or torch.
"""

from engine.cadence.bars import letters
from engine.cadence.meter import MeterStyle, meter_line, text_meter
from engine.cadence.statistics import Spread, StageStatistics, Statistics, Tally, measure
from engine.cadence.verdict import described, summary, verdict

__all__ = [
    "MeterStyle",
    "Spread",
    "StageStatistics",
    "Statistics",
    "Tally",
    "described",
    "letters",
    "measure",
    "meter_line",
    "summary",
    "text_meter",
    "verdict",
]
