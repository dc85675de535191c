"""Takes a timing log away: CSV, a trace for Perfetto, a one-page picture. Each file appears whole or not at all."""

from engine.export.picture import write_picture
from engine.export.table import write_csv
from engine.export.trace import write_trace

__all__ = ["write_csv", "write_picture", "write_trace"]
