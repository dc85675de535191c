"""What lies where in a demo's folder. Any thread."""

from pathlib import Path

CONVERSATION = "conversation.wav"
PAGE, SVG, PNG = "report.html", "meters.svg", "meters.png"
UNITS, FIGURES, TABLE = "units.csv", "figures.csv", "table.tex"


def log_path(folder: Path, runtime: str, number: int) -> Path:
    """The timing log of one round, counted from 1."""
    return folder / f"{runtime}-{number}.jsonl"


def reply_path(folder: Path, runtime: str) -> Path:
    """What was heard of the agent in the first round."""
    return folder / f"{runtime}.wav"
