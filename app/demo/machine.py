"""What the machine is, as far as it says so itself. Any thread."""

import os
import platform
from pathlib import Path

import psutil

from engine.phrases import printable, size
from engine.timing import SessionHeader

MODEL_NAME = "model name"


def environment(header: SessionHeader) -> tuple[tuple[str, str], ...]:
    """Names and values: what a reader must know to believe figures, and nothing that names this machine's owner.

    Args:
        header: Of a session that was held here.
    """
    return (
        ("model", header.model),
        ("device", header.device),
        ("processor", f"{_processor()}, {os.cpu_count()} cores"),
        ("memory", size(psutil.virtual_memory().total)),
        ("system", f"{platform.system()} {platform.release()}, {platform.machine()}"),
        ("versions", ", ".join(f"{name} {version}" for name, version in header.versions.items())),
        ("began", header.wall_clock),
    )


def _processor() -> str:
    """Its name; Linux alone keeps it in a file."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith(MODEL_NAME))
    return printable(next(named, "") or platform.processor() or "unknown")
